#include "tierup/api/public/public_convert.h"

#include <algorithm>

#include "tierup/api/model/option_checks.h"
#include "tierup/api/public/facade.h"
#include "tierup/api/public/grad_scope.h"

namespace tierup::v1 {

api::ModelOptions model_options(const Options& options) {
  api::ModelOptions result;
  result.threads = options.threads;
  result.fork_threads = options.fork_threads;
  result.tiering.apply(options.tiering);
  if (options.inter_op_threads > 0) result.tiering.inter_op_threads = options.inter_op_threads;
  result.time_limit_ms = options.time_limit_ms;
  result.max_call_depth = static_cast<size_t>(std::max<int64_t>(1, options.max_call_depth));
  result.seed = options.seed;
  result.devices_to_cpu = options.devices_to_cpu;
  result.allow_unsupported = options.allow_unsupported;
  result.exported_model = options.model_name;
  result.run_model_code = options.run_model_code_at_load;
  result.load_into_memory = options.load_into_memory;
  result.plugins = options.plugins;
  result.passes = inner_passes(options.passes);
  result.print = options.print;
  result.warn = options.warn;
  return result;
}

void check_tiering(const std::string& text) {
  guarded([&] { tier::TieringOptions().apply(text); });
}

api::RunOptions run_options(const RunOptions& options) {
  api::RunOptions result;
  if (options.cancellation) result.cancelled = Access::flag(*options.cancellation);
  result.time_limit_ms = options.time_limit_ms;
  result.on_poll = options.on_poll;
  if (options.node_times) result.observer = &Access::impl(*options.node_times).times;
  api::check_options(result);
  const std::optional<GradMode> mode = scoped_grad_mode();
  result.gradients = mode ? *mode == GradMode::kEnabled : options.gradients;
  return result;
}

std::vector<IValue> unwrap_all(std::vector<Value> values) {
  std::vector<IValue> result;
  result.reserve(values.size());
  for (Value& value : values) result.push_back(std::move(Access::unwrap(value)));
  return result;
}

api::NamedValues unwrap_all(NamedValues values) {
  api::NamedValues result;
  for (auto& [name, value] : values) {
    result.emplace_back(std::move(name), std::move(Access::unwrap(value)));
  }
  return result;
}

archive::NamedTensors unwrap_all(const NamedTensors& tensors) {
  archive::NamedTensors result;
  for (const auto& [name, tensor] : tensors) result.emplace_back(name, Access::unwrap(tensor));
  return result;
}

}  // namespace tierup::v1
