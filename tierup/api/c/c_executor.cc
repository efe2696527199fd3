// The C API's options, modules and executors, over v1::Module and v1::Executor.
#include <algorithm>
#include <cstring>

#include "tierup/api/c/c_handles.h"
#include "tierup/api/public/facade.h"
#include "tierup/executor/plugin_pass.h"

namespace tierup::v1 {
namespace {

// The caller's struct, which may be of an older version: what it lacks keeps its default.
template <typename Struct>
Struct complete(const Struct* given, void (*init)(Struct*)) {
  Struct result;
  init(&result);
  if (given == nullptr) return result;
  require_argument(given->size >= sizeof(size_t) && given->size % alignof(size_t) == 0,
                   "a struct of options has no size: call its _init function");
  std::memcpy(&result, given, std::min(given->size, sizeof(Struct)));
  return result;
}

std::string path_of(const char* path) {
  require_argument(path != nullptr, "the path is null");
  return path;
}

// A pass in C, as one in C++.
GraphPass graph_pass(const tierup_plugin_pass* table) {
  require_argument(table != nullptr, "a pass is null");
  return guarded([&] {
    executor::UserPass inner = executor::pass_of(*table);
    return GraphPass{
        inner.name, static_cast<PassPlace>(inner.place),
        [run = std::move(inner.run)](PassGraph& graph) { run(Access::rewrite(graph)); }};
  });
}

Options options_of(const tierup_options* given) {
  const tierup_options c = complete(given, tierup_options_init);
  Options options;
  options.threads = c.threads;
  options.fork_threads = c.fork_threads;
  options.inter_op_threads = c.inter_op_threads;
  if (c.tiering != nullptr) options.tiering = c.tiering;
  options.time_limit_ms = c.time_limit_ms;
  options.max_call_depth = c.max_call_depth;
  if (c.has_seed != 0) options.seed = c.seed;
  options.devices_to_cpu = c.devices_to_cpu != 0;
  options.allow_unsupported = c.allow_unsupported != 0;
  options.run_model_code_at_load = c.run_model_code_at_load != 0;
  require_argument(c.passes != nullptr || c.pass_count == 0, "the array of passes is null");
  for (size_t i = 0; i < c.pass_count; ++i) options.passes.push_back(graph_pass(c.passes[i]));
  options.load_into_memory = c.load_into_memory != 0;
  const auto text_sink = [&](void (*sink)(const char*, void*)) {
    return [sink, context = c.context](const std::string& text) { sink(text.c_str(), context); };
  };
  if (c.print != nullptr) options.print = text_sink(c.print);
  if (c.warn != nullptr) options.warn = text_sink(c.warn);
  require_argument(c.plugins != nullptr || c.plugin_count == 0, "the array of plugins is null");
  for (size_t i = 0; i < c.plugin_count; ++i) options.plugins.emplace_back(path_of(c.plugins[i]));
  return options;
}

ExecutorConfig config_of(const tierup_executor_config* given) {
  const tierup_executor_config c = complete(given, tierup_executor_config_init);
  ExecutorConfig config;
  config.max_frames = c.max_frames;
  config.wait_for_frame = c.wait_for_frame != 0;
  config.async_threads = c.async_threads;
  config.max_queued = c.max_queued;
  config.time_limit_ms = c.time_limit_ms;
  config.frame_idle_ms = c.frame_idle_ms;
  config.prepare_weights = c.prepare_weights != 0;
  return config;
}

// The arguments of one call, by position and by name.
struct Call {
  std::vector<Value> args;
  NamedValues kwargs;
  RunOptions options;
};

Call call_of(tierup_value* const* args, size_t count, const tierup_run_options* given) {
  const tierup_run_options c = complete(given, tierup_run_options_init);
  Call call;
  if (c.token != nullptr) call.options.cancellation = c.token->token;
  if (c.time_limit_ms > 0) call.options.time_limit_ms = c.time_limit_ms;
  call.options.gradients = c.gradients != 0;
  require_argument(c.keyword_count <= count, "more keywords than arguments");
  require_argument(c.keyword_names != nullptr || c.keyword_count == 0, "keyword_names is null");
  call.args = values_of(args, count);
  const size_t positional = count - c.keyword_count;
  for (size_t i = positional; i < count; ++i) {
    require_argument(c.keyword_names[i - positional] != nullptr, "a keyword's name is null");
    call.kwargs.emplace_back(c.keyword_names[i - positional], std::move(call.args[i]));
  }
  call.args.resize(positional);
  return call;
}

const Executor& executor_of(const tierup_executor* executor) {
  require_argument(executor != nullptr, "the executor is null");
  return executor->executor;
}

}  // namespace
}  // namespace tierup::v1

