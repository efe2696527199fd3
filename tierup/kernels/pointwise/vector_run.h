// Runs made from a scalar body over vector lanes, for the instruction set of the including file.
#pragma once

#include "tierup/kernels/simd/simd.h"

#if defined(TIERUP_EXPRESSION_LANES)
#include "tierup/kernels/pointwise/expression_run.h"
#else
#include <utility>

#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels::TIERUP_SIMD {

template <typename T>
TIERUP_INLINE void store_result(Vec<T> value, T* out) {
  value.store(out);
}
// Masks are stored as bools.
template <typename T>
TIERUP_INLINE void store_result(Mask<T> mask, bool* out) {
  typedef int8_t Bytes __attribute__((vector_size(Vec<T>::kLanes)));
  const Bytes bytes = __builtin_convertvector(mask.m, Bytes) & 1;
  __builtin_memcpy(out, &bytes, sizeof(bytes));
}

// The first `count` of them.
template <typename T>
TIERUP_INLINE void store_results(Vec<T> value, T* out, int64_t count) {
  value.store_some(out, count);
}
template <typename T>
TIERUP_INLINE void store_results(Mask<T> mask, bool* out, int64_t count) {
  bool all[Vec<T>::kLanes];
  store_result(mask, all);
  __builtin_memcpy(out, all, static_cast<size_t>(count));
}

// Of the last vector, lanes beyond the end hold ones.
template <typename Op, typename T, typename Out, size_t... I>
TIERUP_INLINE void vector_loop(Out* out, const char* const* in, int64_t count,
                               std::index_sequence<I...>) {
  constexpr int64_t kLanes = Vec<T>::kLanes;
  const T* from[] = {reinterpret_cast<const T*>(in[I])...};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    store_result(Op::apply(Vec<T>::load(from[I] + i)...), out + i);
  if (whole == count) return;
  const int64_t rest = count - whole;
  store_results(Op::apply(Vec<T>::load_some(from[I] + whole, rest)...), out + whole, rest);
}

template <typename Op, typename T, typename Out>
void vector_run(char* out, const char* const* in, int64_t count) {
  vector_loop<Op, T>(reinterpret_cast<Out*>(out), in, count,
                     std::make_index_sequence<Op::kArity>{});
}

// A choice by bools between elements as wide as T, whatever they are.
template <typename T>
void where_run(char* out, const char* const* in, int64_t count) {
  using Int = typename Vec<T>::Int;
  constexpr int64_t kLanes = Vec<T>::kLanes;
  typedef int8_t Bytes __attribute__((vector_size(kLanes)));
  const T* yes = reinterpret_cast<const T*>(in[1]);
  const T* no = reinterpret_cast<const T*>(in[2]);
  T* to = reinterpret_cast<T*>(out);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Bytes flags;
    __builtin_memcpy(&flags, in[0] + i, sizeof(flags));
    const Mask<T> condition{__builtin_convertvector(-flags, typename Mask<T>::Native)};
    select(condition, Vec<T>::load(yes + i), Vec<T>::load(no + i)).store(to + i);
  }
  for (; i < count; ++i) {
    const char* source = in[0][i] != 0 ? in[1] : in[2];
    Int word;
    __builtin_memcpy(&word, source + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    __builtin_memcpy(out + i * static_cast<int64_t>(sizeof(T)), &word, sizeof(T));
  }
}
template <typename T>
inline void set_where(RunTable& table, ScalarType type) {
  Variant variant;
  variant.run = &where_run<T>;
  variant.arity = 3;
  variant.out = type;
  for (ScalarType& input : variant.in) input = type;
  variant.in[0] = ScalarType::kBool;
  table.set(Body::kWhere, type, variant);
}

template <typename Op, typename T, typename Out>
inline void set_run(RunTable& table, Body body) {
  table.set(body, kDTypeOf<T>, kDTypeOf<Out>, Op::kArity, &vector_run<Op, T, Out>);
}
template <typename Op>
inline void set_real(RunTable& table, Body body) {
  set_run<Op, float, float>(table, body);
  set_run<Op, double, double>(table, body);
}
template <typename Op>
inline void set_float(RunTable& table, Body body) {
  set_run<Op, float, float>(table, body);
}
template <typename Op>
inline void set_real_predicate(RunTable& table, Body body) {
  set_run<Op, float, bool>(table, body);
  set_run<Op, double, bool>(table, body);
}

}  // namespace tierup::kernels::TIERUP_SIMD
#endif
