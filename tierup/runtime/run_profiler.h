// RunProfiler: watches one run of a plan at tier 0 and leaves its profile.
//
// The interpreter tells it of each step of the watched plan that made values or took a branch. What
// plans called from there do is not watched.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tierup/profile/graph_profile.h"
#include "tierup/runtime/plan.h"

namespace tierup::runtime {

// Which step of a plan makes which values, branches or loops of its graph. Constant once made.
class ProfileLayout {
 public:
  explicit ProfileLayout(const Plan& plan);

  static constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();
  const Plan& plan() const { return plan_; }
  // Of the step's first output, its If, or its Loop; kNothing if it has none to record.
  uint32_t place(size_t step) const { return places_[step]; }
  // A profile with a place for everything.
  profile::GraphProfile empty_profile() const;

 private:
  const Plan& plan_;
  std::vector<uint32_t> places_;
  size_t values_ = 0;
  size_t branches_ = 0;
  size_t loops_ = 0;
};

// Of one run, in one thread. Recording allocates only for the ranks of new tensors.
class RunProfiler {
 public:
  RunProfiler(const ProfileLayout& layout, std::span<const IValue> arguments);

  const Plan& plan() const { return layout_.plan(); }
  // An operator's kernel is about to be called.
  void on_start() { start_ = Clock::now(); }
  // After a step that made its outputs.
  void on_values(const Step& step, const IValue* slots);
  void on_branch(const Step& step, bool taken);
  // A loop was left after so many trips.
  void on_loop_end(const Step& step, int64_t trips);
  // To be called when the run ended well.
  profile::GraphProfile take() { return std::move(profile_); }

 private:
  using Clock = std::chrono::steady_clock;
  size_t index_of(const Step& step) const {
    return static_cast<size_t>(&step - layout_.plan().steps().data());
  }

  const ProfileLayout& layout_;
  profile::GraphProfile profile_;
  Clock::time_point start_;
};

}  // namespace tierup::runtime
