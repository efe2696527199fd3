// Runs made from a scalar body by a plain loop over one C++ type.
#pragma once

#include <type_traits>
#include <utility>

#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace detail {

// Inputs as values of their own: a store of bytes might change pointers that stand in memory.
template <typename Op, typename Out, typename... T>
void scalar_loop(Out* out, int64_t count, const T*... in) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::apply(in[i]...));
}

// Narrow integers are widened, without a sign: as such they would be multiplied as signed ints.
template <typename Op, typename Out, typename... T>
void wrapping_loop(Out* out, int64_t count, const T*... in) {
  using Wide = std::common_type_t<std::make_unsigned_t<Out>, unsigned>;
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<Out>(Op::apply(static_cast<Wide>(in[i])...));
}

template <typename T, size_t... I, typename Loop>
void with_inputs(const char* const* in, std::index_sequence<I...> /*inputs*/, const Loop& loop) {
  loop(reinterpret_cast<const T*>(in[I])...);
}

}  // namespace detail

// A body with kArity inputs of type T and a result of type Out.
template <typename Op, typename T, typename Out = T>
void scalar_run(char* out, const char* const* in, int64_t count) {
  detail::with_inputs<T>(in, std::make_index_sequence<Op::kArity>{}, [&](const auto*... inputs) {
    detail::scalar_loop<Op>(reinterpret_cast<Out*>(out), count, inputs...);
  });
}

template <typename Op, typename T>
void wrapping_run(char* out, const char* const* in, int64_t count) {
  detail::with_inputs<T>(in, std::make_index_sequence<Op::kArity>{}, [&](const auto*... inputs) {
    detail::wrapping_loop<Op>(reinterpret_cast<T*>(out), count, inputs...);
  });
}

// Sets the runs T... -> T of the body for each listed type.
template <typename Op, typename... T>
void set_scalar(RunTable& table, Body body) {
  (table.set(body, kDTypeOf<T>, kDTypeOf<T>, Op::kArity, &scalar_run<Op, T>), ...);
}

// Sets the runs T... -> bool.
template <typename Op, typename... T>
void set_predicate(RunTable& table, Body body) {
  (table.set(body, kDTypeOf<T>, ScalarType::kBool, Op::kArity, &scalar_run<Op, T, bool>), ...);
}

// Integer arithmetic that wraps around: computed without a sign.
template <typename Op, typename... T>
void set_wrapping(RunTable& table, Body body) {
  (table.set(body, kDTypeOf<T>, kDTypeOf<T>, Op::kArity, &wrapping_run<Op, T>), ...);
}

}  // namespace tierup::kernels
