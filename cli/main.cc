// The tierup command.
#include <cstdio>
#include <exception>

#include "commands.h"
#include "tierup/base/error.h"

int main(int argc, char** argv) {
  using namespace tierup::cli;
  CLI::App app("Runs TorchScript models without PyTorch.", "tierup");
  app.require_subcommand(1);
  Action action;
  add_check_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  try {
    return action();
  } catch (const tierup::Error& error) {
    std::fprintf(stderr, "tierup: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tierup: %s\n", error.what());
  }
  return kError;
}
