#include "tierup/executor/executor.h"

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"
#include "tierup/tensor/page_heap.h"

namespace tierup::executor {
namespace {

// How often it is looked whether the last run of an old generation has ended.
constexpr std::chrono::milliseconds kOldInterval(20);

size_t async_thread_count(const ExecutorConfig& config) {
  return config.async_threads > 0 ? config.async_threads : static_cast<size_t>(usable_cores());
}

}  // namespace

Executor::Executor(Ref<Servable> model, ExecutorConfig config)
    : config_(config),
      permits_(config.max_frames, config.wait_for_frame),
      fork_hooks_({.pause = {},
                   .lock =
                       [this] {
                         install_mutex_.lock();
                         house_mutex_.lock();
                       },
                   .resume =
                       [this] {
                         house_mutex_.unlock();
                         install_mutex_.unlock();
                       },
                   .renew = [this] { renew(); }}) {
  current_.replace(std::make_unique<Generation>(Generation{model, 0}));
  pool_ = std::make_unique<WorkPool>(async_thread_count(config_), config_.max_queued);
  housekeeper_ = std::thread([this] { keep_house(); });
}

Executor::~Executor() {
  pool_ = nullptr;
  {
    const std::lock_guard<std::mutex> lock(house_mutex_);
    stopping_ = true;
  }
  house_wake_.notify_all();
  if (housekeeper_.joinable()) housekeeper_.join();
}

// Another thread's swap goes on in the parent alone.
void Executor::renew() {
  renew_in_child(house_wake_);
  renew_in_child(housekeeper_);
  renew_in_child(swap_mutex_);
  being_freed_ = 0;
  has_no_house_.store(true, std::memory_order_relaxed);
  house_mutex_.unlock();
  install_mutex_.unlock();
}

void Executor::start_house() {
  const std::lock_guard<std::mutex> lock(house_mutex_);
  if (!has_no_house_.load()) return;
  housekeeper_ = std::thread([this] { keep_house(); });
  has_no_house_.store(false);
}

Executor::Generation Executor::take() const {
  return *SnapshotCell<Generation>::Reader(current_).get();
}

Ref<Servable> Executor::current() const { return take().model; }
uint64_t Executor::generation() const { return take().number; }

RunLimits Executor::with_time_limit(RunLimits limits) const {
  if (!limits.deadline && config_.time_limit_ms > 0) {
    limits.deadline = Clock::now() + std::chrono::milliseconds(config_.time_limit_ms);
  }
  return limits;
}

// One run: a permit, the current generation, and the counters.
template <typename Body>
auto Executor::counted(const RunLimits& limits, Body&& body) {
  try {
    if (has_no_house_.load(std::memory_order_relaxed)) start_house();
    const RunPermits::Permit permit(permits_, limits);
    const ForkUnsafeScope scope;
    const Generation generation = take();
    runs_.fetch_add(1, std::memory_order_relaxed);
    return body(generation);
  } catch (...) {
    errors_.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

IValue Executor::run(std::vector<IValue> args, NamedValues kwargs, RunLimits limits,
                     uint64_t* number) {
  limits = with_time_limit(std::move(limits));
  return counted(limits, [&](const Generation& generation) {
    if (number != nullptr) *number = generation.number;
    return generation.model->serve(std::move(args), std::move(kwargs), limits);
  });
}

std::vector<IValue> Executor::run_flat(std::vector<IValue> leaves, RunLimits limits,
                                       uint64_t* number) {
  limits = with_time_limit(std::move(limits));
  return counted(limits, [&](const Generation& generation) {
    if (number != nullptr) *number = generation.number;
    return generation.model->serve_flat(std::move(leaves), limits);
  });
}

void Executor::run_into(std::vector<IValue> leaves, std::span<const Tensor> outputs,
                        RunLimits limits) {
  limits = with_time_limit(std::move(limits));
  counted(limits, [&](const Generation& generation) {
    kernels::BoundOutputs bound(output_places_, outputs, leaves);
    limits.outputs = &bound;
    const size_t copies = bound.finish(generation.model->serve_flat(std::move(leaves), limits));
    outputs_copied_.fetch_add(copies, std::memory_order_relaxed);
  });
}

void Executor::run_async(std::vector<IValue> args, NamedValues kwargs, RunLimits limits,
                         std::function<void(RunOutcome)> done) {
  limits = with_time_limit(std::move(limits));
  const auto outcome = std::make_shared<RunOutcome>();
  auto run_it = [this, outcome, args = std::move(args), kwargs = std::move(kwargs),
                 limits = std::move(limits)]() mutable {
    try {
      outcome->value =
          run(std::move(args), std::move(kwargs), std::move(limits), &outcome->generation);
    } catch (...) {
      outcome->failure = std::current_exception();
    }
  };
  auto tell = [outcome, done = std::move(done)] { done(std::move(*outcome)); };
  const bool queued = pool_->submit({std::move(run_it), std::move(tell)});
  require(queued, ErrorCode::kExhausted, "{} runs wait in the executor's queue already",
          config_.max_queued);
}

Ref<Servable> Executor::prepare(const NamedTensors& weights, bool strict) const {
  const ForkUnsafeScope scope;
  const BriefTeamScope brief;
  PageHeap::of_process().expect_more();
  const Ref<Servable> older = current();
  Ref<Servable> next = older->with_weights(weights, strict);
  if (config_.prepare_weights) next->prepare_like(*older);
  return next;
}

uint64_t Executor::install(Ref<Servable> next) {
  Generation before;
  {
    const std::lock_guard<std::mutex> lock(install_mutex_);
    before = *current_.current();
    current_.replace(std::make_unique<Generation>(Generation{std::move(next), before.number + 1}));
  }
  if (has_no_house_.load(std::memory_order_relaxed)) start_house();
  const std::lock_guard<std::mutex> lock(house_mutex_);
  old_.push_back(std::move(before.model));
  house_wake_.notify_all();
  return before.number + 1;
}

uint64_t Executor::swap_weights(const NamedTensors& weights, bool strict) {
  const std::lock_guard<std::mutex> lock(swap_mutex_);
  return install(prepare(weights, strict));
}

ExecutorStats Executor::stats() const {
  ExecutorStats stats;
  stats.runs = runs_.load();
  stats.errors = errors_.load();
  stats.frames_in_use = permits_.in_use();
  stats.frames_peak = permits_.peak();
  stats.frames_limit = permits_.limit();
  stats.frames_trimmed = trimmed_.load();
  stats.outputs_copied = outputs_copied_.load();
  stats.runs_waiting = permits_.waiting();
  stats.runs_waited = permits_.waited();
  stats.runs_refused = permits_.refused();
  stats.runs_queued = pool_->queued();
  const Generation generation = take();
  stats.frames_idle = generation.model->idle_frames();
  stats.generation = generation.number;
  const std::lock_guard<std::mutex> lock(house_mutex_);
  stats.generations_old = old_.size() + being_freed_;
  return stats;
}

size_t Executor::trim() {
  const ForkUnsafeScope scope;
  const size_t count = current()->trim_frames();
  trimmed_.fetch_add(count);
  return count;
}

// Frees the old generations that only the list still holds, without the lock: their destructors
// may wait for a compile job that has been told to stop.
void Executor::free_old(std::unique_lock<std::mutex>& lock) {
  std::vector<Ref<Servable>> ended;
  const auto is_ended = [](const Ref<Servable>& model) { return model->use_count() == 1; };
  for (Ref<Servable>& model : old_) {
    if (is_ended(model)) ended.push_back(std::move(model));
  }
  std::erase_if(old_, [](const Ref<Servable>& model) { return !model; });
  being_freed_ = ended.size();
  lock.unlock();
  {
    const ForkUnsafeScope scope;
    ended.clear();
  }
  lock.lock();
  being_freed_ = 0;
}

void Executor::keep_house() {
  const bool trims = config_.frame_idle_ms > 0;
  const std::chrono::milliseconds idle(trims ? config_.frame_idle_ms : 3600000);
  uint64_t runs_at_trim = 0;
  int quiet_trims = 2;
  auto next_trim = Clock::now() + idle;
  std::unique_lock<std::mutex> lock(house_mutex_);
  while (!stopping_) {
    const auto wake = old_.empty() ? next_trim : std::min(next_trim, Clock::now() + kOldInterval);
    house_wake_.wait_until(lock, wake);
    if (stopping_) break;
    free_old(lock);
    if (Clock::now() < next_trim) continue;
    next_trim = Clock::now() + idle;
    // After two rounds without a run there is nothing left to give back.
    const uint64_t runs = runs_.load();
    quiet_trims = runs == runs_at_trim ? quiet_trims + 1 : 0;
    runs_at_trim = runs;
    if (!trims || quiet_trims > 2) continue;
    lock.unlock();
    trim();
    lock.lock();
  }
}

}  // namespace tierup::executor
