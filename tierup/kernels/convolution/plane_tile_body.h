// Tiles of a product of matrices whose left one is read as it stands: row pointers and panels of
// columns. For kernels compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 4;
#endif
#if defined(__AVX2__)
constexpr int kPanelVectors = 3;
#else
constexpr int kPanelVectors = 2;
#endif

// Vectors in the next panel where so many are left: full ones, but two halves rather than a full
// one and a rest too narrow to keep the multipliers busy.
inline int64_t panel_vectors(int64_t left) {
  if (left == kPanelVectors + 1) return (left + 1) / 2;
  return std::min<int64_t>(left, kPanelVectors);
}

// rows (at most kTileRows) x depth times a panel: [depth][vectors * kVectorFloats].
struct TileProduct {
  const float* a;
  int64_t a_stride;
  int64_t rows;
  const float* panel;
  int64_t depth;
  float* out;
  int64_t out_stride;
  int64_t columns;     // That are wanted of the panel.
  bool continues;      // Sums go on from what stands in `out`.
  const float* bias;   // Of each row, added at the end; or null.
  const float* ahead;  // Rows that are read next.
};

// Asks for what the tile of the rows below reads in this part of the depth.
inline void prefetch_rows(const TileProduct& t, int64_t from) {
#pragma GCC unroll 8
  for (int i = 0; i < kTileRows; ++i) __builtin_prefetch(t.ahead + i * t.a_stride + from);
}

// each_step(step) calls step(p, load) for all of the depth in order; load(v) gives the vth vector
// of columns.
template <int kCount, typename EachStep>
TIERUP_INLINE void multiply_tile(const TileProduct& t, const EachStep& each_step) {
  const float* a[kTileRows];
#pragma GCC unroll 8
  for (int i = 0; i < kTileRows; ++i) a[i] = t.a + std::min<int64_t>(i, t.rows - 1) * t.a_stride;
  FloatVector sums[kTileRows][kCount] = {};
  if (t.continues) {
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kCount; ++v) {
        if (i < t.rows) {
          sums[i][v] = load_columns(t.out + i * t.out_stride + v * kVectorFloats,
                                    t.columns - v * kVectorFloats);
        }
      }
    }
  }
  each_step([&](int64_t p, const auto& load) TIERUP_INLINED {
    FloatVector column[kCount];
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) column[v] = load(v);
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i) {
      const FloatVector weight = a[i][p] - FloatVector{};
#pragma GCC unroll 8
      for (int v = 0; v < kCount; ++v) sums[i][v] = multiply_add(weight, column[v], sums[i][v]);
    }
  });
#pragma GCC unroll 8
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      if (i < t.rows) {
        if (t.bias != nullptr) sums[i][v] += t.bias[i];
        store_columns(t.out + i * t.out_stride + v * kVectorFloats, t.columns - v * kVectorFloats,
                      sums[i][v]);
      }
    }
  }
}

constexpr int64_t kLine = 16;  // Floats of a line of the cache.

template <int kCount>
void multiply_panel_tile(const TileProduct& t) {
  multiply_tile<kCount>(t, [&](const auto& step) TIERUP_INLINED {
    const float* panel = t.panel;
    for (int64_t from = 0; from < t.depth; from += kLine) {
      prefetch_rows(t, from);
      const int64_t end = std::min(from + kLine, t.depth);
      for (int64_t p = from; p < end; ++p, panel += kCount * kVectorFloats) {
        step(p, [panel](int v) TIERUP_INLINED { return load_vector(panel + v * kVectorFloats); });
      }
    }
  });
}

// Columns that are read where they stand: for each number of a window in each channel, vectors from
// these places on.
struct StripColumns {
  const float* strip;
  int64_t plane;  // From one channel to the next.
  int64_t channels;
  const int32_t* offsets;  // Of the numbers of a window.
  int64_t points;
  const int32_t* places;  // Of each vector.
};

template <int kCount>
void multiply_strip_tile(const TileProduct& t, const StripColumns& s) {
  multiply_tile<kCount>(t, [&](const auto& step) TIERUP_INLINED {
    int32_t place[kCount];
    for (int v = 0; v < kCount; ++v) place[v] = s.places[v];
    const float* plane = s.strip;
    int64_t p = 0;
    for (int64_t c = 0; c < s.channels; ++c, plane += s.plane) {
      for (int64_t k = 0; k < s.points; ++k, ++p) {
        if (p % kLine == 0) prefetch_rows(t, p);
        const float* source = plane + s.offsets[k];
        step(p, [&](int v) TIERUP_INLINED { return load_vector(source + place[v]); });
      }
    }
  });
}

inline void multiply_strip(const TileProduct& t, const StripColumns& s, int64_t vectors) {
  switch (vectors) {
    case 1: return multiply_strip_tile<1>(t, s);
    case 2: return multiply_strip_tile<2>(t, s);
    default: return multiply_strip_tile<kPanelVectors>(t, s);
  }
}

inline void multiply_panel(const TileProduct& t, int64_t vectors) {
  switch (vectors) {
    case 1: return multiply_panel_tile<1>(t);
    case 2: return multiply_panel_tile<2>(t);
    default: return multiply_panel_tile<kPanelVectors>(t);
  }
}

}  // namespace
}  // namespace tierup::kernels
