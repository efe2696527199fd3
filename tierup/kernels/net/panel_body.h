// Rows times a packed panel of columns, in registers: the heart of the convolutions of our own.
// Compiled once per instruction set; everything is local to the including file.
//
// A panel is as wide as registers allow: of what a step of the depth needs, each row's number is
// loaded once for all columns. With 6 rows and 64 columns that is 10 loads for 24 multiply-adds,
// which the processor does at its peak; 14 rows and 32 columns reached nine tenths of that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tierup/kernels/net/panel.h"
#include "tierup/kernels/net/store_step_body.h"
#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels::net {
namespace {

// Vectors of columns that go together, of a panel of so many columns.
constexpr int vectors_of(int width) {
#if defined(__AVX512F__)
  return width / kVectorFloats;
#else
  return width / kVectorFloats < 2 ? width / kVectorFloats : 2;
#endif
}

// Rows that stay in registers over so many vectors.
constexpr int rows_of([[maybe_unused]] int vectors) {
#if defined(__AVX512F__)
  return vectors == 4 ? 6 : vectors == 3 ? 8 : 14;
#elif defined(__AVX2__)
  return vectors == 2 ? 6 : 8;
#else
  return 4;
#endif
}

// Panels that so many rows go through side by side: through one of few vectors, sums of few rows
// would wait for one another.
constexpr int panels_together([[maybe_unused]] int64_t rows) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
#else
  return 1;
#endif
}

// What is done to finished sums: the bias is added, then come the steps; the results are stored.
struct Finish {
  const float* bias;  // Null: the sums are stored as they are, and added to what is there before.
  std::span<const StoreStep> steps;

  // A sum, a relu, or both, as residual networks have them: done on the way to memory.
  bool adds() const { return !steps.empty() && steps[0].kind == StoreStep::Kind::kSum; }
  bool rectifies() const { return !steps.empty() && steps.back().kind == StoreStep::Kind::kRelu; }
  bool is_simple() const {
    return steps.size() == static_cast<size_t>(adds()) + static_cast<size_t>(rectifies());
  }
};

// A stride of rows that lie side by side: the numbers of one step of the depth follow one another.
constexpr int kSideBySide = 1;

struct PanelProduct {
  const float* a;       // Rows,
  int64_t a_stride;     // so many floats apart, where kStride is 0: else kStride floats. Rows side
                        // by side: so many floats from step to step of the depth.
  const float* b;       // [depth][width]
  const char* ahead;    // Memory that is wanted soon,
  int64_t ahead_bytes;  // and how much of it.
  int64_t rows, depth;
  int64_t run = 0;  // Where kStride is 0: a row's numbers that lie side by side, if not all,
  int64_t gap = 0;  // and from their end to the next ones, in floats.
  int64_t columns = INT64_MAX;  // That are wanted of it, where there is a bias: others are not
                                // stored.
  int width;               // Of the panel: see panel_width(); of all panels that go side by side.
  int panels = 1;          // More: of kPanelGrain columns each, for rows that lie where they are
  int64_t panel_step = 0;  // (kStride is 0); from one to the next, in floats.
  const float* sums;       // Of the depths before; null: these are the first.
  int64_t sums_stride;
  float* c;
  int64_t c_stride;
  Finish finish;
};

template <int kRows, int kVectors>
using Sums = LaneVector[kRows][kVectors];

// change(sum, row, column)
template <int kRows, int kVectors, typename Change>
TIERUP_INLINE void change_sums(Sums<kRows, kVectors>& sums, const Change& change) {
  for_each<kRows>([&](auto r) TIERUP_INLINED {
    for_each<kVectors>(
        [&](auto v) TIERUP_INLINED { sums[r][v] = change(sums[r][v], r, v * kVectorFloats); });
  });
}

