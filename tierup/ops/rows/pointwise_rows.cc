#include "tierup/ops/rows/pointwise_rows.h"

#include <algorithm>

#include "tierup/kernels/memory/copy.h"

namespace tierup::ops::detail {
namespace {

using kernels::Operand;
using kernels::PointwiseCall;
using kernels::PointwiseOp;

PointwiseCall unbox_call(OpCall& call, const PointwiseOp& op, size_t count) {
  PointwiseCall described{op, {}};
  for (size_t i = 0; i < count; ++i) {
    described.operands.push_back(Unbox<Operand>::get(call.args[i]));
  }
  return described;
}

// The operands that only the call and its description hold.
kernels::DyingOperands find_dying(const OpCall& call, const PointwiseCall& described) {
  kernels::DyingOperands dying = 0;
  for (size_t k = 0; k < described.operands.size(); ++k) {
    const Tensor& tensor = described.operands[k].tensor;
    if (!tensor.defined() || tensor.ref()->use_count() > 2) continue;
    const auto holders = std::count_if(
        call.args.begin(), call.args.end(),
        [&](const IValue& argument) { return argument.tensor_impl() == tensor.impl(); });
    if (tensor.ref()->use_count() == 1 + static_cast<uint32_t>(holders)) dying |= 1U << k;
  }
  return dying;
}

// Whether elements of `target` can be written as they are computed.
bool is_plain(const Tensor& target) {
  return !target.impl()->conjugate && !target.impl()->negative && !target.is_meta();
}

}  // namespace

PointwiseCall describe_body(OpCall& call, const PointwiseOp& op) {
  return unbox_call(call, op, call.args.size());
}

void call_body(OpCall& call, const PointwiseOp& op) {
  store_new(call, unbox_call(call, op, call.args.size()));
}

void store_new(OpCall& call, const PointwiseCall& described) {
  call.results[0] = IValue(kernels::evaluate(described, find_dying(call, described)));
}

void call_body_inplace(OpCall& call, const PointwiseOp& op) {
  IValue self = call.args[0];
  store_inplace(call, std::move(self), unbox_call(call, op, call.args.size()));
}

void call_body_out(OpCall& call, const PointwiseOp& op) {
  store_out(call, call.args.size() - 1, unbox_call(call, op, call.args.size() - 1));
}

void store_inplace(OpCall& call, IValue self, const PointwiseCall& described) {
  const Tensor target = self.to_tensor();
  if (is_plain(target)) {
    kernels::pointwise_into(target, described.op, described.inputs());
  } else {
    write_inplace(target, kernels::evaluate(described));
  }
  call.results[0] = std::move(self);
}

void store_out(OpCall& call, size_t index, const PointwiseCall& described) {
  IValue out = std::move(call.args[index]);
  const Tensor target = out.to_tensor();
  require(target.defined(), ErrorCode::kTypeError, "the tensor to write to must not be None");
  const IntVector shape = kernels::broadcast_shape(described.inputs());
  const bool fits =
      std::equal(shape.begin(), shape.end(), target.sizes().begin(), target.sizes().end());
  if (is_plain(target) && fits) {
    kernels::pointwise_into(target, described.op, described.inputs());
  } else {
    write_out(target, kernels::evaluate(described));
  }
  call.results[0] = std::move(out);
}

}  // namespace tierup::ops::detail
