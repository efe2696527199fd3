// Rows of point-wise operators: from a body or a description of the computation to KernelFns.
//
//   {"aten::exp(Tensor self) -> Tensor", body_row<Body::kExp, Promote::kFloating>}
//   {"aten::add.Tensor(Tensor self, ...) -> Tensor", pointwise_row<&kernels::add>}
//
// The _inplace and _out forms compute right into the written tensor, without a temporary.
#pragma once

#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {

using kernels::Body;
using kernels::Promote;

// The per-element meaning of a row: which body its kernel would run on which operands, in which
// type. The description of a call depends on its numbers (pow with 2 is a square) and on the dtypes
// of its tensors, never on their elements or sizes. It may throw what the kernel would.
struct ScalarBody {
  kernels::PointwiseCall (*describe)(OpCall& call);
};

namespace detail {

template <>
struct Unbox<kernels::Operand> {
  static kernels::Operand get(IValue& value) {
    if (value.is_number()) return value.to_scalar();
    require(value.is_tensor(), ErrorCode::kTypeError, "expected a tensor or a number, but got {}",
            value.tag_name());
    IValue shared = value;  // The argument stays, so that an error can name its shape.
    return unbox_tensor(shared);
  }
};

// All arguments of the call (before the written tensor of an out= variant) are operands.
kernels::PointwiseCall describe_body(OpCall& call, const kernels::PointwiseOp& op);
void call_body(OpCall& call, const kernels::PointwiseOp& op);
// Evaluates the description into a new tensor: results[0].
void store_new(OpCall& call, const kernels::PointwiseCall& described);
void call_body_inplace(OpCall& call, const kernels::PointwiseOp& op);
void call_body_out(OpCall& call, const kernels::PointwiseOp& op);
// Evaluates the description into args[0], or into args[index].
void store_inplace(OpCall& call, IValue self, const kernels::PointwiseCall& described);
void store_out(OpCall& call, size_t index, const kernels::PointwiseCall& described);

template <Body kBody, Promote kPromote, uint8_t kPromoted>
struct BodyRow {
  static constexpr kernels::PointwiseOp kOp{kBody, kPromote, kPromoted};
  static kernels::PointwiseCall describe(OpCall& call) { return describe_body(call, kOp); }
  static constexpr ScalarBody kBodyOfRow{&describe};
  static void plain(OpCall& call) { call_body(call, kOp); }
  static void inplace(OpCall& call) { call_body_inplace(call, kOp); }
  static void out(OpCall& call) { call_body_out(call, kOp); }
};

template <auto Kernel>
struct PointwiseRow {
  using Adapted = Boxed<Kernel>;
  static kernels::PointwiseCall describe(OpCall& call) { return Adapted::invoke(call); }
  static constexpr ScalarBody kBodyOfRow{&describe};
  static void plain(OpCall& call) { store_new(call, Adapted::invoke(call)); }
  static void inplace(OpCall& call) {
    IValue self = call.args[0];
    store_inplace(call, std::move(self), Adapted::invoke(call));
  }
  static void out(OpCall& call) { store_out(call, Adapted::kArity, Adapted::invoke(call)); }
};

}  // namespace detail

template <Body kBody, Promote kPromote = Promote::kSame, uint8_t kPromoted = 0>
inline constexpr RowKernel body_row = {&detail::BodyRow<kBody, kPromote, kPromoted>::plain,
                                       &detail::BodyRow<kBody, kPromote, kPromoted>::kBodyOfRow};
template <Body kBody, Promote kPromote = Promote::kSame, uint8_t kPromoted = 0>
inline constexpr KernelFn body_inplace = &detail::BodyRow<kBody, kPromote, kPromoted>::inplace;
template <Body kBody, Promote kPromote = Promote::kSame, uint8_t kPromoted = 0>
inline constexpr KernelFn body_out = &detail::BodyRow<kBody, kPromote, kPromoted>::out;

template <auto Kernel>
inline constexpr RowKernel pointwise_row = {&detail::PointwiseRow<Kernel>::plain,
                                            &detail::PointwiseRow<Kernel>::kBodyOfRow};
template <auto Kernel>
inline constexpr KernelFn pointwise_inplace = &detail::PointwiseRow<Kernel>::inplace;
template <auto Kernel>
inline constexpr KernelFn pointwise_out = &detail::PointwiseRow<Kernel>::out;

// The three rows of an operator on one tensor that is a body alone.
#define TIERUP_UNARY_ROWS(name, ...) TIERUP_NET_ROWS(kNone, name, __VA_ARGS__)
// The same of an operator that compiled nets know by this kind.
#define TIERUP_NET_ROWS(kind, name, ...)                                                           \
  {"aten::" name "(Tensor self) -> Tensor", body_row<__VA_ARGS__>, ir::kNoEffect, nullptr,         \
   facts(OpKind::kind)},                                                                           \
      {"aten::" name "_(Tensor(a!) self) -> Tensor(a!)", body_inplace<__VA_ARGS__>, ir::kNoEffect, \
       nullptr, facts(OpKind::kind)},                                                              \
  {                                                                                                \
    "aten::" name ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", body_out<__VA_ARGS__>      \
  }
// The same without an in-place form.
#define TIERUP_FUNCTION_ROWS(name, ...)                                                       \
  {"aten::" name "(Tensor self) -> Tensor", body_row<__VA_ARGS__>}, {                         \
    "aten::" name ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", body_out<__VA_ARGS__> \
  }

// The same rows under another name.
#define TIERUP_OTHER_FUNCTION(name, of)                                              \
  other_name("aten::" name "(Tensor self) -> Tensor", "aten::" of),                  \
      other_name("aten::" name ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", \
                 "aten::" of ".out")
#define TIERUP_OTHER_UNARY(name, of) \
  TIERUP_OTHER_FUNCTION(name, of),   \
      other_name("aten::" name "_(Tensor(a!) self) -> Tensor(a!)", "aten::" of "_")

}  // namespace tierup::ops
