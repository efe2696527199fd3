// The code of turned_rows.h; each including file is compiled for one instruction set. Everything
// here has internal linkage, so that no variant is merged with another.
//
// Four columns of as many rows as a vector has floats are turned at a time: sixteen bytes of each
// row lie in one quarter of a vector (or half, or all of it), and two steps of shuffles within
// these parts give the columns.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int kPartFloats = 4;  // Of sixteen bytes.

// Four floats from each of `from`, `from + step`, ... side by side.
inline FloatVector load_parts(const float* from, int64_t step) {
#if defined(__AVX512F__)
  const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                          _mm_loadu_ps(from + step), 1);
  const __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + 2 * step)),
                                           _mm_loadu_ps(from + 3 * step), 1);
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#elif defined(__AVX2__)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), _mm_loadu_ps(from + step),
                              1);
#else
  (void)step;
  return load_vector(from);
#endif
}

// Element i of a shuffle within parts: a and b by turns (kSingle), or two by two.
template <bool kSingle, bool kHigh>
constexpr int place_in_part(int i) {
  const int part = i / kPartFloats * kPartFloats;
  const int at = i % kPartFloats;
  const int half = kHigh ? kPartFloats / 2 : 0;
  return kSingle ? at % 2 * kVectorFloats + part + half + at / 2
                 : at / 2 * kVectorFloats + part + half + at % 2;
}
template <bool kSingle, bool kHigh, int... kPlaces>
inline FloatVector shuffle_parts(FloatVector a, FloatVector b,
                                 std::integer_sequence<int, kPlaces...> /*places*/) {
  return __builtin_shufflevector(a, b, place_in_part<kSingle, kHigh>(kPlaces)...);
}
template <bool kSingle, bool kHigh>
inline FloatVector shuffle_parts(FloatVector a, FloatVector b) {
  return shuffle_parts<kSingle, kHigh>(a, b, std::make_integer_sequence<int, kVectorFloats>());
}

// Four columns of kVectorFloats rows; `count` of them, from the `first` one on, are stored.
inline void turn_four(float* to, int64_t to_step, const float* from, int64_t from_step, int first,
                      int count) {
  FloatVector rows[kPartFloats];
#pragma GCC unroll 4
  for (int r = 0; r < kPartFloats; ++r)
    rows[r] = load_parts(from + r * from_step, kPartFloats * from_step);
  const FloatVector low_a = shuffle_parts<true, false>(rows[0], rows[1]);
  const FloatVector high_a = shuffle_parts<true, true>(rows[0], rows[1]);
  const FloatVector low_b = shuffle_parts<true, false>(rows[2], rows[3]);
  const FloatVector high_b = shuffle_parts<true, true>(rows[2], rows[3]);
  const FloatVector columns[kPartFloats] = {
      shuffle_parts<false, false>(low_a, low_b), shuffle_parts<false, true>(low_a, low_b),
      shuffle_parts<false, false>(high_a, high_b), shuffle_parts<false, true>(high_a, high_b)};
#pragma GCC unroll 4
  for (int c = 0; c < kPartFloats; ++c) {
    if (c >= first && c < first + count) store_vector(to + (c - first) * to_step, columns[c]);
  }
}

// Rows of fewer than four columns are read with what follows them, if that is theirs.
void turn(float* to, int64_t to_step, const float* from, int64_t from_step, int64_t rows,
          int64_t columns) {
  const int64_t end = (rows - 1) * from_step + columns;
  int64_t r = 0;
  for (; r + kVectorFloats <= rows; r += kVectorFloats) {
    const float* const block = from + r * from_step;
    if (columns < kPartFloats && (r + kVectorFloats - 1) * from_step + kPartFloats > end) break;
    for (int64_t c = 0; c < columns; c += kPartFloats) {
      const auto count = static_cast<int>(std::min<int64_t>(kPartFloats, columns - c));
      const int first = columns < kPartFloats ? 0 : kPartFloats - count;
      turn_four(to + c * to_step + r, to_step, block + c - first, from_step, first, count);
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];
  }
}

// Lanes that Of::place() names: of the first vector, or behind them of the second.
template <typename Of, int... kLanes>
inline FloatVector pick(FloatVector a, FloatVector b,
                        std::integer_sequence<int, kLanes...> /*lanes*/) {
  return __builtin_shufflevector(a, b, Of::place(kLanes)...);
}
template <typename Of>
inline FloatVector pick(FloatVector a, FloatVector b) {
  return pick<Of>(a, b, std::make_integer_sequence<int, kVectorFloats>());
}
struct Backwards {
  static constexpr int place(int lane) { return kVectorFloats - 1 - lane; }
};
struct EverySecond {
  static constexpr int place(int lane) { return 2 * lane; }
};
// Of three vectors: the lanes that the first two have; then the third's beside these.
struct EveryThirdOfTwo {
  static constexpr int place(int lane) { return 3 * lane < 2 * kVectorFloats ? 3 * lane : 0; }
};
struct EveryThirdOfThird {
  static constexpr int place(int lane) {
    return 3 * lane < 2 * kVectorFloats ? lane : 3 * lane - kVectorFloats;
  }
};

