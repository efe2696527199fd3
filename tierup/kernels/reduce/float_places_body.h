// The searching and ordering half of float_folds_body.h: where numbers are, and their order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/float_lanes_body.h"

namespace tierup::kernels {
namespace {

// A vector of columns and where their best numbers are. False, with nothing done, if one is NaN.
template <bool kMax>
bool find_numbers(const float* x, int64_t rows, int64_t stride, int32_t first, float* best,
                  int32_t* place) {
  constexpr int kWidth = 16;
  using Columns = Floats<kWidth>;
  typedef int32_t Places __attribute__((vector_size(sizeof(typename Columns::Part))));
  Columns top = Columns::load(best);
  Places at[Columns::kParts];
  std::memcpy(&at, place, sizeof(at));
  NanWatch<kWidth> watch;
  watch.look_at(top);
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    const Columns row = Columns::load(x);
    watch.look_at(row);
    const Places here = Places{} + (first + static_cast<int32_t>(r));
    for_each<Columns::kParts>([&](auto i) TIERUP_INLINED {
      const auto takes = kMax ? row.part[i] > top.part[i] : row.part[i] < top.part[i];
      top.part[i] = takes ? row.part[i] : top.part[i];
      at[i] = takes ? here : at[i];
    });
  }
  if (watch.found()) return false;
  top.store(best);
  std::memcpy(place, &at, sizeof(at));
  return true;
}

template <bool kMax>
void find_in_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, int32_t first,
                     float* best, int32_t* place) {
  constexpr int64_t kWidth = 16;
  for (int64_t j = 0; j < columns; j += kWidth) {
    const bool is_whole = j + kWidth <= columns;
    if (is_whole && find_numbers<kMax>(x + j, rows, stride, first, best + j, place + j)) continue;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x + r * stride;
      for (int64_t k = j; k < std::min(j + kWidth, columns); ++k) {
        const bool is_better = kMax ? row[k] > best[k] : row[k] < best[k];
        if (best[k] != best[k] || !(is_better || row[k] != row[k])) continue;
        best[k] = row[k];
        place[k] = first + static_cast<int32_t>(r);
      }
    }
  }
}

// A bit for each number that is not at most (not at least) `bound`.
template <bool kAbove>
TIERUP_INLINE uint32_t outside(FloatVector x, FloatVector bound) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(x, bound, kAbove ? _CMP_NLE_UQ : _CMP_NGE_UQ);
#elif defined(__AVX2__)
  return static_cast<uint32_t>(
      _mm256_movemask_ps(_mm256_cmp_ps(x, bound, kAbove ? _CMP_NLE_UQ : _CMP_NGE_UQ)));
#else
  uint32_t bits = 0;
  for (uint32_t j = 0; j < kVectorFloats; ++j)
    bits |= static_cast<uint32_t>(kAbove ? !(x[j] <= bound[j]) : !(x[j] >= bound[j])) << j;
  return bits;
#endif
}

template <bool kAbove>
int64_t first_outside(const float* x, int64_t n, float bound) {
  FloatVector bounds;
  for (int j = 0; j < kVectorFloats; ++j) bounds[j] = bound;
  int64_t i = 0;
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    const uint32_t bits = outside<kAbove>(load_vector(x + i), bounds);
    if (bits != 0) return i + std::countr_zero(bits);
  }
  for (; i < n; ++i) {
    if (kAbove ? !(x[i] <= bound) : !(x[i] >= bound)) return i;
  }
  return n;
}

// A bit for each number that equals `value`, or of which neither is a number.
TIERUP_INLINE uint32_t equal(FloatVector x, FloatVector value) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(x, value, _CMP_EQ_OQ) |
         (_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) & _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
#elif defined(__AVX2__)
  const __m256 both =
      _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return static_cast<uint32_t>(
      _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(x, value, _CMP_EQ_OQ), both)));
#else
  uint32_t bits = 0;
  for (uint32_t j = 0; j < kVectorFloats; ++j) {
    const bool is_same = x[j] == value[j] || (x[j] != x[j] && value[j] != value[j]);
    bits |= static_cast<uint32_t>(is_same) << j;
  }
  return bits;
#endif
}

int64_t first_equal(const float* x, int64_t n, float value) {
  FloatVector values;
  for (int j = 0; j < kVectorFloats; ++j) values[j] = value;
  int64_t i = 0;
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    const uint32_t bits = equal(load_vector(x + i), values);
    if (bits != 0) return i + std::countr_zero(bits);
  }
  for (; i < n; ++i) {
    if (x[i] == value || (x[i] != x[i] && value != value)) return i;
  }
  return n;
}

typedef int32_t PlaceLanes __attribute__((vector_size(kVectorBytes)));

inline PlaceLanes load_ints(const int32_t* from, int64_t count) {
  PlaceLanes result{};
  if (count == kVectorFloats) {
    std::memcpy(&result, from, sizeof(result));
  } else {
    std::memcpy(&result, from, static_cast<size_t>(count) * sizeof(int32_t));
  }
  return result;
}

// Keys by vectors; comparisons give -1 where they hold.
void rank(const int32_t* keys, int64_t n, int32_t* places) {
  int32_t steps[2 * kVectorFloats] = {};
  std::fill_n(steps + kVectorFloats, kVectorFloats, -1);
  for (int64_t i = 0; i < n; i += kVectorFloats) {
    const int64_t count = n - i < kVectorFloats ? n - i : kVectorFloats;
    const PlaceLanes own = load_ints(keys + i, count);
    PlaceLanes minus{};
    for (int64_t j = 0; j < i; ++j) minus += keys[j] <= own;
    for (int64_t j = 0; j < count; ++j) {
      const PlaceLanes is_behind = load_ints(steps + kVectorFloats - 1 - j, kVectorFloats);
      minus += (keys[i + j] < own) | ((keys[i + j] == own) & is_behind);
    }
    for (int64_t j = i + count; j < n; ++j) minus += keys[j] < own;
    const PlaceLanes before = -minus;
    std::memcpy(places + i, &before, static_cast<size_t>(count) * sizeof(int32_t));
  }
}

// Keys of the rows `low` and `high` of some columns in order.
TIERUP_INLINE void put_in_order(int64_t* low, int64_t* high) {
  typedef int64_t Keys __attribute__((vector_size(kVectorBytes)));
  for (int64_t j = 0; j < FloatFolds::kSortedColumns; j += kVectorBytes / 8) {
    Keys a;
    Keys b;
    std::memcpy(&a, low + j, sizeof(a));
    std::memcpy(&b, high + j, sizeof(b));
    const Keys least = a < b ? a : b;
    const Keys most = a < b ? b : a;
    std::memcpy(low + j, &least, sizeof(least));
    std::memcpy(high + j, &most, sizeof(most));
  }
}

// Batcher's merge exchange (Knuth, The Art of Computer Programming, volume 3, 5.2.2, algorithm M):
// which rows are compared does not depend on the keys.
void sort_columns(int64_t* keys, int64_t rows) {
  constexpr int64_t kColumns = FloatFolds::kSortedColumns;
  if (rows < 2) return;
  const auto start = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)) / 2);
  for (int64_t p = start; p > 0; p /= 2) {
    int64_t apart = p;
    int64_t wanted = 0;
    for (int64_t q = start;; q /= 2) {
      for (int64_t i = 0; i + apart < rows; ++i) {
        if ((i & p) == wanted) put_in_order(keys + i * kColumns, keys + (i + apart) * kColumns);
      }
      if (q == p) break;
      apart = q - p;
      wanted = p;
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
