// DifferentiableGraph: the capsule of a step `tierup::differentiable_graph`, a part of a recorded
// program that is compiled together with its backward pass.
//
// A call looks for a plan made for inputs of its form (region_plan.h). There is one: it runs the
// plan and makes one node (region_node.h). There is none: the twin answers, the part's own
// operators one after the other under the tape, and a plan for such inputs is made in the
// background. So every call gives tier 0's results and records.
#pragma once

#include <mutex>

#include "tierup/ops/regions/differentiable_graph.h"
#include "tierup/ops/regions/twin_calls.h"
#include "tierup/tier/region_node.h"

namespace tierup::tier {

// Thread rule: any thread; finding a plan takes no lock.
class DifferentiableGraph final : public ops::DifferentiableStep, public ops::HasTwin {
 public:
  // `body` takes the part's inputs and gives its results, which are tensors.
  DifferentiableGraph(std::shared_ptr<ir::Graph> body,
                      std::shared_ptr<const TieringOptions> options);

  void run(ops::OpCall& call) override;
  ops::StepReport step_report() const override;
  RegionReport report() const;

 private:
  Ref<const RegionPlan> find(std::span<const IValue> args) const {
    return plans_.find([&](const Ref<const RegionPlan>& plan) { return plan->suits(args); });
  }
  void run_plan(const Ref<const RegionPlan>& plan, ops::OpCall& call);
  void run_twin(ops::OpCall& call, ops::TwinReason reason);
  // Asks for a plan, or makes it where the call is to wait.
  void request(std::span<const IValue> args, std::optional<CotangentMask> mask,
               ops::RunContext& context);
  void compile(const RegionRequest& request);
  bool has_plan_for(std::span<const IValue> args, CotangentMask mask) const;

  const Ref<Region> region_;
  const std::shared_ptr<const TieringOptions> options_;
  RecentlyUsed<RegionPlan> plans_;
  std::mutex writers_;
  std::atomic<bool> is_requested_{false};
  std::atomic<uint32_t> made_{0};
  std::atomic<uint64_t> compiled_runs_{0};
  ops::TwinCalls twin_calls_;
};

}  // namespace tierup::tier