using namespace tierup::v1;  // NOLINT(google-build-using-namespace): this file is its C face.

extern "C" {

int tierup_api_version(void) { return TIERUP_C_API_VERSION; }
const char* tierup_version(void) { return TIERUP_VERSION; }

void tierup_options_init(tierup_options* options) {
  const Options defaults;
  if (options == nullptr) return;
  *options = {};
  options->size = sizeof(*options);
  options->max_call_depth = defaults.max_call_depth;
  options->devices_to_cpu = defaults.devices_to_cpu ? 1 : 0;
  options->run_model_code_at_load = defaults.run_model_code_at_load ? 1 : 0;
}

void tierup_executor_config_init(tierup_executor_config* config) {
  const ExecutorConfig defaults;
  if (config == nullptr) return;
  *config = {};
  config->size = sizeof(*config);
  config->wait_for_frame = defaults.wait_for_frame ? 1 : 0;
  config->max_queued = defaults.max_queued;
  config->frame_idle_ms = defaults.frame_idle_ms;
  config->prepare_weights = defaults.prepare_weights ? 1 : 0;
}

void tierup_run_options_init(tierup_run_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->size = sizeof(*options);
}

tierup_token* tierup_token_new(void) {
  return c_guarded(nullptr, [] { return new tierup_token(); });
}
void tierup_token_cancel(tierup_token* token) {
  if (token != nullptr) token->token.cancel();
}
void tierup_token_free(tierup_token* token) { delete token; }

tierup_module* tierup_module_load(const char* path, const tierup_options* options,
                                  tierup_error** error) {
  return c_guarded(
      error, [&] { return new tierup_module{Module::load(path_of(path), options_of(options))}; });
}

tierup_module* tierup_module_load_bytes(const void* bytes, size_t size,
                                        const tierup_options* options, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(bytes != nullptr || size == 0, "the archive's bytes are null");
    const std::span<const std::byte> view(static_cast<const std::byte*>(bytes), size);
    return new tierup_module{Module::load(view, options_of(options))};
  });
}

tierup_value* tierup_module_run(const tierup_module* module, const char* method,
                                tierup_value* const* args, size_t count,
                                const tierup_run_options* options, tierup_error** error) {
  return c_guarded(error, [&] {
    const Module& target = module_of(module);
    Call call = call_of(args, count, options);
    if (method == nullptr) {
      return new_value(target.call(std::move(call.args), std::move(call.kwargs), call.options));
    }
    return new_value(
        target.run(method, std::move(call.args), std::move(call.kwargs), call.options));
  });
}

tierup_code tierup_module_save(const tierup_module* module, const char* path,
                               tierup_error** error) {
  return c_guarded(error, [&] {
    module_of(module).save(path_of(path));
    return TIERUP_OK;
  });
}

tierup_code tierup_module_save_state_dict(const tierup_module* module, const char* path,
                                          tierup_error** error) {
  return c_guarded(error, [&] {
    module_of(module).save_state_dict(path_of(path));
    return TIERUP_OK;
  });
}

tierup_code tierup_module_load_state_dict(const tierup_module* module, const char* path, int strict,
                                          tierup_error** error) {
  return c_guarded(error, [&] {
    module_of(module).load_state_dict(path_of(path), strict != 0);
    return TIERUP_OK;
  });
}

void tierup_module_free(tierup_module* module) { delete module; }

tierup_executor* tierup_executor_open(const char* path, const tierup_executor_config* config,
                                      const tierup_options* options, tierup_error** error) {
  return c_guarded(error, [&] {
    return new tierup_executor{Executor(path_of(path), config_of(config), options_of(options))};
  });
}

