// The f32 gradient rows; compiled once per instruction set by gradient_rows_{base,avx2,avx512}.cc.
#pragma once

#include "tierup/kernels/norm/gradient_rows.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels {
namespace {

constexpr int kWide = 8;
typedef float Narrow8 __attribute__((vector_size(kWide * sizeof(float))));
typedef double Wide8 __attribute__((vector_size(kWide * sizeof(double))));

inline Narrow8 load8(const float* x, int64_t count) {
  Narrow8 lanes = {};
  std::memcpy(&lanes, x, static_cast<size_t>(count) * sizeof(float));
  return lanes;
}

inline double sum8(const Wide8& lanes) {
  double total = 0;
  for (int j = 0; j < kWide; ++j) total += lanes[j];
  return total;
}

template <bool kScaled>
inline void add_sums(const float* g, const float* gamma, const float* x, int64_t n, float center,
                     double* of_g, double* of_gx) {
  Wide8 sum = {};
  Wide8 sum_x = {};
  const auto step = [&](int64_t i, int64_t count) {
    Narrow8 scaled = load8(g + i, count);
    if constexpr (kScaled) scaled = scaled * load8(gamma + i, count);
    Narrow8 product = scaled * (load8(x + i, count) - center);
    for (int64_t j = count; j < kWide; ++j) product[j] = 0;  // Where the center is no number.
    sum += __builtin_convertvector(scaled, Wide8);
    sum_x += __builtin_convertvector(product, Wide8);
  };
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) step(i, kWide);
  if (i < n) step(i, n - i);
  *of_g += sum8(sum);
  *of_gx += sum8(sum_x);
}

void gradient_sums(const float* g, const float* x, int64_t n, float center, double* of_g,
                   double* of_gx) {
  add_sums<false>(g, nullptr, x, n, center, of_g, of_gx);
}

void gradient_scaled_sums(const float* g, const float* gamma, const float* x, int64_t n,
                          float center, double* of_g, double* of_gx) {
  add_sums<true>(g, gamma, x, n, center, of_g, of_gx);
}

// Calls body(index, count) for pieces of sixteen, the last perhaps shorter.
template <typename Body>
inline void for_lanes(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, int64_t{kLanes});
  if (i < n) body(i, n - i);
}
inline Lanes load_count(const float* x, int64_t count) {
  return count == kLanes ? load(x) : load_some(x, count, 0);
}
inline void store_count(float* y, const Lanes& lanes, int64_t count) {
  if (count == kLanes) {
    store(y, lanes);
  } else {
    store_some(y, lanes, count);
  }
}

void gradient_combine(const float* g, const float* x, int64_t n, const AffineGradient<float>& a,
                      float* dx) {
  const Lanes center = broadcast(a.center);
  const Lanes scale = broadcast(a.scale);
  const Lanes shift = broadcast(a.shift);
  const Lanes slope = broadcast(a.slope);
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes value = load_count(g + i, count) * scale - shift;
    store_count(dx + i, value - (load_count(x + i, count) - center) * slope, count);
  });
}

template <bool kScaled>
inline void combine_scaled(const float* g, const float* gamma, const float* x, int64_t n,
                           const AffineGradient<float>& a, float* dx) {
  const Lanes center = broadcast(a.center);
  const Lanes rstd = broadcast(a.scale);
  const Lanes shift = broadcast(a.shift);
  const Lanes slope = broadcast(a.slope);
  for_lanes(n, [&](int64_t i, int64_t count) {
    Lanes scaled = load_count(g + i, count);
    if constexpr (kScaled) scaled = scaled * load_count(gamma + i, count);
    const Lanes value = scaled - shift - (load_count(x + i, count) - center) * slope;
    store_count(dx + i, rstd * value, count);
  });
}

void gradient_combine_scaled(const float* g, const float* gamma, const float* x, int64_t n,
                             const AffineGradient<float>& a, float* dx) {
  if (gamma != nullptr) return combine_scaled<true>(g, gamma, x, n, a, dx);
  combine_scaled<false>(g, gamma, x, n, a, dx);
}