template <int kStep>
inline FloatVector every(const float* from) {
  const auto vector = [&](int i) { return load_vector(from + i * kVectorFloats); };
  if constexpr (kStep == 2) {
    return pick<EverySecond>(vector(0), vector(1));
  } else if constexpr (kStep == 3) {
    return pick<EveryThirdOfThird>(pick<EveryThirdOfTwo>(vector(0), vector(1)), vector(2));
  } else {
    static_assert(kStep == 4);
    return pick<EverySecond>(every<2>(from), every<2>(from + 2 * kVectorFloats));
  }
}

// How many were taken: whole vectors that end before the last number.
template <int kStep>
inline int64_t take_vectors(float* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + kVectorFloats < count; i += kVectorFloats)
    store_vector(to + i, every<kStep>(from + i * kStep));
  return i;
}

inline int64_t take_backwards(float* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats) {
    const FloatVector vector = load_vector(from - i - (kVectorFloats - 1));
    store_vector(to + i, pick<Backwards>(vector, vector));
  }
  return i;
}

void take(float* to, const float* from, int64_t step, int64_t count) {
  int64_t i = 0;
  switch (step) {
    case -1: i = take_backwards(to, from, count); break;
    case 2: i = take_vectors<2>(to, from, count); break;
    case 3: i = take_vectors<3>(to, from, count); break;
    case 4: i = take_vectors<4>(to, from, count); break;
    default: break;
  }
  for (; i < count; ++i) to[i] = from[i * step];
}

// Lane l of the kOut-th vector of numbers that come from kParts vectors by turns; of two parts, or
// of three, where the first two are together already.
template <int kOut>
struct ByTurns {
  static constexpr int place(int lane) {
    const int at = kOut * kVectorFloats + lane;
    return at % 2 * kVectorFloats + at / 2;
  }
};
template <int kOut>
struct TwoOfThree {
  static constexpr int place(int lane) {
    const int at = kOut * kVectorFloats + lane;
    return at % 3 == 1 ? kVectorFloats + at / 3 : at / 3;
  }
};
template <int kOut>
struct ThirdOfThree {
  static constexpr int place(int lane) {
    const int at = kOut * kVectorFloats + lane;
    return at % 3 == 2 ? kVectorFloats + at / 3 : lane;
  }
};
template <int kOut>
inline FloatVector woven(FloatVector a, FloatVector b, FloatVector c) {
  return pick<ThirdOfThree<kOut>>(pick<TwoOfThree<kOut>>(a, b), c);
}

template <int kParts>
inline void weave_vectors(float* to, const FloatVector* parts) {
  const auto store = [&](int i, FloatVector vector) {
    store_vector(to + i * kVectorFloats, vector);
  };
  if constexpr (kParts == 2) {
    store(0, pick<ByTurns<0>>(parts[0], parts[1]));
    store(1, pick<ByTurns<1>>(parts[0], parts[1]));
  } else if constexpr (kParts == 3) {
    store(0, woven<0>(parts[0], parts[1], parts[2]));
    store(1, woven<1>(parts[0], parts[1], parts[2]));
    store(2, woven<2>(parts[0], parts[1], parts[2]));
  } else {
    static_assert(kParts == 4);
    const FloatVector halves[2][2] = {
        {pick<ByTurns<0>>(parts[0], parts[2]), pick<ByTurns<0>>(parts[1], parts[3])},
        {pick<ByTurns<1>>(parts[0], parts[2]), pick<ByTurns<1>>(parts[1], parts[3])}};
    weave_vectors<2>(to, halves[0]);
    weave_vectors<2>(to + 2 * kVectorFloats, halves[1]);
  }
}

template <int kParts>
void weave_parts(float* to, const float* const* from, int64_t count) {
  int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats) {
    FloatVector parts[kParts];
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) parts[p] = load_vector(from[p] + i);
    weave_vectors<kParts>(to + i * kParts, parts);
  }
  for (; i < count; ++i) {
    for (int p = 0; p < kParts; ++p) to[i * kParts + p] = from[p][i];
  }
}

void weave(float* to, const float* const* from, int64_t parts, int64_t count) {
  switch (parts) {
    case 2: return weave_parts<2>(to, from, count);
    case 3: return weave_parts<3>(to, from, count);
    default: return weave_parts<4>(to, from, count);
  }
}

}  // namespace
}  // namespace tierup::kernels
