// boxed<&kernel>: adapts a plain C++ kernel to KernelFn.
//
// Parameters map one to one to the schema's arguments (an optional leading RunContext& is not
// an argument); results to its returns. Known parameter types:
//   Tensor, const Tensor&          Tensor, and Tensor? (None gives an undefined tensor)
//   Scalar, const Scalar&          Scalar          std::optional<Scalar>
//   int64_t double bool complex128 and std::optional of them
//   ScalarType MemoryFormat Device and std::optional of them (ints in the IR)
//   std::string_view, std::optional<std::string_view>
//   IntVector, const IntVector&    int[]           std::optional<IntVector>
//   std::vector<double>, std::vector<bool>, std::vector<Tensor> (Tensor[], and Tensor?[])
//   std::vector<Scalar>, const IValue&, IValue& (raw)
// Results: void, any of Tensor, Scalar, int64_t, double, bool, complex128, std::string, IValue,
// std::vector<Tensor>, IntVector, or a std::tuple of those.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tierup/ops/table/op.h"

namespace tierup::ops {
namespace detail {

IntVector unbox_ints(const IValue& value);
std::vector<double> unbox_doubles(const IValue& value);
std::vector<bool> unbox_bools(const IValue& value);
std::vector<Tensor> unbox_tensors(const IValue& value);
std::vector<Scalar> unbox_scalars(const IValue& value);
// Moves; a number becomes a wrapped 0-dim tensor; lazy conj and neg bits are resolved. Throws
// kUnsupported for a tensor without data (meta device).
Tensor unbox_tensor(IValue& value);
Tensor unbox_lazy_tensor(IValue& value);  // The same, with bits and meta tensors left as they are.
IValue box_ints(const IntVector& values);
IValue box_tensors(std::vector<Tensor> values);

template <typename T>
struct Unbox;
template <>
struct Unbox<Tensor> {
  static Tensor get(IValue& v) { return unbox_tensor(v); }
};
template <>
struct Unbox<Scalar> {
  static Scalar get(IValue& v) { return v.to_scalar(); }
};
template <>
struct Unbox<int64_t> {
  static int64_t get(IValue& v) { return v.is_int() ? v.to_int() : v.to_scalar().to_int(); }
};
template <>
struct Unbox<double> {
  static double get(IValue& v) { return v.is_float() ? v.to_float() : v.to_scalar().to_double(); }
};
template <>
struct Unbox<bool> {
  static bool get(IValue& v) { return v.is_bool() ? v.to_bool() : v.to_scalar().to_bool(); }
};
template <>
struct Unbox<complex128> {
  static complex128 get(IValue& v) { return v.to_scalar().to_complex(); }
};
template <>
struct Unbox<ScalarType> {
  static ScalarType get(IValue& v) { return scalar_type_from_code(v.to_int()); }
};
template <>
struct Unbox<MemoryFormat> {
  static MemoryFormat get(IValue& v) { return static_cast<MemoryFormat>(v.to_int()); }
};
template <>
struct Unbox<Device> {
  static Device get(IValue& v) { return v.to_device(); }
};
template <>
struct Unbox<std::string_view> {
  static std::string_view get(IValue& v) { return v.to_str(); }
};
template <>
struct Unbox<IntVector> {
  static IntVector get(IValue& v) { return unbox_ints(v); }
};
template <>
struct Unbox<std::vector<double>> {
  static std::vector<double> get(IValue& v) { return unbox_doubles(v); }
};
template <>
struct Unbox<std::vector<bool>> {
  static std::vector<bool> get(IValue& v) { return unbox_bools(v); }
};
template <>
struct Unbox<std::vector<Tensor>> {
  static std::vector<Tensor> get(IValue& v) { return unbox_tensors(v); }
};
template <>
struct Unbox<std::vector<Scalar>> {
  static std::vector<Scalar> get(IValue& v) { return unbox_scalars(v); }
};
template <>
struct Unbox<IValue> {
  static IValue& get(IValue& v) { return v; }
};
template <typename T>
struct Unbox<std::optional<T>> {
  static std::optional<T> get(IValue& v) {
    if (v.is_none()) return std::nullopt;
    return Unbox<T>::get(v);
  }
};

// For boxed_lazy: tensors with their bits.
template <typename T>
struct UnboxLazy : Unbox<T> {};
template <>
struct UnboxLazy<Tensor> {
  static Tensor get(IValue& v) { return unbox_lazy_tensor(v); }
};

// A tensor argument while its kernel runs. It goes back to its place afterwards (no count is
// touched), so that an error can name the shapes.
class HeldTensor {
 public:
  HeldTensor(Tensor tensor, IValue& home) : tensor_(std::move(tensor)), home_(home) {}
  HeldTensor(const HeldTensor&) = delete;
  HeldTensor& operator=(const HeldTensor&) = delete;
  ~HeldTensor() { home_ = IValue(std::move(tensor_)); }
  operator const Tensor&() const { return tensor_; }  // NOLINT(google-explicit-constructor)