tierup_executor* tierup_executor_of(const tierup_module* module,
                                    const tierup_executor_config* config, tierup_error** error) {
  return c_guarded(
      error, [&] { return new tierup_executor{Executor(module_of(module), config_of(config))}; });
}

tierup_value* tierup_executor_run(const tierup_executor* executor, tierup_value* const* args,
                                  size_t count, const tierup_run_options* options,
                                  tierup_error** error) {
  return c_guarded(error, [&] {
    Call call = call_of(args, count, options);
    return new_value(
        executor_of(executor).run(std::move(call.args), std::move(call.kwargs), call.options));
  });
}

tierup_code tierup_executor_run_into(const tierup_executor* executor, tierup_value* const* leaves,
                                     size_t count, tierup_value* const* outputs,
                                     size_t output_count, const tierup_run_options* options,
                                     tierup_error** error) {
  return c_guarded(error, [&] {
    Call call = call_of(leaves, count, options);
    require_argument(call.kwargs.empty(), "flat arguments have no keywords");
    std::vector<Tensor> tensors;
    for (const Value& output : values_of(outputs, output_count)) {
      tensors.push_back(output.to_tensor());
    }
    executor_of(executor).run_into(std::span<const Value>(call.args), tensors, call.options);
    return TIERUP_OK;
  });
}

tierup_code tierup_executor_run_async(const tierup_executor* executor, tierup_value* const* args,
                                      size_t count, const tierup_run_options* options,
                                      tierup_done done, void* context, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(done != nullptr, "the callback is null");
    Call call = call_of(args, count, options);
    executor_of(executor).run_async(std::move(call.args), std::move(call.kwargs), call.options,
                                    [done, context](Value value, const Error* failure) {
                                      if (failure != nullptr) {
                                        done(nullptr, new tierup_error{*failure}, context);
                                      } else {
                                        done(new_value(std::move(value)), nullptr, context);
                                      }
                                    });
    return TIERUP_OK;
  });
}

tierup_value* tierup_executor_weights(const tierup_executor* executor, tierup_error** error) {
  return c_guarded(error, [&] {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [name, tensor] : executor_of(executor).weights()) {
      entries.emplace_back(Value(name), Value(tensor));
    }
    return new_value(Value::dict(std::move(entries)));
  });
}

tierup_code tierup_executor_swap_weights(const tierup_executor* executor,
                                         const tierup_value* weights, int strict,
                                         uint64_t* generation, tierup_error** error) {
  return c_guarded(error, [&] {
    const uint64_t number = executor_of(executor).swap_weights(named_tensors(weights), strict != 0);
    if (generation != nullptr) *generation = number;
    return TIERUP_OK;
  });
}

tierup_code tierup_executor_swap_weights_file(const tierup_executor* executor, const char* path,
                                              int strict, uint64_t* generation,
                                              tierup_error** error) {
  return c_guarded(error, [&] {
    const uint64_t number = executor_of(executor).swap_weights(path_of(path), strict != 0);
    if (generation != nullptr) *generation = number;
    return TIERUP_OK;
  });
}

void tierup_executor_get_stats(const tierup_executor* executor, tierup_executor_stats* stats) {
  if (executor == nullptr || stats == nullptr) return;
  const ExecutorStats now = executor->executor.stats();
  const tierup_executor_stats full = {stats->size,       now.runs,
                                      now.errors,        now.frames_in_use,
                                      now.frames_peak,   now.frames_limit,
                                      now.frames_idle,   now.frames_trimmed,
                                      now.runs_waiting,  now.runs_waited,
                                      now.runs_refused,  now.runs_queued,
                                      now.generation,    now.generations_old,
                                      now.outputs_copied};
  std::memcpy(stats, &full, std::min(stats->size, sizeof(full)));
}

void tierup_executor_free(tierup_executor* executor) { delete executor; }

int64_t tierup_live_bytes(void) { return memory_stats().live_bytes; }
int64_t tierup_peak_bytes(void) { return memory_stats().peak_bytes; }

}  // extern "C"
