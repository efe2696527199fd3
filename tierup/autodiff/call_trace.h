// CallTrace: what a recorded run calls, and what its backward pass calls, as straight programs.
//
// A tape that stands before the recording one: the calls of a part of a program are made and
// recorded as ever, and noted beside; then the engine runs backwards over what they recorded, and
// the calls of the formulas are noted as well. So the backward program is tier 0's own: the same
// formulas, the same calls, gradients added up in the same order. Nothing here knows a derivative.
//
// It holds for all runs whose inputs have the same sizes, dtypes, strides and flags, and the same
// values where they are no tensors: a formula steers by nothing else (ops/table/derivative.h). What
// could depend on tensors' values is refused: numbers read out of tensors, results whose sizes do
// not follow from sizes.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "tierup/autodiff/recording_tape.h"

namespace tierup::autodiff {

// A tensor of the trace, by its place in CallTrace::tensors().
using TraceId = uint32_t;

struct TracedArg {
  enum class Kind : uint8_t { kConstant, kTensor, kList };
  Kind kind = Kind::kConstant;
  TraceId tensor = 0;
  IValue constant;
  std::vector<TracedArg> list;
};

struct TracedResult {
  enum class Kind : uint8_t { kNone, kTensor, kList };  // kNone: no tensor.
  Kind kind = Kind::kNone;
  std::vector<TraceId> tensors;  // One, or those of the list.
};

struct TracedCall {
  const ops::Op* op = nullptr;
  std::vector<TracedArg> args;
  std::vector<TracedResult> results;
  const ir::Node* origin = nullptr;  // Null for calls of formulas.
};

// One thread.
class CallTrace final : public ops::Tape {
 public:
  // Makes a tensor known that no call gives.
  TraceId add(const Tensor& tensor);
  // The newest tensor with this memory and geometry; nothing if the trace does not know it.
  std::optional<TraceId> find(const Tensor& tensor) const;
  const std::vector<Tensor>& tensors() const { return tensors_; }

  // Calls before: recorded; calls after: made as they are, of the backward pass.
  void begin_backward() { is_backward_ = true; }
  const std::vector<TracedCall>& forward() const { return forward_; }
  const std::vector<TracedCall>& backward_calls() const { return backward_; }

  // All throw kUnsupported, with the reason, for what a trace must not hold.
  void call(const ops::Op& op, ops::OpCall& call, const ir::Node* origin) override;
  void backward(ops::RunContext& context, const ops::BackwardRequest& request) override;
  std::vector<Tensor> grad(ops::RunContext& context, const ops::BackwardRequest& request) override;
  void retain_grad(const Tensor& tensor) override;
  void detach_in_place(const Tensor& tensor) override;
  void set_requires_grad(const Tensor& tensor, bool value) override;

 private:
  bool gives_operand_back(const ops::Op& op, std::span<const IValue> args,
                          std::span<const IValue> results) const;
  void note(const ops::Op& op, std::span<const IValue> args, std::span<const IValue> results,
            const ir::Node* origin);
  TracedArg arg_of(const IValue& value) const;
  TracedResult result_of(const IValue& value);

  RecordingTape tape_;
  bool is_backward_ = false;
  std::vector<Tensor> tensors_;  // Held, so that no memory is used twice.
  std::unordered_map<const Storage*, std::vector<TraceId>> by_memory_;
  std::vector<TracedCall> forward_;
  std::vector<TracedCall> backward_;
};

}  // namespace tierup::autodiff