// Takes the steps on `rows` rows of sums with their bias, which lie side by side, each of so many
// vectors, and stores them: all, or the first `columns` of each. In memory, not in registers: the
// steps are compiled once then, not for each height and width. The last step is done on the way to
// the target.
template <bool kIsWhole>
[[gnu::noinline]] void finish_stored(float* sums, int rows, int vectors,
                                     std::span<const StoreStep> steps, float* target,
                                     int64_t stride, int64_t columns) {
  const int64_t width = int64_t{vectors} * kVectorFloats;
  const int64_t stored = kIsWhole ? width : columns;
  // change(sum, row, column), on columns [0, end).
  const auto each = [&](float* to, int64_t apart, int64_t end, const auto& change) TIERUP_INLINED {
    for (int r = 0; r < rows; ++r) {
      const float* row = sums + r * width;
      for (int64_t v = 0; v < end; v += kVectorFloats) {
        const LaneVector x = change(load_vector(row + v), r, v);
        kIsWhole ? store_vector(to + r * apart + v, x)
                 : store_columns(to + r * apart + v, end - v, x);
      }
    }
  };
  const auto same = [](LaneVector x, int, int64_t) TIERUP_INLINED { return x; };
  if (steps.empty()) return each(target, stride, stored, same);
  for (; !steps.empty(); steps = steps.subspan(1)) {
    const bool is_last = steps.size() == 1;
    const auto change_all = [&](const auto& change) TIERUP_INLINED {
      is_last ? each(target, stride, stored, change) : each(sums, width, stored, change);
    };
    if (steps[0].kind == StoreStep::Kind::kSum) {
      change_all([&](LaneVector x, int r, int64_t v) TIERUP_INLINED {
        const float* place = target + r * stride + v;
        return x + (kIsWhole ? load_vector(place) : load_columns(place, stored - v));
      });
    } else {
      with_step(steps[0], [&](const auto& change) TIERUP_INLINED {
        change_all([&](LaneVector x, int, int64_t) TIERUP_INLINED { return change(x); });
      });
    }
  }
}

// One step of the depth.
template <int kRows, int kVectors, int kPanels>
TIERUP_INLINE void add_products(Sums<kRows, kVectors>& sums, const float* a, int64_t stride,
                                const float* b, int64_t panel_step) {
  constexpr int kOfPanel = kVectors / kPanels;
  LaneVector columns[kVectors];
  for_each<kVectors>([&](auto v) TIERUP_INLINED {
    columns[v] = load_vector(b + v / kOfPanel * panel_step + v % kOfPanel * kVectorFloats);
  });
  for_each<kRows>([&](auto r) TIERUP_INLINED {
    const LaneVector factor = a[r * stride] - LaneVector{};
    for_each<kVectors>(
        [&](auto v) TIERUP_INLINED { sums[r][v] = multiply_add(factor, columns[v], sums[r][v]); });
  });
}

template <int kRows, int kVectors>
TIERUP_INLINE void store_sums(const Sums<kRows, kVectors>& sums, float* target, int64_t stride) {
  for_each<kRows>([&](auto r) TIERUP_INLINED {
    for_each<kVectors>([&](auto v) TIERUP_INLINED {
      store_vector(target + r * stride + v * kVectorFloats, sums[r][v]);
    });
  });
}

template <int kRows, int kVectors>
TIERUP_INLINE void finish_simply(const Sums<kRows, kVectors>& sums, const Finish& finish,
                                 const float* bias, float* target, int64_t stride) {
  const bool adds = finish.adds();
  const bool rectifies = finish.rectifies();
  LaneVector biases[kVectors];
  for_each<kVectors>([&](auto v)
                         TIERUP_INLINED { biases[v] = load_vector(bias + v * kVectorFloats); });
  for_each<kRows>([&](auto r) TIERUP_INLINED {
    for_each<kVectors>([&](auto v) TIERUP_INLINED {
      float* place = target + r * stride + v * kVectorFloats;
      LaneVector x = sums[r][v] + biases[v];
      if (adds) x = x + load_vector(place);
      if (rectifies) x = larger_lanes(x, LaneVector{});
      store_vector(place, x);
    });
  });
}

