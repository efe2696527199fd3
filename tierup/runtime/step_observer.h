// StepObserver: told of every operator step of a run, for measuring. None in ordinary runs.
#pragma once

#include <span>

#include "tierup/runtime/plan.h"

namespace tierup::runtime {

// Thread rule: forks of the run call it from their own threads.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // The kernel is about to be called on `inputs` / has written `results`. Must not throw.
  virtual void before(const Plan& plan, const Step& step, std::span<const IValue> inputs) = 0;
  virtual void after(const Plan& plan, const Step& step, std::span<const IValue> results) = 0;
};

}  // namespace tierup::runtime
