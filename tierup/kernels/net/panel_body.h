// Rows times a packed panel of columns, in registers: the heart of the convolutions of our own.
// Compiled once per instruction set; everything is local to the including file.
#pragma once

#include <cstring>
#include <span>
#include <utility>

#include "tierup/kernels/net/store_step_body.h"

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
  int columns;        // 32, or 16 of them.
  const float* sums;  // Of the depths before; null: these are the first.
  int64_t sums_stride;
  float* c;
  int64_t c_stride;
  Finish finish;
};

template <int kRows, int kVectors>
using Sums = LaneVector[kRows][kVectors];

// change(sum, row, column)
template <int kRows, int kVectors, typename Change>
inline void change_sums(Sums<kRows, kVectors>& sums, const Change& change) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = change(sums[r][v], r, v * kVectorFloats);
  }
}

template <int kRows, int kVectors>
inline void finish_sums(Sums<kRows, kVectors>& sums, const Finish& finish, const float* bias,
                        const float* target, int64_t stride) {
  LaneVector biases[kVectors];
  for (int v = 0; v < kVectors; ++v) biases[v] = load_vector(bias + v * kVectorFloats);
  change_sums<kRows, kVectors>(
      sums, [&](LaneVector x, int, int v) { return x + biases[v / kVectorFloats]; });
  for (const StoreStep& step : finish.steps) {
    if (step.kind == StoreStep::Kind::kSum) {
      change_sums<kRows, kVectors>(sums, [&](LaneVector x, int r, int v) {
        return x + load_vector(target + r * stride + v);
      });
    } else {
      with_step(step, [&](const auto& change) {
        change_sums<kRows, kVectors>(sums, [&](LaneVector x, int, int) { return change(x); });
      });
    }
  }
}

// kRows rows from `first` on, and kVectors vectors of columns from `column` on.
template <int kRows, int kStride, int kVectors>
void multiply_rows(const PanelProduct& p, int64_t first, int column) {
  Sums<kRows, kVectors> sums;
  const bool adds = p.sums != nullptr;
  const float* before = adds ? p.sums + first * p.sums_stride + column : nullptr;
  change_sums<kRows, kVectors>(sums, [&](LaneVector, int r, int v) {
    return adds ? load_vector(before + r * p.sums_stride + v) : LaneVector{};
  });
  const float* a = p.a + first * kStride;
  const float* b = p.b + column;
  const bool is_last = first + kRows == p.rows;
  const float* near = is_last ? p.next_b : p.b;
  const char* ahead = p.ahead + p.ahead_bytes * first / p.rows;
  const int64_t ahead_step = p.ahead_bytes * kRows / p.rows / p.depth;
  for (int64_t k = 0; k < p.depth; ++k) {
    LaneVector columns[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      columns[v] = load_vector(b + k * kPanelColumns + v * kVectorFloats);
    __builtin_prefetch(ahead, 0, 2);
    ahead += ahead_step;
    __builtin_prefetch(near + k * kPanelColumns, 0, 3);
    __builtin_prefetch(near + k * kPanelColumns + 16, 0, 3);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const LaneVector factor = a[r * kStride + k] - LaneVector{};
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = multiply_add(factor, columns[v], sums[r][v]);
    }
  }
  float* target = p.c + first * p.c_stride + column;
  if (p.finish.bias != nullptr) {
    finish_sums<kRows, kVectors>(sums, p.finish, p.finish.bias + column, target, p.c_stride);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      store_vector(target + r * p.c_stride + v * kVectorFloats, sums[r][v]);
  }
}

using MultiplyRows = void (*)(const PanelProduct&, int64_t, int);

template <int kStride, int kVectors, int... kCounts>
constexpr MultiplyRows multiply_rows_of(int64_t rows, std::integer_sequence<int, kCounts...>) {
  constexpr MultiplyRows kTable[] = {&multiply_rows<kCounts + 1, kStride, kVectors>...};
  return kTable[rows - 1];
}

// Rows go in blocks of nearly one size.
template <int kStride>
void multiply_panel(const PanelProduct& product) {
  const auto counts = std::make_integer_sequence<int, kPanelRows>();
  const int64_t blocks = (product.rows + kPanelRows - 1) / kPanelRows;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t first = product.rows * i / blocks;
    const int64_t count = product.rows * (i + 1) / blocks - first;
    int v = 0;
    for (; v + 2 * kVectorFloats <= product.columns; v += 2 * kVectorFloats)
      multiply_rows_of<kStride, 2>(count, counts)(product, first, v);
    if (v < product.columns) multiply_rows_of<kStride, 1>(count, counts)(product, first, v);
  }
}

}  // namespace
}  // namespace tierup::kernels::net
