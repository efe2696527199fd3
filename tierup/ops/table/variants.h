// In-place and out= variants of an operator, made from its plain kernel.
//
//   {"aten::relu_(Tensor(a!) self) -> Tensor(a!)", inplace<&kernels::relu>}
//   {"aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&kernels::relu>}
//
// inplace: the first argument receives the result; its shape must be the result's, and the
// result's dtype must be castable to its dtype.
// out_variant: the kernel's results (one tensor or a tuple of them) go to the arguments that
// follow the kernel's own, which are resized if their shape differs.
// Both bump the version of what they write and return the written tensors themselves.
#pragma once

#include "tierup/ops/table/boxing.h"

namespace tierup::ops {
namespace detail {

// Throws kInvalidArgument if `target` has elements that share memory, another shape than
// `result`, or a dtype that the result cannot be cast to.
void write_inplace(const Tensor& target, const Tensor& result);
// Resizes `out` to the result's shape if needed, then as write_inplace.
void write_out(const Tensor& out, const Tensor& result);

template <auto Kernel>
struct Inplace {
  static void call(OpCall& op_call) {
    IValue self = op_call.args[0];
    write_inplace(self.to_tensor(), Boxed<Kernel>::invoke(op_call));
    op_call.results[0] = std::move(self);
  }
};

template <auto Kernel>
struct OutVariant {
  using Adapted = Boxed<Kernel>;
  static void call(OpCall& op_call) {
    auto result = Adapted::invoke(op_call);
    if constexpr (requires { std::tuple_size<decltype(result)>::value; }) {
      [&]<size_t... I>(std::index_sequence<I...>) {
        (store_one(op_call, I, std::get<I>(result)), ...);
      }
      (std::make_index_sequence<std::tuple_size_v<decltype(result)>>{});
    } else {
      store_one(op_call, 0, result);
    }
  }
  static void store_one(OpCall& op_call, size_t index, const Tensor& result) {
    IValue out = std::move(op_call.args[Adapted::kArity + index]);
    write_out(out.to_tensor(), result);
    if (index < op_call.results.size()) op_call.results[index] = std::move(out);
  }
};

}  // namespace detail

template <auto Kernel>
inline constexpr KernelFn inplace = &detail::Inplace<Kernel>::call;

template <auto Kernel>
inline constexpr KernelFn out_variant = &detail::OutVariant<Kernel>::call;

}  // namespace tierup::ops