constexpr int64_t kCacheLine = 64;  // Bytes.
// Rows so many floats apart lie in the same few places of a first-level cache, where the rows at
// hand find room, but not the next ones beside them.
constexpr int64_t kMeeting = 1024;
// Steps of the depth that read one line of the cache of each row.
constexpr int64_t kLine = 16;

// Rows that are few enough for a panel to come from memory no sooner than they need it: its own
// numbers are asked for, so many floats ahead.
constexpr int kFewRows = 3;
constexpr int64_t kSoon = 512;

// Bytes to ask for, of what is wanted soon: for each row, and for each row and kLine steps.
struct Ask {
  int64_t of_row, of_line;
};

// kRows rows from `first` on, and the columns from `column` on.
template <int kRows, int kWidth, int kStride, int kPanels = 1>
void multiply_rows(const PanelProduct& p, const Ask& ask, int64_t first, int column) {
  constexpr int kVectors = vectors_of(kWidth) * kPanels;
  const auto add = [&](Sums<kRows, kVectors>& sums, const float* a, int64_t stride, const float* b)
                       TIERUP_INLINED {
                         add_products<kRows, kVectors, kPanels>(sums, a, stride, b, p.panel_step);
                       };
  const float* before = p.sums != nullptr ? p.sums + first * p.sums_stride + column : nullptr;
  const int64_t stride = kStride > 0 ? kStride : p.a_stride;
  const int64_t step = kStride == kSideBySide ? p.a_stride : 1;
  const float* a = p.a + first * stride;
  const float* b = p.b + column;
  float* target = p.c + first * p.c_stride + column;
  for_each<kRows>([&](auto r) TIERUP_INLINED {
    for_each<kVectors>([&](auto v) TIERUP_INLINED {
      __builtin_prefetch(target + r * p.c_stride + v * kVectorFloats, 1, 3);
    });
  });
  // No address of these is taken but in what is inlined here.
  Sums<kRows, kVectors> sums;
  if (before != nullptr) {
    change_sums<kRows, kVectors>(sums, [&](LaneVector, int r, int v) TIERUP_INLINED {
      return load_vector(before + r * p.sums_stride + v);
    });
  } else {
    change_sums<kRows, kVectors>(sums,
                                 [](LaneVector, int, int) TIERUP_INLINED { return LaneVector{}; });
  }
  // Beside the products of each line of the cache, the same line of the next rows is asked for, and
  // a part of what is wanted later, kRows / rows of it in all.
  constexpr int kAskedLines = (2 * kRows + kLine - 1) / kLine;  // By two steps of the depth.
  const bool would_meet = stride % kMeeting == 0;
  const int64_t to_near = first + kRows < p.rows && !would_meet ? kRows * stride : 0;
  const char* ahead = p.ahead + ask.of_row * first;
  int64_t run_end = kStride == 0 && p.run > 0 ? p.run : p.depth;
  for (int64_t k = 0; k < p.depth; ahead += ask.of_line * kRows) {
    if constexpr (kStride == 0) {
      if (k == run_end) {
        a += p.gap;
        run_end += p.run;
      }
    }
    const int64_t line_end = std::min(run_end, k + kLine);
    const float* line = a + to_near + k;
    const char* later = ahead;
    for (; k + 1 < line_end; k += 2, later += kCacheLine) {
      for_each<kAskedLines>([&](auto) TIERUP_INLINED {
        __builtin_prefetch(line, 0, 3);
        line += stride;
      });
      add(sums, a + k * step, stride, b + k * kWidth);
      if constexpr (kRows <= kFewRows && kStride == 0) {
        for_each<kPanels>([&](auto panel) TIERUP_INLINED {
          const float* soon = b + panel * p.panel_step + k * kWidth + kSoon;
          for_each<kWidth * 2 / kLine>(
              [&](auto l) TIERUP_INLINED { __builtin_prefetch(soon + l * kLine, 0, 3); });
        });
      } else {
        __builtin_prefetch(later, 0, 2);
      }
      add(sums, a + (k + 1) * step, stride, b + (k + 1) * kWidth);
    }
    if (k < line_end) {
      add(sums, a + k * step, stride, b + k * kWidth);
      ++k;
    }
  }
  if (p.finish.bias == nullptr) {
    store_sums<kRows, kVectors>(sums, target, p.c_stride);
    return;
  }
  const int64_t left = p.columns - column;
  const bool is_whole = left >= kVectors * kVectorFloats;
  if (is_whole && p.finish.is_simple()) {
    finish_simply<kRows, kVectors>(sums, p.finish, p.finish.bias + column, target, p.c_stride);
    return;
  }
  alignas(64) float stored[kRows * kVectors * kVectorFloats];
  const float* bias = p.finish.bias + column;
  change_sums<kRows, kVectors>(
      sums, [&](LaneVector sum, int, int v) TIERUP_INLINED { return sum + load_vector(bias + v); });
  store_sums<kRows, kVectors>(sums, stored, kVectors * kVectorFloats);
  const auto finish = is_whole ? finish_stored<true> : finish_stored<false>;
  finish(stored, kRows, kVectors, p.finish.steps, target, p.c_stride, left);
}

