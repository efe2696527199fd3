// NodeTimes: where the time of a model's runs goes, node by node.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tierup/runtime/step_observer.h"

namespace tierup::api {

struct NodeTime {
  std::string op;      // "aten::linear"
  std::string shapes;  // "float32[1, 8], float32[4, 8] -> float32[1, 4]", as last seen.
  std::string place;   // The model's own line, if it has one.
  uint64_t calls = 0;
  double nanoseconds = 0;
  double operations = 0;  // Floating-point; 0 where they are beside the point.
  double bytes = 0;       // Of the tensors read and written.
};

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