 private:
  Tensor tensor_;
  IValue& home_;
};

template <typename Parameter, template <typename> class UnboxArgument>
decltype(auto) unbox_argument(IValue& value) {
  if constexpr (std::is_same_v<Parameter, const Tensor&>) {
    return HeldTensor(UnboxArgument<Tensor>::get(value), value);
  } else {
    return UnboxArgument<std::remove_cvref_t<Parameter>>::get(value);
  }
}

template <typename T>
inline void box(IValue& slot, T&& value) {
  using U = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<U, IntVector>) {
    slot = box_ints(value);
  } else if constexpr (std::is_same_v<U, std::vector<Tensor>>) {
    slot = box_tensors(std::forward<T>(value));
  } else if constexpr (std::is_same_v<U, ScalarType> || std::is_same_v<U, MemoryFormat>) {
    slot = IValue(static_cast<int64_t>(value));
  } else {
    slot = IValue(std::forward<T>(value));
  }
}

template <typename Result, typename Invoke>
void store(OpCall& call, Invoke&& invoke) {
  if constexpr (std::is_void_v<Result>) {
    invoke();
  } else if constexpr (requires { std::tuple_size<Result>::value; }) {
    auto results = invoke();
    [&]<size_t... I>(std::index_sequence<I...>) {
      (box(call.results[I], std::get<I>(std::move(results))), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Result>>{});
  } else {
    box(call.results[0], invoke());
  }
}

// Calls the kernel with the first arguments of the call; `kArity` of them are arguments of the
// schema.
template <typename Signature, auto Kernel, template <typename> class UnboxArgument>
struct BoxedAs;
template <auto Kernel, template <typename> class UnboxArgument = Unbox>
struct Boxed : BoxedAs<decltype(Kernel), Kernel, UnboxArgument> {};
template <typename R, typename... A, auto Kernel, template <typename> class UnboxArgument>
struct BoxedAs<R (*)(A...), Kernel, UnboxArgument> {
  using Result = R;
  static constexpr size_t kArity = sizeof...(A);
  static R invoke(OpCall& op_call) {
    return [&]<size_t... I>(std::index_sequence<I...>)->R {
      return Kernel(unbox_argument<A, UnboxArgument>(op_call.args[I])...);
    }
    (std::index_sequence_for<A...>{});
  }
  static void call(OpCall& op_call) {
    store<R>(op_call, [&]() -> R { return invoke(op_call); });
  }
};
template <typename R, typename... A, auto Kernel, template <typename> class UnboxArgument>
struct BoxedAs<R (*)(RunContext&, A...), Kernel, UnboxArgument> {
  using Result = R;
  static constexpr size_t kArity = sizeof...(A);
  static R invoke(OpCall& op_call) {
    return [&]<size_t... I>(std::index_sequence<I...>)->R {
      return Kernel(op_call.context, unbox_argument<A, UnboxArgument>(op_call.args[I])...);
    }
    (std::index_sequence_for<A...>{});
  }
  static void call(OpCall& op_call) {
    store<R>(op_call, [&]() -> R { return invoke(op_call); });
  }
};

}  // namespace detail

template <auto Kernel>
inline constexpr KernelFn boxed = &detail::Boxed<Kernel>::call;

// The same for kernels that must see lazy conj and neg bits (views, conj, resolve_conj, copy_,
// is_conj...) or tensors without data: their tensors come as they are.
template <auto Kernel>
inline constexpr KernelFn boxed_lazy = &detail::Boxed<Kernel, detail::UnboxLazy>::call;

}  // namespace tierup::ops
