#include "model_options.h"

#include <cstdio>

#include "number_range.h"

namespace tierup::cli {

std::string tiering_failure(const std::string& text) {
  try {
    v1::check_tiering(text);
  } catch (const v1::Error& error) {
    return error.message();
  }
  return {};
}

void ModelArguments::add_to(CLI::App& command) {
  command.add_option("model", path, "TorchScript or torch.export archive (.pt, .pt2)")->required();
  command.add_option("--threads", threads, "Threads for one operator (default: the usable cores)");
  command.add_option("--inter-op-threads", inter_op_threads,
                     "Threads for independent branches of one call (default: 1)");
  command.add_option("--time-limit", time_limit_ms, "Milliseconds that one call may take");
  command
      .add_option("--memory-limit", memory_limit_mib,
                  "MiB that tensors may take, and other values too")
      ->check(count_range());
  command.add_option("--seed", seed, "Seed of the random generator");
  command
      .add_option("--tiering", tiering,
                  "Tiering options, key=value,... (policy, compile, profiled_runs...)")
      ->check(tiering_failure);
  command.add_option("--model-name", exported_model, "Which of several models of a .pt2 archive");
  command
      .add_option("--ops,--delegate", plugins,
                  "Shared object with operators or delegates; repeatable")
      ->expected(1);
  command.add_flag("--allow-unsupported", allow_unsupported,
                   "Load a model although it needs something unsupported");
}

v1::Options ModelArguments::options() const {
  v1::Options options;
  options.threads = threads;
  options.inter_op_threads = inter_op_threads;
  options.time_limit_ms = time_limit_ms;
  if (seed >= 0) options.seed = static_cast<uint64_t>(seed);
  options.allow_unsupported = allow_unsupported;
  options.model_name = exported_model;
  options.plugins = plugins;
  options.tiering = tiering;
  return options;
}

v1::Module ModelArguments::load(bool prints_aside) const {
  if (memory_limit_mib > 0) v1::set_memory_limit(memory_limit_mib << 20);
  v1::Options own = options();
  if (prints_aside) own.print = [](const std::string& text) { std::fputs(text.c_str(), stderr); };
  return v1::Module::load(path, own);
}

}  // namespace tierup::cli