inline void add8(double* sums, const Narrow8& values, int64_t count) {
  const Wide8 wide = __builtin_convertvector(values, Wide8);
  Wide8 total = {};
  const size_t bytes = static_cast<size_t>(count) * sizeof(double);
  std::memcpy(&total, sums, bytes);
  total += wide;
  std::memcpy(sums, &total, bytes);
}

void gradient_add_columns(const float* g, const float* x, int64_t n, float mean, float rstd,
                          double* of_weight, double* of_bias) {
  const auto step = [&](int64_t i, int64_t count) {
    const Narrow8 lanes = load8(g + i, count);
    add8(of_weight + i, lanes * (load8(x + i, count) - mean) * rstd, count);
    add8(of_bias + i, lanes, count);
  };
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) step(i, kWide);
  if (i < n) step(i, n - i);
}

void gradient_add_column_sums(const float* g, const float* x, int64_t n, const float* center,
                              double* of_g, double* of_gx) {
  const auto step = [&](int64_t i, int64_t count) {
    const Narrow8 lanes = load8(g + i, count);
    add8(of_g + i, lanes, count);
    add8(of_gx + i, lanes * (load8(x + i, count) - load8(center + i, count)), count);
  };
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) step(i, kWide);
  if (i < n) step(i, n - i);
}

void gradient_combine_columns(const float* g, const float* x, int64_t n,
                              const AffineColumns<float>& a, float* dx) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes value =
        load_count(g + i, count) * load_count(a.scale + i, count) - load_count(a.shift + i, count);
    const Lanes distance = load_count(x + i, count) - load_count(a.center + i, count);
    store_count(dx + i, value - distance * load_count(a.slope + i, count), count);
  });
}

template <bool kLog>
inline Lanes softmax_term(const Lanes& g, const Lanes& y, const Lanes& sum) {
  if constexpr (kLog) return g - exp_lanes(y) * sum;
  return (g - sum) * y;
}

template <bool kLog>
void softmax_row(const float* g, const float* y, int64_t n, float* dx) {
  Lanes sums = broadcast(0);
  for_lanes(n, [&](int64_t i, int64_t count) {
    const Lanes lanes = load_count(g + i, count);
    if constexpr (kLog) {
      sums = sums + lanes;
    } else {
      sums = sums + lanes * load_count(y + i, count);
    }
  });
  const Lanes sum = broadcast(sum_of_lanes(sums));
  for_lanes(n, [&](int64_t i, int64_t count) {
    store_count(dx + i, softmax_term<kLog>(load_count(g + i, count), load_count(y + i, count), sum),
                count);
  });
}

template <bool kLog>
void softmax_of_columns(const float* g, const float* y, int64_t rows, int64_t stride, int64_t n,
                        float* dx) {
  alignas(64) float sums[kMostColumns] = {};
  for (int64_t row = 0; row < rows; ++row) {
    const float* gr = g + row * stride;
    const float* yr = y + row * stride;
    for_lanes(n, [&](int64_t i, int64_t count) {
      Lanes lanes = load_count(gr + i, count);
      if constexpr (!kLog) lanes = lanes * load_count(yr + i, count);
      store_count(sums + i, load_count(sums + i, count) + lanes, count);
    });
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * stride;
    for_lanes(n, [&](int64_t i, int64_t count) {
      store_count(dx + at + i,
                  softmax_term<kLog>(load_count(g + at + i, count), load_count(y + at + i, count),
                                     load_count(sums + i, count)),
                  count);
    });
  }
}

constexpr GradientRows<float> kGradientRows = {gradient_sums,
                                               gradient_scaled_sums,
                                               gradient_combine,
                                               gradient_combine_scaled,
                                               gradient_add_columns,
                                               gradient_add_column_sums,
                                               gradient_combine_columns,
                                               softmax_row<false>,
                                               softmax_row<true>,
                                               softmax_of_columns<false>,
                                               softmax_of_columns<true>};

}  // namespace
}  // namespace tierup::kernels
