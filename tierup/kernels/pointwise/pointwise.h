// pointwise: runs a scalar body over tensors: promotion, broadcasting, layout, threads.
//
// The inner work is done by dense runs (pointwise_runs.h). Operands of another dtype or with
// other strides are brought into a small block on the stack and converted there, so that mixed
// operands need no temporary tensor; numbers fill such a block once.
#pragma once

#include <initializer_list>
#include <span>

#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// One input: a tensor, or a number (weak in promotion, used in the precision of the computation).
struct Operand {
  Operand(Tensor t) : tensor(std::move(t)) {}  // NOLINT(google-explicit-constructor)
  Operand(Scalar s) : number(std::move(s)) {}  // NOLINT(google-explicit-constructor)
  bool is_tensor() const { return tensor.defined(); }
  Tensor tensor;
  Scalar number;
};
using Operands = std::span<const Operand>;

// In which type an operator computes, given its promoted operands.
enum class Promote : uint8_t {
  kSame,      // In the promoted type.
  kFloating,  // As kSame, with the default dtype for integers and bool (sin, div).
  kDouble,    // In float64 or complex128 (float_power).
  kBool,      // Each operand's truth (logical_and).
};

// How a body is to be run: `promoted` operands, the first ones, decide the type; 0: all of them.
struct PointwiseOp {
  Body body;
  Promote promote = Promote::kSame;
  uint8_t promoted = 0;
  std::optional<ScalarType> common = std::nullopt;  // Given: no promotion.
};

// A computation that is described but not yet run, so that one description serves the plain, the
// in-place and the out= variant of an operator.
struct PointwiseCall {
  PointwiseOp op;
  SmallVector<Operand, 4> operands;
  Operands inputs() const { return {operands.data(), operands.size()}; }
};

// The description whose operands are those given, moved where they are given away.
template <typename... Given>
PointwiseCall describe_call(const PointwiseOp& op, Given&&... operands) {
  PointwiseCall call{op, {}};
  (call.operands.emplace_back(std::forward<Given>(operands)), ...);
  return call;
}

// The dtype that the operator computes in (before f16 and bf16 become f32).
ScalarType common_dtype(const PointwiseOp& op, Operands operands);
// The broadcast of all tensors among the operands.
IntVector broadcast_shape(Operands operands);

// Which operands nobody reads afterwards, a bit each: the result may take their memory.
using DyingOperands = uint32_t;

// A new tensor with the result. Throws kUnsupported if the body is not defined for the dtype,
// kInvalidArgument for shapes that do not broadcast.
Tensor pointwise(const PointwiseOp& op, Operands operands, DyingOperands dying = 0);
inline Tensor pointwise(const PointwiseOp& op, std::initializer_list<Operand> operands) {
  return pointwise(op, Operands(operands.begin(), operands.size()));
}

// Writes the result into `out`, which may be one of the operands. Throws also if the result's
// shape or dtype does not suit `out` or memory overlaps. Bumps the version.
void pointwise_into(const Tensor& out, const PointwiseOp& op, Operands operands);
inline Tensor evaluate(const PointwiseCall& call, DyingOperands dying = 0) {
  return pointwise(call.op, call.inputs(), dying);
}
inline void pointwise_into(const Tensor& out, const PointwiseOp& op,
                           std::initializer_list<Operand> operands) {
  pointwise_into(out, op, Operands(operands.begin(), operands.size()));
}

// The same with the computation's dtype given, and no checks but broadcasting: the inner level.
void run_pointwise(const Tensor& out, Body body, ScalarType common, Operands operands);

}  // namespace tierup::kernels
