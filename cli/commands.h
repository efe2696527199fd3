// The subcommands of tierup: each adds itself to the command line and, once chosen, runs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace tierup::cli {

// Exit codes of the command.
inline constexpr int kOk = 0;
inline constexpr int kMismatch = 1;  // Ran, but something is wrong: a failed case, a difference.
inline constexpr int kUsage = 2;     // The command line is wrong.
inline constexpr int kError = 3;     // An error: a file, a model, a run.

// What to run after parsing; set by the chosen subcommand.
struct Action {
  std::function<int()> run;  // Returns the exit code.
  bool json = false;         // Errors too.
};

void add_run_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_explain_command(CLI::App& app, Action& action);
void add_ops_command(CLI::App& app, Action& action);
void add_save_command(CLI::App& app, Action& action);
void add_train_command(CLI::App& app, Action& action);

}  // namespace tierup::cli
