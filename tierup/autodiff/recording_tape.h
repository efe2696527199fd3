// RecordingTape: the tape of runs that may be differentiated.
//
// It has no state of its own: what is recorded hangs on the tensors. One serves all runs.
#pragma once

#include "tierup/ops/table/tape.h"

namespace tierup::autodiff {

class RecordingTape final : public ops::Tape {
 public:
  void call(const ops::Op& op, ops::OpCall& call, const ir::Node* origin) override;
  void backward(ops::RunContext& context, const ops::BackwardRequest& request) override;
  std::vector<Tensor> grad(ops::RunContext& context, const ops::BackwardRequest& request) override;
  void retain_grad(const Tensor& tensor) override;
  void detach_in_place(const Tensor& tensor) override;
  void set_requires_grad(const Tensor& tensor, bool value) override;

  // To be called on what a run gives: a view whose base was written after the view was made says
  // from here on whether it requires gradients.
  void finish_results(const IValue& results);
};

}  // namespace tierup::autodiff