using MultiplyRows = void (*)(const PanelProduct&, const Ask&, int64_t, int);

template <int kWidth, int kStride, int... kCounts>
MultiplyRows multiply_rows_of(int64_t rows, std::integer_sequence<int, kCounts...> /*counts*/) {
  static constexpr MultiplyRows kTable[] = {&multiply_rows<kCounts + 1, kWidth, kStride>...};
  return kTable[rows - 1];
}

// Rows go in blocks of nearly one size, the larger ones first.
template <int kWidth, int kStride>
void multiply_panel_of(const PanelProduct& product) {
  constexpr int kVectors = vectors_of(kWidth);
  constexpr int kRows = rows_of(kVectors);
  const int64_t blocks = (product.rows + kRows - 1) / kRows;
  const int64_t least = product.rows / blocks;
  const int64_t larger = product.rows - least * blocks;
  const int64_t of_row = product.ahead_bytes / product.rows;
  const Ask ask{of_row, of_row * kLine / product.depth};
  for (int column = 0; column < kWidth; column += kVectors * kVectorFloats) {
    int64_t first = 0;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t count = i < larger ? least + 1 : least;
      multiply_rows_of<kWidth, kStride>(count, std::make_integer_sequence<int, kRows>())(
          product, ask, first, column);
      first += count;
    }
  }
}

// Few rows, which ask for nothing but their own panels, side by side.
void multiply_panels(const PanelProduct& product) {
  constexpr int kWidth = kPanelGrain;
  if (product.panels == 4) return multiply_rows<1, kWidth, 0, 4>(product, {}, 0, 0);
  switch (product.rows) {
    case 1: return multiply_rows<1, kWidth, 0, 2>(product, {}, 0, 0);
    case 2: return multiply_rows<2, kWidth, 0, 2>(product, {}, 0, 0);
    default: return multiply_rows<3, kWidth, 0, 2>(product, {}, 0, 0);
  }
}

template <int kStride>
void multiply_panel(const PanelProduct& product) {
  if constexpr (kStride == 0 && panels_together(1) > 1) {
    if (product.panels > 1) return multiply_panels(product);
  }
  switch (product.width) {
    case 16: return multiply_panel_of<16, kStride>(product);
    case 32: return multiply_panel_of<32, kStride>(product);
    case 48: return multiply_panel_of<48, kStride>(product);
    default: return multiply_panel_of<64, kStride>(product);
  }
}

}  // namespace
}  // namespace tierup::kernels::net
