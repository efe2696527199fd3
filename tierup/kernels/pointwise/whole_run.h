// Runs over integers of 32 and 64 bits by vectors, where the plain loops of runs_integer.cc find no
// instruction at the base level: comparisons and products of 64 bits, shifts by vectors.
#pragma once

#include <type_traits>
#include <utility>

#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/kernels/simd/simd.h"

namespace tierup::kernels::TIERUP_SIMD {

#if TIERUP_VECTOR_BYTES > 16
// A body is written once, for single numbers and for vectors of them; both wrap around, as unsigned
// ones do.
template <typename T>
struct Whole {
  using Unsigned = std::make_unsigned_t<T>;
  typedef T Lanes __attribute__((vector_size(TIERUP_VECTOR_BYTES)));
  typedef Unsigned UnsignedLanes __attribute__((vector_size(TIERUP_VECTOR_BYTES)));
  typedef int8_t Bytes __attribute__((vector_size(TIERUP_VECTOR_BYTES / sizeof(T))));
  static constexpr int64_t kLanes = TIERUP_VECTOR_BYTES / sizeof(T);
  static constexpr T kBits = 8 * sizeof(T);

  template <typename V>
  TIERUP_INLINE static auto unsign(V a) {
    if constexpr (std::is_same_v<V, T>) {
      return static_cast<Unsigned>(a);
    } else {
      return reinterpret_cast<UnsignedLanes>(a);
    }
  }
  template <typename V>
  TIERUP_INLINE static auto sign(V a) {
    if constexpr (std::is_same_v<V, Unsigned>) {
      return static_cast<T>(a);
    } else {
      return reinterpret_cast<Lanes>(a);
    }
  }
};

#define TIERUP_WHOLE_BODY(name, arity, parameters, expression) \
  template <typename T>                                        \
  struct Whole##name {                                         \
    using W = Whole<T>;                                        \
    static constexpr size_t kArity = arity;                    \
    template <typename V>                                      \
    TIERUP_INLINE static auto apply parameters {               \
      return expression;                                       \
    }                                                          \
  }
TIERUP_WHOLE_BODY(Abs, 1, (V a), a < 0 ? W::sign(0 - W::unsign(a)) : a);
TIERUP_WHOLE_BODY(Relu, 1, (V a), a > 0 ? a : a - a);
TIERUP_WHOLE_BODY(Mul, 2, (V a, V b), W::sign(W::unsign(a) * W::unsign(b)));
TIERUP_WHOLE_BODY(Max, 2, (V a, V b), a > b ? a : b);
TIERUP_WHOLE_BODY(Min, 2, (V a, V b), a < b ? a : b);
TIERUP_WHOLE_BODY(Eq, 2, (V a, V b), a == b);
TIERUP_WHOLE_BODY(Ne, 2, (V a, V b), a != b);
TIERUP_WHOLE_BODY(Lt, 2, (V a, V b), a < b);
TIERUP_WHOLE_BODY(Le, 2, (V a, V b), a <= b);
TIERUP_WHOLE_BODY(Gt, 2, (V a, V b), a > b);
TIERUP_WHOLE_BODY(Ge, 2, (V a, V b), a >= b);
#undef TIERUP_WHOLE_BODY

template <typename T>
struct WholeClamp {
  static constexpr size_t kArity = 3;
  template <typename V>
  TIERUP_INLINE static V apply(V a, V low, V high) {
    const V raised = a > low ? a : low;
    return raised < high ? raised : high;
  }
};
// By fewer than no bits or by all: nothing is left, or the sign.
template <typename T, bool kLeft>
struct WholeShift {
  using W = Whole<T>;
  static constexpr size_t kArity = 2;
  template <typename V>
  TIERUP_INLINE static V apply(V a, V b) {
    const V zero = b - b;
    if constexpr (kLeft) {
      const V within = W::unsign(b) < static_cast<typename W::Unsigned>(W::kBits) ? b : zero;
      const V shifted = W::sign(W::unsign(a) << W::unsign(within));
      return within == b ? shifted : zero;
    } else {
      const V last = zero + (W::kBits - 1);
      return a >> (W::unsign(b) < static_cast<typename W::Unsigned>(W::kBits) ? b : last);
    }
  }
};

template <typename T>
TIERUP_INLINE void store_lanes(typename Whole<T>::Lanes value, T* out) {
  __builtin_memcpy(out, &value, sizeof(value));
}
template <typename T>
TIERUP_INLINE void store_lanes(typename Whole<T>::Lanes mask, bool* out) {
  const auto bytes = __builtin_convertvector(mask, typename Whole<T>::Bytes) & 1;
  __builtin_memcpy(out, &bytes, sizeof(bytes));
}

template <typename Op, typename T, typename Out, size_t... I>
void whole_loop(Out* out, const char* const* in, int64_t count, std::index_sequence<I...>) {
  using Lanes = typename Whole<T>::Lanes;
  constexpr int64_t kLanes = Whole<T>::kLanes;
  const T* from[] = {reinterpret_cast<const T*>(in[I])...};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes operands[sizeof...(I)];
    (__builtin_memcpy(&operands[I], from[I] + i, sizeof(Lanes)), ...);
    store_lanes<T>(Op::apply(operands[I]...), out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<Out>(Op::apply(from[I][i]...));
}

template <typename Op, typename T, typename Out>
void whole_run(char* out, const char* const* in, int64_t count) {
  whole_loop<Op, T>(reinterpret_cast<Out*>(out), in, count, std::make_index_sequence<Op::kArity>{});
}

template <typename Op, typename T, typename Out = T>
inline void set_whole(RunTable& table, Body body) {
  table.set(body, kDTypeOf<T>, kDTypeOf<Out>, Op::kArity, &whole_run<Op, T, Out>);
}

template <typename T>
inline void add_whole_runs_of(RunTable& table) {
  set_whole<WholeAbs<T>, T>(table, Body::kAbs);
  set_whole<WholeRelu<T>, T>(table, Body::kRelu);
  set_whole<WholeMul<T>, T>(table, Body::kMul);
  for (const Body body : {Body::kMaximum, Body::kFmax}) set_whole<WholeMax<T>, T>(table, body);
  for (const Body body : {Body::kMinimum, Body::kFmin}) set_whole<WholeMin<T>, T>(table, body);
  set_whole<WholeClamp<T>, T>(table, Body::kClamp);
  set_whole<WholeShift<T, true>, T>(table, Body::kShiftLeft);
  set_whole<WholeShift<T, false>, T>(table, Body::kShiftRight);
  set_whole<WholeEq<T>, T, bool>(table, Body::kEq);
  set_whole<WholeNe<T>, T, bool>(table, Body::kNe);
  set_whole<WholeLt<T>, T, bool>(table, Body::kLt);
  set_whole<WholeLe<T>, T, bool>(table, Body::kLe);
  set_whole<WholeGt<T>, T, bool>(table, Body::kGt);
  set_whole<WholeGe<T>, T, bool>(table, Body::kGe);
}

inline void add_whole_runs(RunTable& table) {
  add_whole_runs_of<int32_t>(table);
  add_whole_runs_of<int64_t>(table);
}
#else
// The base level's are those of runs_integer.cc.
inline void add_whole_runs(RunTable& /*table*/) {}
#endif

}  // namespace tierup::kernels::TIERUP_SIMD
