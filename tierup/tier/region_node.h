// RegionNode: one node of the tape for all calls of a compiled part; its backward pass is a plan.
//
// Where the plan does not fit (other outputs got gradients than it was made for, or the pass is
// itself recorded), the part's twin answers: it runs once more at tier 0, under a tape, from the
// saved inputs, and that tape runs backwards. So a node needs its inputs until it is freed. Were
// they written meanwhile, which tier 0 minds only where its formulas read them, a pass for fewer
// outputs than the plan's is compiled, which reads the captures.
#pragma once

#include "tierup/autodiff/node.h"
#include "tierup/autodiff/recorded_call.h"
#include "tierup/tier/region_plan.h"

namespace tierup::tier {

// What all calls of a part share.
struct Region final : public RefCounted {
  std::shared_ptr<const runtime::Plan> body;  // Tier 0's: the twin.
  std::shared_ptr<const TieringOptions> options;
  mutable runtime::Program program{[](const ir::Function&) -> std::shared_ptr<const ir::Graph> {
    return nullptr;  // A part calls nothing.
  }};
  Ref<const runtime::RunState> unlimited = make_ref<const runtime::RunState>();
  mutable std::atomic<uint64_t> twin_backward_runs{0};

  // The limits of the run that the calling thread is in.
  Ref<const runtime::RunState> run_state() const;
};

class RegionNode final : public autodiff::Node {
 public:
  // `args`: the inputs, as they are after the call. `captures`: what the plan's forward gave beside
  // the outputs.
  RegionNode(Ref<const Region> region, Ref<const RegionPlan> plan, std::span<const IValue> args,
             std::span<const IValue> captures);
  ~RegionNode() override;

  autodiff::Gradients run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                          autodiff::RunningSums* sums) override;
  std::string name() const override { return "tierup::differentiable_graph"; }
  std::string title() const override { return "DifferentiableGraph"; }
  void take_links(autodiff::Links& links) override;

 private:
  // What a plan's backward pass reads; null if no pass of plan_ does.
  const autodiff::SavedTensor* captured(const RegionPlan& plan, size_t capture) const;
  void check_captures(const RegionPlan& plan) const;
  autodiff::Gradients run_plan(const RegionPlan& plan, std::span<const Tensor> cotangents,
                               ops::RunContext& context, bool keep);
  // Whether what the twin needs was written.
  bool is_overwritten() const;
  // For some of plan_'s outputs, from its captures; null if that does not go.
  Ref<const RegionPlan> narrower_plan(CotangentMask mask) const;
  Ref<const RegionPlan> compile_narrower(CotangentMask mask) const;
  Tensor stand_in(size_t place, const RecordedForm& form) const;
  autodiff::Gradients run_twin(std::span<const Tensor> cotangents, ops::RunContext& context);
  std::vector<IValue> twin_inputs(bool is_recorded);
  // Of outputs whose passes read no value that an earlier pass has let go.
  void check_order(CotangentMask mask) const;
  // After, or while, a pass for these outputs that keeps nothing.
  void spend(CotangentMask mask);
  // Unless sizes are kept, which another pass may ask for, nothing is left of them.
  void take_inputs(bool keeps_sizes, autodiff::Links& links);
  bool has_captures() const;  // None was taken.
  static void take_values(SmallVector<autodiff::SavedTensor, 6>& values, autodiff::Links& links);

  Ref<const Region> region_;
  Ref<const RegionPlan> plan_;
  SmallVector<autodiff::SavedTensor, 6> inputs_;  // The tensors.
  SmallVector<autodiff::SavedTensor, 6> captures_;
  SmallVector<uint32_t, 6> targets_;  // By edge: which of inputs_.
  CotangentMask passed_ = 0;          // Outputs whose pass came and kept nothing.
  std::mutex freeing_;
};

}  // namespace tierup::tier
