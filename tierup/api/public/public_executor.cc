// v1::Executor over executor::Executor and Model.
#include "tierup/api/model/option_checks.h"
#include "tierup/api/model/weight_files.h"
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/executor.h"
#include "tierup/executor/executor.h"

namespace tierup::v1 {

struct Executor::Impl {
  executor::Executor executor;
  api::ModelOptions model_options;
  ExecutorConfig config;

  // The current generation.
  Ref<api::Model> model() const {
    return Ref<api::Model>(static_cast<api::Model*>(executor.current().get()));
  }
};

struct PreparedWeights::Impl {
  Ref<executor::Servable> model;
};

namespace {

executor::ExecutorConfig inner_config(const ExecutorConfig& config) {
  executor::ExecutorConfig result;
  result.max_frames = config.max_frames;
  result.wait_for_frame = config.wait_for_frame;
  result.async_threads = config.async_threads;
  result.max_queued = config.max_queued;
  result.time_limit_ms = config.time_limit_ms;
  result.frame_idle_ms = config.frame_idle_ms;
  result.prepare_weights = config.prepare_weights;
  api::check_config(result);
  return result;
}

// The options of a model that is loaded for an executor.
api::ModelOptions options_for(const ExecutorConfig& config, const Options& options) {
  api::ModelOptions result = model_options(options);
  if (config.inter_op_threads > 0) result.tiering.inter_op_threads = config.inter_op_threads;
  return result;
}

// The time counts from here, so that waiting for a frame or a thread is part of it.
executor::RunLimits limits_of(const RunOptions& options) {
  const api::RunOptions inner = run_options(options);
  executor::RunLimits limits;
  limits.on_poll = inner.on_poll;
  limits.cancelled = inner.cancelled;
  if (inner.time_limit_ms.value_or(0) > 0) {
    limits.deadline =
        executor::RunLimits::Clock::now() + std::chrono::milliseconds(*inner.time_limit_ms);
  }
  return limits;
}

Error public_error(const std::exception_ptr& failure) {
  try {
    guarded([&] { std::rethrow_exception(failure); });
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "no failure", {}, {}, "no failure");
}

}  // namespace

PreparedWeights::PreparedWeights() noexcept = default;
PreparedWeights::~PreparedWeights() = default;
PreparedWeights::PreparedWeights(PreparedWeights&&) noexcept = default;
PreparedWeights& PreparedWeights::operator=(PreparedWeights&&) noexcept = default;

Executor::Executor(const std::string& path, const ExecutorConfig& config, const Options& options) {
  guarded([&] {
    const api::ModelOptions inner = options_for(config, options);
    impl_.reset(
        new Impl{{api::Model::load(inner.open(path), inner), inner_config(config)}, inner, config});
  });
}

Executor::Executor(std::span<const std::byte> bytes, const ExecutorConfig& config,
                   const Options& options) {
  guarded([&] {
    const api::ModelOptions inner = options_for(config, options);
    std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    impl_.reset(new Impl{
        {api::Model::load(archive::own_bytes(std::move(copy)), inner), inner_config(config)},
        inner,
        config});
  });
}

Executor::Executor(const Module& module, const ExecutorConfig& config) {
  guarded([&] {
    const Ref<api::Model>& model = Access::impl(module).model;
    ::tierup::require(config.inter_op_threads == 0 ||
                          config.inter_op_threads == model->options().tiering.inter_op_threads,
                      ::tierup::ErrorCode::kInvalidArgument,
                      "the module was loaded for {} inter-op threads, the executor asks for {}: "
                      "give them to the module's Options",
                      model->options().tiering.inter_op_threads, config.inter_op_threads);
    impl_.reset(new Impl{{model, inner_config(config)}, model->options(), config});
  });
}

Executor::~Executor() = default;
Executor::Executor(const Executor&) noexcept = default;
Executor& Executor::operator=(const Executor&) noexcept = default;

Value Executor::run(std::vector<Value> args, NamedValues kwargs, const RunOptions& options) const {
  return guarded([&] {
    return Access::wrap(impl_->executor.run(unwrap_all(std::move(args)),
                                            unwrap_all(std::move(kwargs)), limits_of(options)));
  });
}

std::vector<Value> Executor::run_flat(std::vector<Value> leaves, const RunOptions& options) const {
  return guarded([&] {
    std::vector<Value> results;
    for (IValue& value :
         impl_->executor.run_flat(unwrap_all(std::move(leaves)), limits_of(options))) {
      results.push_back(Access::wrap(std::move(value)));
    }
    return results;
  });
}

void Executor::run_into(std::span<const Value> leaves, std::span<const Tensor> outputs,
                        const RunOptions& options) const {
  guarded([&] {
    std::vector<::tierup::Tensor> buffers;
    buffers.reserve(outputs.size());
    for (const Tensor& output : outputs) buffers.push_back(Access::unwrap(output));
    std::vector<IValue> values;
    values.reserve(leaves.size());
    for (const Value& leaf : leaves) values.push_back(Access::unwrap(leaf));
    impl_->executor.run_into(std::move(values), buffers, limits_of(options));
  });
}

std::future<Value> Executor::run_async(std::vector<Value> args, NamedValues kwargs,
                                       const RunOptions& options) const {
  auto promise = std::make_shared<std::promise<Value>>();
  std::future<Value> future = promise->get_future();
  run_async(std::move(args), std::move(kwargs), options,
            [promise](Value value, const Error* error) {
              if (error != nullptr) {
                promise->set_exception(std::make_exception_ptr(*error));
              } else {
                promise->set_value(std::move(value));
              }
            });
  return future;
}

void Executor::run_async(std::vector<Value> args, NamedValues kwargs, const RunOptions& options,
                         std::function<void(Value value, const Error* error)> done) const {
  guarded([&] {
    impl_->executor.run_async(unwrap_all(std::move(args)), unwrap_all(std::move(kwargs)),
                              limits_of(options),
                              [done = std::move(done)](executor::RunOutcome outcome) {
                                if (!outcome.failure) {
                                  done(Access::wrap(std::move(outcome.value)), nullptr);
                                  return;
                                }
                                const Error error = public_error(outcome.failure);
                                done(Value(), &error);
                              });
  });
}

NamedTensors Executor::weights() const {
  return guarded([&] {
    NamedTensors result;
    for (auto& [name, tensor] : impl_->executor.current()->weights()) {
      result.emplace_back(name, Access::wrap(std::move(tensor)));
    }
    return result;
  });
}

uint64_t Executor::swap_weights(const NamedTensors& weights, bool strict) const {
  return guarded([&] { return impl_->executor.swap_weights(unwrap_all(weights), strict); });
}

uint64_t Executor::swap_weights(const std::string& path, bool strict) const {
  return guarded([&] {
    return impl_->executor.swap_weights(api::read_weights(path, impl_->model_options), strict);
  });
}

PreparedWeights Executor::prepare_weights(const NamedTensors& weights, bool strict) const {
  return guarded([&] {
    PreparedWeights result;
    result.impl_ = std::make_unique<PreparedWeights::Impl>(
        PreparedWeights::Impl{impl_->executor.prepare(unwrap_all(weights), strict)});
    return result;
  });
}

uint64_t Executor::install(PreparedWeights weights) const {
  return guarded([&] {
    require(weights.impl_ != nullptr, ::tierup::ErrorCode::kInvalidArgument,
            "no prepared weights: they were installed already");
    return impl_->executor.install(std::move(weights.impl_->model));
  });
}

Signature Executor::signature() const {
  return guarded([&] { return signature_of(*impl_->model(), "forward"); });
}

const ExecutorConfig& Executor::config() const { return impl_->config; }

std::vector<DelegateInfo> Executor::delegates() const {
  return guarded([&] { return delegates_of(*impl_->model()); });
}

NodeBenchmark Executor::benchmark_nodes(const std::vector<Value>& args, uint32_t warmup_runs,
                                        uint32_t main_runs) const {
  return guarded([&] { return benchmark_of(*impl_->model(), args, warmup_runs, main_runs); });
}

ExecutorStats Executor::stats() const {
  const executor::ExecutorStats stats = impl_->executor.stats();
  return {stats.runs,
          stats.errors,
          stats.frames_in_use,
          stats.frames_peak,
          stats.frames_limit,
          stats.frames_idle,
          stats.frames_trimmed,
          stats.runs_waiting,
          stats.runs_waited,
          stats.runs_refused,
          stats.runs_queued,
          stats.generation,
          stats.generations_old,
          stats.outputs_copied};
}

uint64_t Executor::trim() const { return impl_->executor.trim(); }

}  // namespace tierup::v1
