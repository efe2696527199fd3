// The f32 row kernels; compiled once per instruction set by row_kernels_{base,avx2,avx512}.cc.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>

#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels {
namespace {

// Calls body(index, count) for pieces of sixteen, the last perhaps shorter.
template <typename Body>
inline void for_pieces(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, int64_t{kLanes});
  if (i < n) body(i, n - i);
}
inline Lanes load_piece(const float* x, int64_t count, float rest) {
  return count == kLanes ? load(x) : load_some(x, count, rest);
}
inline void store_piece(float* y, const Lanes& lanes, int64_t count) {
  if (count == kLanes) {
    store(y, lanes);
  } else {
    store_some(y, lanes, count);
  }
}

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// body(index, count, way) for pieces of which four are under way at a time, in ways of their own.
template <typename Body>
inline void for_pieces_in_ways(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int way = 0; way < 4; ++way) body(i + way * kLanes, int64_t{kLanes}, way);
  }
  for (int way = 0; i < n; i += kLanes, ++way) body(i, n - i < kLanes ? n - i : kLanes, way);
}

// A sum over pieces with four independent accumulators; value(lanes of one piece) must map the
// padding to 0.
template <typename Value>
inline float sum_pieces(const float* x, int64_t n, float rest, const Value& value) {
  Lanes sums[4] = {broadcast(0), broadcast(0), broadcast(0), broadcast(0)};
  for_pieces_in_ways(n, [&](int64_t i, int64_t count, int way) {
    sums[way] = sums[way] + value(load_piece(x + i, count, rest));
  });
  return sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

float row_max(const float* x, int64_t n) {
  Lanes best[4];
  for (Lanes& lanes : best) lanes = broadcast(kLowest);
  for_pieces_in_ways(n, [&](int64_t i, int64_t count, int way) {
    best[way] = larger(load_piece(x + i, count, kLowest), best[way]);
  });
  return max_of_lanes(larger(larger(best[0], best[1]), larger(best[2], best[3])));
}

void row_max_into(const float* x, int64_t n, float* y) {
  for_pieces(n, [&](int64_t i, int64_t count) {
    store_piece(y + i, larger(load_piece(x + i, count, 0), load_piece(y + i, count, 0)), count);
  });
}

float row_exp_shifted(float* x, int64_t n, float shift) {
  const Lanes offset = broadcast(shift);
  Lanes sum = broadcast(0);
  for_pieces(n, [&](int64_t i, int64_t count) {
    const Lanes e = exp_lanes(load_piece(x + i, count, kLowest) - offset);
    store_piece(x + i, e, count);
    sum = sum + e;
  });
  return sum_of_lanes(sum);
}

float row_sum(const float* x, int64_t n) {
  return sum_pieces(x, n, 0, [](const Lanes& v) { return v; });
}

float row_sum_of_squares(const float* x, int64_t n) {
  return sum_pieces(x, n, 0, [](const Lanes& v) { return v * v; });
}

void row_moments(const float* x, int64_t n, float* mean, float* variance) {
  const float center = row_sum(x, n) / static_cast<float>(n);
  const Lanes offset = broadcast(center);
  *mean = center;
  *variance = sum_pieces(x, n, center,
                         [&](const Lanes& v) {
                           const Lanes d = v - offset;
                           return d * d;
                         }) /
              static_cast<float>(n);
}

void row_sigmoid(float* x, int64_t n) {
  const Lanes one = broadcast(1);
  for_pieces(n, [&](int64_t i, int64_t count) {
    store_piece(x + i, one / (one + exp_lanes(broadcast(0) - load_piece(x + i, count, 0))), count);
  });
}

void row_tanh(float* x, int64_t n) {
  for_pieces(n, [&](int64_t i, int64_t count) {
    store_piece(x + i, tanh_lanes(load_piece(x + i, count, 0)), count);
  });
}

void row_gate(const float* x, const float* gate, int64_t n, float* y) {
  const Lanes one = broadcast(1);
  for_pieces(n, [&](int64_t i, int64_t count) {
    const Lanes opening = one / (one + exp_lanes(broadcast(0) - load_piece(gate + i, count, 0)));
    store_piece(y + i, load_piece(x + i, count, 0) * opening, count);
  });
}

void row_scale(const float* x, int64_t n, float scale, float* y) {
  const Lanes factor = broadcast(scale);
  for_pieces(n, [&](int64_t i, int64_t count) {
    store_piece(y + i, load_piece(x + i, count, 0) * factor, count);
  });
}

void row_affine(const float* x, int64_t n, float scale, float shift, float* y) {
  const Lanes factor = broadcast(scale);
  const Lanes offset = broadcast(shift);
  for_pieces(n, [&](int64_t i, int64_t count) {
    store_piece(y + i, load_piece(x + i, count, 0) * factor + offset, count);
  });
}

template <bool kHasGamma, bool kHasBeta>
void normalize_pieces(const float* x, int64_t n, float mean, float rstd, const float* gamma,
                      const float* beta, float* y) {
  const Lanes offset = broadcast(mean);
  const Lanes factor = broadcast(rstd);
  for_pieces(n, [&](int64_t i, int64_t count) {
    Lanes v = (load_piece(x + i, count, 0) - offset) * factor;
    if constexpr (kHasGamma) v = v * load_piece(gamma + i, count, 0);
    if constexpr (kHasBeta) v = v + load_piece(beta + i, count, 0);
    store_piece(y + i, v, count);
  });
}

void row_normalize(const float* x, int64_t n, float mean, float rstd, const float* gamma,
                   const float* beta, float* y) {
  if (gamma != nullptr && beta != nullptr)
    return normalize_pieces<true, true>(x, n, mean, rstd, gamma, beta, y);
  if (gamma != nullptr) return normalize_pieces<true, false>(x, n, mean, rstd, gamma, beta, y);
  if (beta != nullptr) return normalize_pieces<false, true>(x, n, mean, rstd, gamma, beta, y);
  normalize_pieces<false, false>(x, n, mean, rstd, gamma, beta, y);
}

void row_affine_by_column(const float* x, int64_t n, const float* scale, const float* shift,
                          float* y) {
  for_pieces(n, [&](int64_t i, int64_t count) {
    store_piece(y + i,
                load_piece(x + i, count, 0) * load_piece(scale + i, count, 0) +
                    load_piece(shift + i, count, 0),
                count);
  });
}

// The logarithm of a sum of exponentials of which the largest is 1: a number of at least 1,
// infinity or NaN. log x = n ln 2 + log(1 + f) as in simd_exponential.h.
TIERUP_INLINE LaneVector log_of_sum(LaneVector sum) {
  const auto constant = [](float value) { return value - LaneVector{}; };
  const LaneInts root = reinterpret_cast<LaneInts>(constant(0.70710678F));
  const LaneInts n = (reinterpret_cast<LaneInts>(sum) - root) >> 23;
  const LaneInts mantissa = reinterpret_cast<LaneInts>(sum) - (n << 23);
  const LaneVector f = reinterpret_cast<LaneVector>(mantissa) - 1.0F;
  const LaneVector square = f * f;
  const LaneVector exponent = __builtin_convertvector(n, LaneVector);
  const auto pair = [&](float low, float high) {
    return multiply_add(constant(high), f, constant(low));
  };
  LaneVector q = multiply_add(pair(0x1.af581ep-4F, -0x1.fc06e2p-5F), square,
                              pair(0x1.c41b8cp-4F, -0x1.b4116ap-4F));
  q = multiply_add(q, square, pair(0x1.249688p-3F, -0x1.fdfb82p-4F));
  q = multiply_add(q, square, pair(0x1.9999a8p-3F, -0x1.555c54p-3F));
  q = multiply_add(q, square, pair(0x1.555556p-2F, -0x1.fffff2p-3F));
  const LaneVector low = exponent * -2.12194440e-4F;
  const LaneVector cubic = multiply_add(square * f, q, low);
  const LaneVector near = f + multiply_add(square, constant(-0.5F), cubic);
  const LaneVector inside = multiply_add(exponent, constant(0.693359375F), near);
  return sum < std::numeric_limits<float>::infinity() ? inside : sum;
}
TIERUP_INLINE Lanes log_of_sums(const Lanes& sums) {
  return each_part([&](auto i) TIERUP_INLINED { return log_of_sum(sums.part[i]); });
}

// Some rows side by side, in steps that each take all of them: what is done across the lanes of one
// row takes as long as a hundred of its numbers do, and a processor begins the next rows meanwhile.
template <bool kLog>
void rows_softmax(const float* x, int64_t rows, int64_t n, float* y) {
  for_pieces(rows, [&](int64_t first, int64_t count) {
    const float* from = x + first * n;
    float* to = y + first * n;
    float top[kLanes];
    float sum[kLanes] = {};
    for (int64_t r = 0; r < count; ++r) top[r] = row_max(from + r * n, n);
    for (int64_t r = 0; r < count; ++r) {
      const Lanes offset = broadcast(top[r]);
      Lanes sums[4] = {broadcast(0), broadcast(0), broadcast(0), broadcast(0)};
      for_pieces_in_ways(n, [&](int64_t i, int64_t width, int way) {
        const Lanes e = exp_lanes(load_piece(from + r * n + i, width, kLowest) - offset);
        if constexpr (!kLog) store_piece(to + r * n + i, e, width);
        sums[way] = sums[way] + e;
      });
      sum[r] = sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    const Lanes all = load_some(sum, count, 1);
    store(sum, kLog ? log_of_sums(all) : broadcast(1) / all);
    for (int64_t r = 0; r < count; ++r) {
      if constexpr (kLog) {
        const Lanes offset = broadcast(top[r]);
        const Lanes log_sum = broadcast(sum[r]);
        for_pieces(n, [&](int64_t i, int64_t width) {
          const Lanes shifted = load_piece(from + r * n + i, width, 0) - offset;
          store_piece(to + r * n + i, shifted - log_sum, width);
        });
      } else {
        row_scale(to + r * n, n, sum[r], to + r * n);
      }
    }
  });
}

// Dense rows of fewer columns than there are lanes, piece by piece over the whole: after `period`
// pieces a lane meets its column again.
class NarrowColumns {
 public:
  explicit NarrowColumns(int64_t columns)
      : columns_(columns), period_(columns / std::gcd(columns, int64_t{kLanes})) {}

  // What is seen through the lanes of each place within the period.
  struct Places {
    Lanes lanes[kLanes];
  };
  Places all(float value) const {
    Places places;
    for (int64_t p = 0; p < period_; ++p) places.lanes[p] = broadcast(value);
    return places;
  }

  // body(index, count, place) for all pieces of so many rows.
  template <typename Body>
  void for_each_piece(int64_t rows, const Body& body) const {
    int64_t place = 0;
    for_pieces(rows * columns_, [&](int64_t i, int64_t count) {
      body(i, count, place);
      place = place + 1 == period_ ? 0 : place + 1;
    });
  }

  template <typename Change>
  void change(Places& places, const Change& change) const {
    for (int64_t p = 0; p < period_; ++p) places.lanes[p] = change(places.lanes[p]);
  }

  // Of each column one number, which all its lanes then have.
  template <typename Merge>
  void fold(Places& places, const Merge& merge) const {
    float numbers[kLanes * kLanes];
    for (int64_t p = 0; p < period_; ++p) store(numbers + p * kLanes, places.lanes[p]);
    for (int64_t j = 0; j < columns_; ++j) {
      float folded = numbers[j];
      for (int64_t k = j + columns_; k < period_ * kLanes; k += columns_)
        folded = merge(folded, numbers[k]);
      for (int64_t k = j; k < period_ * kLanes; k += columns_) numbers[k] = folded;
    }
    for (int64_t p = 0; p < period_; ++p) places.lanes[p] = load(numbers + p * kLanes);
  }

 private:
  const int64_t columns_;
  const int64_t period_;
};

template <bool kLog>
void narrow_softmax(const float* x, int64_t rows, int64_t n, float* y) {
  const NarrowColumns narrow(n);
  NarrowColumns::Places top = narrow.all(kLowest);
  narrow.for_each_piece(rows, [&](int64_t i, int64_t count, int64_t place) {
    top.lanes[place] = larger(load_piece(x + i, count, kLowest), top.lanes[place]);
  });
  narrow.fold(top, [](float a, float b) { return a > b || a != a ? a : b; });
  NarrowColumns::Places sum = narrow.all(0);
  narrow.for_each_piece(rows, [&](int64_t i, int64_t count, int64_t place) {
    const Lanes shifted = load_piece(x + i, count, kLowest) - top.lanes[place];
    const Lanes e = exp_lanes(shifted);
    store_piece(y + i, kLog ? shifted : e, count);
    sum.lanes[place] = sum.lanes[place] + e;
  });
  narrow.fold(sum, [](float a, float b) { return a + b; });
  narrow.change(sum, [](const Lanes& v) { return kLog ? log_of_sums(v) : broadcast(1) / v; });
  narrow.for_each_piece(rows, [&](int64_t i, int64_t count, int64_t place) {
    const Lanes numbers = load_piece(y + i, count, 0);
    store_piece(y + i, kLog ? numbers - sum.lanes[place] : numbers * sum.lanes[place], count);
  });
}

// Sixteen columns at a time, three passes down the rows.
template <bool kLog>
void columns_softmax(const float* x, int64_t rows, int64_t stride, int64_t n, float* y) {
  if (stride == n && n < kLanes) return narrow_softmax<kLog>(x, rows, n, y);
  for_pieces(n, [&](int64_t i, int64_t count) {
    Lanes top = broadcast(kLowest);
    for (int64_t r = 0; r < rows; ++r) top = larger(load_piece(x + r * stride + i, count, 0), top);
    Lanes sum = broadcast(0);
    for (int64_t r = 0; r < rows; ++r) {
      const Lanes shifted = load_piece(x + r * stride + i, count, 0) - top;
      const Lanes e = exp_lanes(shifted);
      store_piece(y + r * stride + i, kLog ? shifted : e, count);
      sum = sum + e;
    }
    if constexpr (kLog) {
      const Lanes log_sum = log_of_sums(sum);
      for (int64_t r = 0; r < rows; ++r) {
        float* target = y + r * stride + i;
        store_piece(target, load_piece(target, count, 0) - log_sum, count);
      }
    } else {
      const Lanes factor = broadcast(1) / sum;
      for (int64_t r = 0; r < rows; ++r) {
        float* target = y + r * stride + i;
        store_piece(target, load_piece(target, count, 0) * factor, count);
      }
    }
  });
}

// `other` where `first` is finite or NaN, and `first` where it is infinite.
TIERUP_INLINE Lanes finite_or_first(const Lanes& first, const Lanes& other) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return each_part([&](auto i) TIERUP_INLINED {
    const LaneVector x = first.part[i];
    return (x == kInfinity) | (x == -kInfinity) ? x : other.part[i];
  });
}

// As rows_softmax.
void rows_log_sum_exp(const float* x, int64_t rows, int64_t n, float* y) {
  for_pieces(rows, [&](int64_t first, int64_t count) {
    const float* from = x + first * n;
    float top[kLanes];
    float sum[kLanes];
    for (int64_t r = 0; r < count; ++r) top[r] = row_max(from + r * n, n);
    for (int64_t r = 0; r < count; ++r) {
      const Lanes offset = broadcast(top[r]);
      sum[r] = sum_pieces(from + r * n, n, kLowest,
                          [&](const Lanes& v) { return exp_lanes(v - offset); });
    }
    const Lanes tops = load_some(top, count, 0);
    const Lanes total = tops + log_of_sums(load_some(sum, count, 1));
    store_piece(y + first, finite_or_first(tops, total), count);
  });
}

// Four registers of columns at a time, so that exponentials do not wait for each other.
template <int kParts>
void log_sum_exp_of_parts(const float* x, int64_t rows, int64_t stride, int64_t last, float* y) {
  const auto piece = [&](int64_t r, int j) {
    return load_piece(x + r * stride + j * kLanes, j + 1 == kParts ? last : int64_t{kLanes}, 0);
  };
  Lanes top[kParts];
  Lanes sum[kParts];
  for (int j = 0; j < kParts; ++j) top[j] = broadcast(kLowest);
  for (int64_t r = 0; r < rows; ++r) {
    for (int j = 0; j < kParts; ++j) top[j] = larger(piece(r, j), top[j]);
  }
  for (int j = 0; j < kParts; ++j) sum[j] = broadcast(0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int j = 0; j < kParts; ++j) sum[j] = sum[j] + exp_lanes(piece(r, j) - top[j]);
  }
  for (int j = 0; j < kParts; ++j) {
    const Lanes total = top[j] + log_of_sums(sum[j]);
    store_piece(y + j * kLanes, finite_or_first(top[j], total),
                j + 1 == kParts ? last : int64_t{kLanes});
  }
}

