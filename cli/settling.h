// Waiting for the tier that steady calls run at.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "tierup/module.h"

namespace tierup::cli {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start);

// How long it takes from the first call on until no job is left that calls asked for, and calls no
// longer take turns. Begin it before the first call.
class Settling {
 public:
  explicit Settling(const v1::Module& module) : module_(module) {}

  // After a call.
  void look();
  // Makes further ones, call(0) to call(2) in turn, until it is settled. Returns the milliseconds
  // from the beginning to when it came to be: calls beyond that do not count.
  double finish(const std::function<void(size_t)>& call);

 private:
  const v1::Module& module_;
  const Clock::time_point begin_ = Clock::now();
  bool is_settled_ = false;
  double settled_ms_ = 0;
};

}  // namespace tierup::cli
