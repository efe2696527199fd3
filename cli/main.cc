// The tierup command.
#include <cstdio>
#include <exception>

#include "commands.h"
#include "json_writer.h"
#include "tierup/error.h"
#include "tierup/machine.h"

namespace tierup::cli {
namespace {

// On standard error, as text or as one JSON object.
int report_error(const v1::Error& error, bool json) {
  if (!json) {
    std::fprintf(stderr, "tierup: %s\n", error.what());
    return kError;
  }
  JsonWriter writer;
  writer.begin_object();
  writer.key("error").string(error.message());
  writer.key("code").string(error_code_name(error.code()));
  writer.key("python_type").string(error.python_type());
  writer.key("context").begin_array();
  for (const std::string& line : error.context()) writer.string(line);
  writer.end_array();
  writer.end_object();
  std::fprintf(stderr, "%s\n", writer.text().c_str());
  return kError;
}

int run_action(const Action& action) {
  try {
    v1::machine_info();  // A TIERUP_INSTRUCTION_SET that is no level is an error of every command.
    return action.run();
  } catch (const v1::Error& error) {
    return report_error(error, action.json);
  } catch (const std::bad_alloc&) {
    return report_error(v1::Error(v1::ErrorCode::kOutOfMemory, "out of memory"), action.json);
  } catch (const std::exception& error) {
    return report_error(v1::Error(v1::ErrorCode::kInternal, error.what()), action.json);
  }
}

int run_command_line(int argc, char** argv) {
  CLI::App app("Runs TorchScript and torch.export models without PyTorch.", "tierup");
  app.require_subcommand(1);
  app.set_version_flag("--version", TIERUP_VERSION);
  Action action;
  add_run_command(app, action);
  add_check_command(app, action);
  add_compare_command(app, action);
  add_bench_command(app, action);
  add_inspect_command(app, action);
  add_explain_command(app, action);
  add_ops_command(app, action);
  add_save_command(app, action);
  add_train_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  return run_action(action);
}

}  // namespace
}  // namespace tierup::cli

int main(int argc, char** argv) { return tierup::cli::run_command_line(argc, argv); }
