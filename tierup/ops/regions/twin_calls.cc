#include "tierup/ops/regions/twin_calls.h"

#include <fmt/format.h>

#include <numeric>

namespace tierup::ops {

std::string_view twin_reason_text(TwinReason reason) {
  switch (reason) {
    case TwinReason::kNotCompiled: return "not compiled";
    case TwinReason::kNewSizes: return "sizes not compiled for (yet)";
    case TwinReason::kOtherInputs: return "inputs of other kinds";
    case TwinReason::kOtherShapes: return "shapes or indices not taken";
    case TwinReason::kNans: return "NaNs were met";
  }
  return "unknown";
}

TwinCounts TwinCalls::counts() const {
  TwinCounts counts{};
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

uint64_t TwinCalls::total() const {
  const TwinCounts all = counts();
  return std::accumulate(all.begin(), all.end(), uint64_t{0});
}

std::string twin_note(const StepReport& step) {
  std::string reasons;
  uint64_t by_twin = 0;
  for (size_t i = 0; i < step.twin_calls.size(); ++i) {
    if (step.twin_calls[i] == 0) continue;
    by_twin += step.twin_calls[i];
    reasons += fmt::format("; {} times: {}", step.twin_calls[i],
                           twin_reason_text(static_cast<TwinReason>(i)));
  }
  if (by_twin == 0) return {};
  if (!step.refusal.empty()) reasons += fmt::format(" ({})", step.refusal);
  return fmt::format("twin of {} ({}): {} of {} calls{}", step.kind, step.what, by_twin,
                     by_twin + step.compiled_calls, reasons);
}

}  // namespace tierup::ops
