// NodeTimes: where the time of a model's runs goes, node by node: what stands behind the public
// class of that name.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tierup/node_times.h"
#include "tierup/runtime/step_observer.h"

namespace tierup::api {

using v1::NodeTime;

// Give one to RunOptions::observer; the times of all its runs add up. Thread rule: any thread.
class NodeTimes final : public runtime::StepObserver {
 public:
  void before(const runtime::Plan& plan, const runtime::Step& step,
              std::span<const IValue> inputs) override;
  void after(const runtime::Plan& plan, const runtime::Step& step,
             std::span<const IValue> results) override;

  // The longest first.
  std::vector<NodeTime> nodes() const;
  // The same, added up by operator.
  std::vector<NodeTime> operators() const;
  // Forgets what was measured (the warm-up).
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Clock::time_point start;
    double bytes = 0;
    std::string shapes;
    std::vector<std::vector<int64_t>> sizes;  // Of tensor inputs, by position.
  };
  mutable std::mutex mutex_;
  std::map<std::thread::id, Open> open_;
  std::map<const runtime::Step*, NodeTime> times_;
};

}  // namespace tierup::api
