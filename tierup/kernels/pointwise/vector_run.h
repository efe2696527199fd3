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
// Masks are stored as bools. GCC takes lanes of 32 bits and more apart, one by one, to narrow them.
#if defined(__x86_64__) && TIERUP_VECTOR_BYTES < 64
TIERUP_INLINE __m128i narrowed(Mask<float> mask) {
#if TIERUP_VECTOR_BYTES == 32
  const auto lanes = (__m256i)mask.m;
  return _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
#else
  return _mm_packs_epi32((__m128i)mask.m, (__m128i)mask.m);
#endif
}
TIERUP_INLINE __m128i narrowed(Mask<double> mask) {
#if TIERUP_VECTOR_BYTES == 32
  const auto lanes = (__m256)mask.m;
  const __m128 halves =
      _mm_shuffle_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1), 0x88);
#else
  const __m128 halves = _mm_shuffle_ps((__m128)mask.m, (__m128)mask.m, 0x88);
#endif
  return _mm_packs_epi32(_mm_castps_si128(halves), _mm_castps_si128(halves));
}
template <typename T>
TIERUP_INLINE void store_result(Mask<T> mask, bool* out) {
  const __m128i words = narrowed(mask);
  const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
  __builtin_memcpy(out, &bytes, Vec<T>::kLanes);
}
#else
template <typename T>
TIERUP_INLINE void store_result(Mask<T> mask, bool* out) {
  typedef int8_t Bytes __attribute__((vector_size(Vec<T>::kLanes)));
  const Bytes bytes = __builtin_convertvector(mask.m, Bytes) & 1;
  __builtin_memcpy(out, &bytes, sizeof(bytes));
}
#endif

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

// Of the last vector, lanes beyond the end hold ones. Each input moves by its step, in elements,
// from a vector to the next one.
template <typename Op, typename T, typename Out, size_t... I>
TIERUP_INLINE void vector_loop(Out* out, const T* const* in, const int64_t* steps, int64_t count,
                               std::index_sequence<I...> /*inputs*/) {
  constexpr int64_t kLanes = Vec<T>::kLanes;
  const T* from[] = {in[I]...};
  const int64_t rest = count % kLanes;
  for (const Out* const end = out + (count - rest); out != end; out += kLanes) {
    store_result(Op::apply(Vec<T>::load(from[I])...), out);
    ((from[I] += steps[I]), ...);
  }
  if (rest > 0) store_results(Op::apply(Vec<T>::load_some(from[I], rest)...), out, rest);
}

template <typename Op, typename T, typename Out>
void vector_rows(const BlockRows& rows) {
  constexpr int64_t kLanes = Vec<T>::kLanes;
  alignas(TIERUP_VECTOR_BYTES) T numbers[Op::kArity][kLanes];
  const T* from[Op::kArity];
  int64_t steps[Op::kArity];
  for (int64_t row = 0; row < rows.rows; ++row) {
    for (size_t k = 0; k < Op::kArity; ++k) {
      const auto* first = reinterpret_cast<const T*>(rows.in[k] + row * rows.in_steps[k]);
      from[k] = rows.stands[k] ? numbers[k] : first;
      steps[k] = rows.stands[k] ? 0 : kLanes;
      if (rows.stands[k]) Vec<T>(static_cast<double>(*first)).store(numbers[k]);
    }
    vector_loop<Op, T>(reinterpret_cast<Out*>(rows.out + row * rows.out_step), from, steps,
                       rows.count, std::make_index_sequence<Op::kArity>{});
  }
}

template <typename Op, typename T, typename Out>
void vector_run(char* out, const char* const* in, int64_t count) {
  if constexpr (Op::kArity == 1) {
    const auto* from = reinterpret_cast<const T*>(in[0]);
    const int64_t step = Vec<T>::kLanes;
    vector_loop<Op, T>(reinterpret_cast<Out*>(out), &from, &step, count, std::index_sequence<0>{});
  } else {
    BlockRows row{.out = out,
                  .in = {},
                  .stands = {},
                  .count = count,
                  .rows = 1,
                  .out_step = 0,
                  .in_steps = {}};
    for (size_t k = 0; k < Op::kArity; ++k) row.in[k] = in[k];
    vector_rows<Op, T, Out>(row);
  }
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
  RowsRun rows = nullptr;
  if constexpr (Op::kArity > 1) rows = &vector_rows<Op, T, Out>;
  table.set(body, kDTypeOf<T>, kDTypeOf<Out>, Op::kArity, &vector_run<Op, T, Out>, rows);
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
