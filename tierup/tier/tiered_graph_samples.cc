// A plan is compared with tier 0 before it serves: run by its job on a call that tier 0 answered
// (sample_call.h), it has to give what tier 0 gave. So tier 0 runs once for two purposes, and the
// plan's first run, which lays out its memory, is not a caller's.
//
// Which call is the last to be profiled is known before it runs, unless it turns out to be long:
// then it is copied afterwards, where the function writes to nothing that it was given.
//
// What that call does not tell of (a net on a branch not taken) or what it tells against is
// compared net by net, on made-up numbers. A net that differs is made again with what is exact.
#include <fmt/format.h>

#include <algorithm>

#include "tierup/analysis/alias.h"
#include "tierup/tensor/comparison.h"
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {
namespace {

// What copying a call may take of it, at a byte a nanosecond, which any machine copies.
constexpr int64_t kCopyShare = 8;
// What a further call would tell of how inputs vary is not worth waiting for so long: a plan is to
// stand within a second, of which half goes by in its job and its trial.
constexpr std::chrono::milliseconds kLongRun{50};

// As near as a net has to be to its twin.
bool agree(const IValue& found, const IValue& expected, Deviation& deviation) {
  const ComparisonOptions options{Tolerances::uniform({ops::NeuralNet::kClose, 0}), true};
  return find_difference(found, expected, options, &deviation).empty();
}

}  // namespace

bool TieredGraph::may_copy(std::optional<size_t> bytes) const {
  const int64_t took = tier0_nanoseconds_.load(std::memory_order_relaxed);
  return bytes && static_cast<int64_t>(*bytes) <= took / kCopyShare;
}

bool TieredGraph::is_long(std::chrono::nanoseconds took) const {
  return took >= kLongRun && tries_plans(options_);
}

bool TieredGraph::is_last_profiled(bool is_long) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return are_enough((profile_ ? profile_->run_count() : 0) + 1, is_long);
}

std::shared_ptr<SampleCall> TieredGraph::sample_of(std::span<const IValue> args,
                                                   const ops::Policy& policy) const {
  if (!tries_plans(options_)) return nullptr;
  std::optional<size_t> bytes = 0;
  for (const IValue& arg : args) {
    if (is_called_on(arg, self_)) continue;
    const std::optional<size_t> more = tensor_bytes(arg);
    bytes = bytes && more ? std::optional(*bytes + *more) : std::nullopt;
  }
  if (!may_copy(bytes)) return nullptr;
  return std::make_shared<SampleCall>(args, self_, policy);
}

bool TieredGraph::confirm(const Ref<InstalledPlan>& plan, const SampleCall& sample) {
  if (plan->unconfirmed.empty()) return true;
  const bool agreed = analysis::leaves_no_trace(plan->plan->graph()) && agrees(plan, sample);
  const bool are_right = std::ranges::all_of(
      plan->unconfirmed, [&](const Ref<ops::NeuralNet>& net) { return net->confirm(agreed); });
  plan->unconfirmed.clear();
  return are_right;
}

bool TieredGraph::agrees(const Ref<InstalledPlan>& plan, const SampleCall& sample) {
  const auto begin = CompileQueue::Clock::now();
  IValue result;
  std::vector<runtime::BlockLife> lives;
  try {
    const runtime::RecordingScope scope;
    result = sample.run(program_, *plan->plan);
    lives = scope.lives();
  } catch (const std::exception&) {
    return false;  // Net by net it is told whose fault that is, if it is a net's.
  }
  const auto took = CompileQueue::Clock::now() - begin;
  Deviation deviation;
  const bool agreed = agree(result, *sample.result(), deviation);
  const double milliseconds = std::chrono::duration<double, std::milli>(took).count();
  plan->steps.push_back(
      {"sample_call",
       milliseconds,
       {{"nets", static_cast<int64_t>(plan->unconfirmed.size())}},
       {fmt::format("largest difference from tier 0: {:.1e} of the largest value{}",
                    deviation.relative(), agreed ? "" : "; its nets are compared one by one")},
       {}});
  plan->compile_ms += milliseconds;
  if (!agreed) return false;
  const SizedPlans::Signature signature = SizedPlans::signature_of(sample.args());
  plan->trial.note_rehearsal(signature, took);
  SizedPlan* sized = plan->sized.at(signature);
  if (options_.memory_plan && sized != nullptr) plan_memory(plan, sized, std::move(lives));
  return true;
}

}  // namespace tierup::tier
