// How often a compiled step was answered by its twin, the same operators one after the other, and
// why. A twin answers right but slowly: in a steady state there should be none, so they are counted
// and `tierup explain` tells of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tierup::ops {

enum class TwinReason : uint8_t {
  kNotCompiled,  // Compiling was refused.
  kNewSizes,     // Sizes that were not compiled for, or not yet.
  kOtherInputs,  // Dtypes, devices or values that the compiled code is not made for.
  kOtherShapes,  // Shapes, strides or indices that it does not take.
  kNans,         // It met NaNs, which vector code may drop: now, or in most calls before.
};
inline constexpr size_t kTwinReasonCount = 5;
// "sizes not compiled for (yet)".
std::string_view twin_reason_text(TwinReason reason);

using TwinCounts = std::array<uint64_t, kTwinReasonCount>;

// The counters of one step. Any thread.
class TwinCalls {
 public:
  void count(TwinReason reason) {
    counts_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  TwinCounts counts() const;
  uint64_t total() const;

 private:
  std::array<std::atomic<uint64_t>, kTwinReasonCount> counts_{};
};

// A compiled step, for reports.
struct StepReport {
  std::string kind;  // "net", "group".
  std::string what;  // Its operators.
  uint64_t compiled_calls = 0;
  TwinCounts twin_calls{};
  std::string refusal;  // Why compiling was refused, if it was.
};

// One line for people where its twin answered: "twin of net (1 linear): 2 of 9 calls; 2 times: ..."
std::string twin_note(const StepReport& step);

// Implemented by objects in a plan's constants that are compiled steps.
class HasTwin {
 public:
  virtual ~HasTwin() = default;
  // Thread-safe.
  virtual StepReport step_report() const = 0;
};

}  // namespace tierup::ops
