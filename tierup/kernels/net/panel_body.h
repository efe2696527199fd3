// Rows times a packed panel of columns, in registers: the heart of the convolutions of our own.
// Compiled once per instruction set; everything is local to the including file.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>
#include <span>
#include <utility>

#include "tierup/kernels/lanes_body.h"
#include "tierup/kernels/net/store_step.h"

namespace tierup::kernels::net {
namespace {

// Rows that stay in registers, over two vectors of columns.
#if defined(__AVX512F__)
constexpr int kPanelRows = 14;
#elif defined(__AVX2__)
constexpr int kPanelRows = 6;
#else
constexpr int kPanelRows = 4;
#endif
constexpr int kPanelColumns = 32;
constexpr int kVectorFloats = kLaneVectorBytes / 4;

inline LaneVector load_vector(const float* x) {
  LaneVector result;
  std::memcpy(&result, x, sizeof(result));
  return result;
}

inline void store_vector(float* x, LaneVector value) { std::memcpy(x, &value, sizeof(value)); }

inline LaneVector multiply_add(LaneVector a, LaneVector b, LaneVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// What is done to finished sums: the bias is added, then come the steps; the results are stored.
struct Finish {
  const float* bias;  // Null: the sums are stored as they are, and added to what is there before.
  std::span<const StoreStep> steps;
};

struct PanelProduct {
  const float* a;       // Rows, kStride floats apart.
  const float* b;       // [depth][32]
  const float* next_b;  // The panel that comes after this one; it is brought near.
  const char* ahead;    // Memory that is wanted soon,
  int64_t ahead_bytes;  // and how much of it.
  int64_t rows, depth;
  const float* sums;  // Of the depths before; null: these are the first.
  int64_t sums_stride;
  float* c;
  int64_t c_stride;
  Finish finish;
};

template <int kRows>
using Sums = LaneVector[kRows][2];

template <int kRows, typename Change>
inline void change_sums(Sums<kRows>& sums, const Change& change) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    sums[r][0] = change(sums[r][0], r, 0);
    sums[r][1] = change(sums[r][1], r, kVectorFloats);
  }
}

inline LaneVector larger_lanes(LaneVector x, LaneVector y) { return ((x > y) | (x != x)) ? x : y; }
inline LaneVector smaller_lanes(LaneVector x, LaneVector y) { return ((x < y) | (x != x)) ? x : y; }

template <int kRows>
inline void finish_sums(Sums<kRows>& sums, const Finish& finish, const float* bias,
                        const float* target, int64_t stride) {
  const LaneVector biases[2] = {load_vector(bias), load_vector(bias + kVectorFloats)};
  change_sums<kRows>(sums, [&](LaneVector x, int, int v) { return x + biases[v > 0]; });
  for (const StoreStep& step : finish.steps) {
    const LaneVector alpha = step.alpha - LaneVector{};
    const LaneVector beta = step.beta - LaneVector{};
    switch (step.kind) {
      case StoreStep::Kind::kSum:
        change_sums<kRows>(sums, [&](LaneVector x, int r, int v) {
          return x + load_vector(target + r * stride + v);
        });
        break;
      case StoreStep::Kind::kRelu:
        change_sums<kRows>(sums,
                           [&](LaneVector x, int, int) { return larger_lanes(x, LaneVector{}); });
        break;
      case StoreStep::Kind::kClip:
        change_sums<kRows>(sums, [&](LaneVector x, int, int) {
          return smaller_lanes(larger_lanes(x, alpha), beta);
        });
        break;
      case StoreStep::Kind::kLinear:
        change_sums<kRows>(sums, [&](LaneVector x, int, int) { return x * alpha + beta; });
        break;
    }
  }
}

// kRows rows from `first` on, and two vectors of columns from `column` on.
template <int kRows, int kStride>
void multiply_rows(const PanelProduct& p, int64_t first, int column) {
  Sums<kRows> sums;
  if (p.sums != nullptr) {
    const float* before = p.sums + first * p.sums_stride + column;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      sums[r][0] = load_vector(before + r * p.sums_stride);
      sums[r][1] = load_vector(before + r * p.sums_stride + kVectorFloats);
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = LaneVector{};
  }
  const float* a = p.a + first * kStride;
  const float* b = p.b + column;
  const bool is_last = first + kRows == p.rows;
  const float* near = is_last ? p.next_b : p.b;
  const char* ahead = p.ahead + p.ahead_bytes * first / p.rows;
  const int64_t ahead_step = p.ahead_bytes * kRows / p.rows / p.depth;
  for (int64_t k = 0; k < p.depth; ++k) {
    const LaneVector left = load_vector(b + k * kPanelColumns);
    const LaneVector right = load_vector(b + k * kPanelColumns + kVectorFloats);
    __builtin_prefetch(ahead, 0, 2);
    ahead += ahead_step;
    __builtin_prefetch(near + k * kPanelColumns, 0, 3);
    __builtin_prefetch(near + k * kPanelColumns + 16, 0, 3);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const LaneVector factor = a[r * kStride + k] - LaneVector{};
      sums[r][0] = multiply_add(factor, left, sums[r][0]);
      sums[r][1] = multiply_add(factor, right, sums[r][1]);
    }
  }
  float* target = p.c + first * p.c_stride + column;
  if (p.finish.bias != nullptr)
    finish_sums<kRows>(sums, p.finish, p.finish.bias + column, target, p.c_stride);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    store_vector(target + r * p.c_stride, sums[r][0]);
    store_vector(target + r * p.c_stride + kVectorFloats, sums[r][1]);
  }
}

using MultiplyRows = void (*)(const PanelProduct&, int64_t, int);

template <int kStride, int... kCounts>
constexpr MultiplyRows multiply_rows_of(int64_t rows, std::integer_sequence<int, kCounts...>) {
  constexpr MultiplyRows kTable[] = {&multiply_rows<kCounts + 1, kStride>...};
  return kTable[rows - 1];
}

// Rows go in blocks of nearly one size.
template <int kStride>
void multiply_panel(const PanelProduct& product) {
  const int64_t blocks = (product.rows + kPanelRows - 1) / kPanelRows;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t first = product.rows * i / blocks;
    const int64_t count = product.rows * (i + 1) / blocks - first;
    const auto kernel =
        multiply_rows_of<kStride>(count, std::make_integer_sequence<int, kPanelRows>());
    for (int v = 0; v < kPanelColumns; v += 2 * kVectorFloats) kernel(product, first, v);
  }
}

}  // namespace
}  // namespace tierup::kernels::net