void columns_log_sum_exp(const float* x, int64_t rows, int64_t stride, int64_t n, float* y) {
  constexpr int kParts = 4;
  int64_t i = 0;
  for (; i + kParts * kLanes <= n; i += kParts * kLanes)
    log_sum_exp_of_parts<kParts>(x + i, rows, stride, kLanes, y + i);
  for_pieces(n - i, [&](int64_t at, int64_t count) {
    log_sum_exp_of_parts<1>(x + i + at, rows, stride, count, y + i + at);
  });
}

// Of a piece of columns; two sums are under way.
template <typename Value>
TIERUP_INLINE Lanes sum_down(const float* x, int64_t rows, int64_t stride, int64_t count,
                             const Value& value) {
  Lanes sums[2] = {broadcast(0), broadcast(0)};
  int64_t r = 0;
  for (; r + 2 <= rows; r += 2) {
    sums[0] = sums[0] + value(load_piece(x + r * stride, count, 0));
    sums[1] = sums[1] + value(load_piece(x + (r + 1) * stride, count, 0));
  }
  if (r < rows) sums[0] = sums[0] + value(load_piece(x + r * stride, count, 0));
  return sums[0] + sums[1];
}

void columns_normalize(float* x, int64_t rows, int64_t stride, int64_t n, float eps,
                       const float* gamma, const float* beta, float* mean, float* rstd) {
  const Lanes size = broadcast(static_cast<float>(rows));
  for_pieces(n, [&](int64_t i, int64_t count) {
    const Lanes center =
        sum_down(x + i, rows, stride, count, [](const Lanes& v) TIERUP_INLINED { return v; }) /
        size;
    const auto square = [&](const Lanes& v) TIERUP_INLINED {
      const Lanes d = v - center;
      return d * d;
    };
    const Lanes variance = sum_down(x + i, rows, stride, count, square) / size;
    const Lanes scale = broadcast(1) / square_root(variance + broadcast(eps));
    for (int64_t r = 0; r < rows; ++r) {
      float* row = x + r * stride + i;
      Lanes v = (load_piece(row, count, 0) - center) * scale;
      if (gamma != nullptr) v = v * broadcast(gamma[r]);
      if (beta != nullptr) v = v + broadcast(beta[r]);
      store_piece(row, v, count);
    }
    store_piece(mean + i, center, count);
    store_piece(rstd + i, scale, count);
  });
}

constexpr RowKernels<float> kRowKernels{
    .max = &row_max,
    .max_into = &row_max_into,
    .exp_shifted = &row_exp_shifted,
    .sum = &row_sum,
    .sum_of_squares = &row_sum_of_squares,
    .moments = &row_moments,
    .sigmoid = &row_sigmoid,
    .tanh = &row_tanh,
    .gate = &row_gate,
    .scale = &row_scale,
    .affine = &row_affine,
    .normalize = &row_normalize,
    .affine_by_column = &row_affine_by_column,
    .softmax = &rows_softmax<false>,
    .log_softmax = &rows_softmax<true>,
    .softmax_columns = &columns_softmax<false>,
    .log_softmax_columns = &columns_softmax<true>,
    .log_sum_exp = &rows_log_sum_exp,
    .log_sum_exp_columns = &columns_log_sum_exp,
};

}  // namespace
}  // namespace tierup::kernels
