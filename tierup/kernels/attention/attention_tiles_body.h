// Queries in lanes; see attention_tiles.h.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "tierup/kernels/attention/attention_lanes_body.h"

namespace tierup::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kMostVectors = 4;
constexpr int tile_rows(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 8 : 12; }
#elif defined(__AVX2__)
constexpr int kMostVectors = 2;
constexpr int tile_rows(int vectors) { return vectors == 2 ? 6 : 8; }
#else
constexpr int kMostVectors = 2;
constexpr int tile_rows(int vectors) { return vectors == 2 ? 4 : 8; }
#endif
constexpr int64_t kMostLanes = kMostVectors * kVectorFloats;
constexpr int64_t kMostPanels = kAttentionBlock / kMostLanes;

// c [rows][lanes] = a [rows][depth] times b [depth][lanes], and c times a factor of each lane.
struct TileProduct {
  const float* a;
  int64_t a_row, a_step;  // From row to row, and along the depth.
  const float* b;
  int64_t rows, depth;
  float* c;
  const float* factors;  // Null: what stands in c does not count.
};

template <int kRows, int kVectors>
void multiply_tile(const TileProduct& p, int64_t first) {
  constexpr int64_t kWidth = kVectors * kVectorFloats;
  const float* a = p.a + first * p.a_row;
  const float* b = p.b;
  float* c = p.c + first * kWidth;
  FloatVector sums[kRows][kVectors] = {};
  if (p.factors != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = load_vector(c + i * kWidth + v * kVectorFloats) *
                     load_vector(p.factors + v * kVectorFloats);
      }
    }
  }
  for (int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += kWidth) {
    FloatVector lanes[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) lanes[v] = load_vector(b + v * kVectorFloats);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const FloatVector row = a[i * p.a_row] - FloatVector{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add(row, lanes[v], sums[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      store_vector(c + i * kWidth + v * kVectorFloats, sums[i][v]);
    }
  }
}

using MultiplyTile = void (*)(const TileProduct&, int64_t);

template <int kVectors, int... kCounts>
MultiplyTile tile_of_rows(int64_t rows, std::integer_sequence<int, kCounts...> /*counts*/) {
  static constexpr MultiplyTile kTable[] = {&multiply_tile<kCounts + 1, kVectors>...};
  return kTable[rows - 1];
}

// Rows go in tiles of nearly one size, the larger ones first.
template <int kVectors>
void multiply_tiles(const TileProduct& p) {
  constexpr int kRows = tile_rows(kVectors);
  const int64_t tiles = (p.rows + kRows - 1) / kRows;
  for (int64_t i = 0, first = 0; i < tiles; ++i) {
    const int64_t count = p.rows / tiles + (i < p.rows % tiles ? 1 : 0);
    tile_of_rows<kVectors>(count, std::make_integer_sequence<int, kRows>())(p, first);
    first += count;
  }
}

// Rows that stand in the lanes of so many vectors, and what is known of them so far.
struct QueryPanel {
  int64_t first = 0, count = 0;  // Rows of the call.
  int vectors = 0;
  float* turned = nullptr;  // Queries times the scale: [depth][lanes].
  float* result = nullptr;  // [width][lanes]
  float* top = nullptr;     // [lanes], as the sum of the exponentials.
  float* sum = nullptr;
  bool has_result = false;

  int64_t lanes() const { return vectors * kVectorFloats; }
};

// Zeros in the lanes beyond the last row.
void turn_queries(const AttentionRows& call, const QueryPanel& panel) {
  const AttentionProblem& p = *call.problem;
  const auto scale = static_cast<float>(p.scale);
  FloatVector square[kVectorFloats];
  for (int64_t lane = 0; lane < panel.lanes(); lane += kVectorFloats) {
    for (int64_t d = 0; d < p.depth; d += kVectorFloats) {
      for (int64_t i = 0; i < kVectorFloats; ++i) {
        const int64_t row = panel.first + lane + i;
        const bool is_there = lane + i < panel.count;
        square[i] =
            is_there ? scale * load_columns(call.query + place_of(call, p.query_strides, row) + d,
                                            p.depth - d)
                     : FloatVector{};
      }
      transpose(square);
      const int64_t count = std::min<int64_t>(kVectorFloats, p.depth - d);
      for (int64_t i = 0; i < count; ++i) {
        store_vector(panel.turned + (d + i) * panel.lanes() + lane, square[i]);
      }
    }
  }
}

// Whether a square of bools hides no key of any query, or all. `hidden[i]`: of the ith query.
enum class Square : uint8_t { kMixed, kSeen, kHidden };
inline Square square_of(const LaneBools (&hidden)[kVectorFloats]) {
  LaneBools any{};
  LaneBools all = LaneBools{} + 1;
  for (const LaneBools& row : hidden) {
    any |= row;
    all &= row;
  }
  std::array<uint32_t, kVectorFloats / 4> words;
  std::memcpy(words.data(), &any, sizeof(words));
  if (std::ranges::all_of(words, [](uint32_t word) { return word == 0; })) return Square::kSeen;
  std::memcpy(words.data(), &all, sizeof(words));
  const bool are_hidden =
      std::ranges::all_of(words, [](uint32_t word) { return word == 0x01010101U; });
  return are_hidden ? Square::kHidden : Square::kMixed;
}

// Adds a mask that differs from query to query, square by square.
void add_own_mask(const AttentionRows& call, int number, const QueryPanel& panel, int64_t first,
                  int64_t keys, float* scores) {
  const AttentionMask& mask = call.problem->masks[number];
  FloatVector square[kVectorFloats];
  int64_t places[kVectorFloats];
  for (int64_t lane = 0; lane < panel.lanes(); lane += kVectorFloats) {
    for (int64_t i = 0; i < kVectorFloats; ++i) {
      const int64_t row = panel.first + std::min(lane + i, panel.count - 1);
      places[i] = place_of(call, mask.strides, row);
    }
    for (int64_t k = 0; k < keys; k += kVectorFloats) {
      const int64_t count = std::min<int64_t>(kVectorFloats, keys - k);
      if (mask.is_bool && mask.strides[3] == 1) {
        LaneBools hidden[kVectorFloats];
        for (int64_t i = 0; i < kVectorFloats; ++i)
          hidden[i] = hidden_keys(mask, call.masks[number], places[i] + first + k, count);
        const Square kind = square_of(hidden);
        for (int64_t i = 0; kind == Square::kHidden && i < count; ++i) {
          store_vector(scores + (k + i) * panel.lanes() + lane, mask.hidden_score - FloatVector{});
        }
        if (kind != Square::kMixed) continue;
      }
      for (int64_t i = 0; i < kVectorFloats; ++i) {
        square[i] = mask_piece(mask, call.masks[number], places[i], first + k, keys - k);
      }
      transpose(square);
      for (int64_t i = 0; i < count; ++i) {
        float* at = scores + (k + i) * panel.lanes() + lane;
        store_vector(at, masked(mask, load_vector(at), square[i]));
      }
    }
  }
}

// Adds a mask that all queries share.
void add_shared_mask(const AttentionRows& call, int number, const QueryPanel& panel, int64_t first,
                     int64_t keys, float* scores) {
  const AttentionMask& mask = call.problem->masks[number];
  for (int64_t k = 0; k < keys; k += kVectorFloats) {
    float added[kVectorFloats];
    store_vector(added, mask_piece(mask, call.masks[number], 0, first + k, keys - k));
    const int64_t count = std::min<int64_t>(kVectorFloats, keys - k);
    for (int64_t i = 0; i < count; ++i, scores += panel.lanes()) {
      for (int v = 0; v < panel.vectors; ++v) {
        float* at = scores + v * kVectorFloats;
        store_vector(at, masked(mask, load_vector(at), added[i] - FloatVector{}));
      }
    }
  }
}

// Hides the keys behind each query.
void hide_later_keys(const AttentionRows& call, const QueryPanel& panel, int64_t first,
                     int64_t keys, float* scores) {
  const int64_t queries = call.problem->queries;
  for (int64_t lane = 0; lane < panel.lanes(); lane += kVectorFloats) {
    LaneInts query{};
    int64_t least = queries;
    for (int64_t i = 0; i < kVectorFloats; ++i) {
      const int64_t index = (panel.first + std::min(lane + i, panel.count - 1)) % queries;
      query[i] = static_cast<int32_t>(index);
      least = std::min(least, index);
    }
    for (int64_t k = std::max<int64_t>(0, least + 1 - first); k < keys; ++k) {
      float* at = scores + k * panel.lanes() + lane;
      const LaneInts key = static_cast<int32_t>(first + k) - LaneInts{};
      store_vector(at, query < key ? kHidden - FloatVector{} : load_vector(at));
    }
  }
}

// Scores to exponentials below each lane's maximum so far; `factors` are for what was summed.
template <int kVectors>
void weigh(const QueryPanel& panel, int64_t keys, float* scores, float* factors) {
  constexpr int64_t kWidth = kVectors * kVectorFloats;
  FloatVector top[kVectors];
  for (int v = 0; v < kVectors; ++v) top[v] = load_vector(panel.top + v * kVectorFloats);
  for (int64_t k = 0; k < keys; ++k) {
    for (int v = 0; v < kVectors; ++v) {
      top[v] = larger_or_nan(load_vector(scores + k * kWidth + v * kVectorFloats), top[v]);
    }
  }
  FloatVector shift[kVectors];
  FloatVector sum[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = v * kVectorFloats;
    shift[v] = shift_of(top[v]);
    const FloatVector factor = exp_below(load_vector(panel.top + at) - shift[v]);
    store_vector(factors + at, factor);
    store_vector(panel.top + at, top[v]);
    sum[v] = load_vector(panel.sum + at) * factor;
  }
  for (int64_t k = 0; k < keys; ++k) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = scores + k * kWidth + v * kVectorFloats;
      const FloatVector weight = exp_below(load_vector(at) - shift[v]);
      store_vector(at, weight);
      sum[v] += weight;
    }
  }
  for (int v = 0; v < kVectors; ++v) store_vector(panel.sum + v * kVectorFloats, sum[v]);
}

template <int kVectors>
void attend_keys(const AttentionRows& call, QueryPanel& panel, int64_t first, int64_t keys,
                 float* scores) {
  const AttentionProblem& p = *call.problem;
  multiply_tiles<kVectors>({call.key + first * p.key_strides[2], p.key_strides[2], 1, panel.turned,
                            keys, p.depth, scores, nullptr});
  for (int m = 0; m < p.mask_count; ++m) {
    const int64_t(&strides)[4] = p.masks[m].strides;
    const bool is_shared = strides[2] == 0 && (p.group == 1 || strides[1] == 0);
    (is_shared ? add_shared_mask : add_own_mask)(call, m, panel, first, keys, scores);
  }
  if (p.is_causal) hide_later_keys(call, panel, first, keys, scores);
  float factors[kMostLanes];
  weigh<kVectors>(panel, keys, scores, factors);
  multiply_tiles<kVectors>({call.value + first * p.value_strides[2], 1, p.value_strides[2], scores,
                            p.width, keys, panel.result, panel.has_result ? factors : nullptr});
  panel.has_result = true;
}

// Results by rows, divided by the sums.
void store_results(const AttentionRows& call, const QueryPanel& panel) {
  const AttentionProblem& p = *call.problem;
  FloatVector square[kVectorFloats];
  for (int64_t lane = 0; lane < panel.lanes(); lane += kVectorFloats) {
    const FloatVector top = load_vector(panel.top + lane);
    const FloatVector sum = load_vector(panel.sum + lane);
    const FloatVector factor = 1.0F / (top == kHidden ? 1.0F - FloatVector{} : sum);
    for (int64_t d = 0; d < p.width; d += kVectorFloats) {
      for (int64_t i = 0; i < kVectorFloats; ++i) {
        const int64_t from = std::min(d + i, p.width - 1) * panel.lanes() + lane;
        const FloatVector result = load_vector(panel.result + from) * factor;
        square[i] = top == kHidden ? p.unseen - FloatVector{} : result;
      }
      transpose(square);
      const int64_t rows = std::min<int64_t>(kVectorFloats, panel.count - lane);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = panel.first + lane + i;
        store_columns(call.out + place_of(call, p.out_strides, row) + d, p.width - d, square[i]);
      }
    }
  }
}

// Cuts `count` rows from `first` on into panels, of nearly one size.
int64_t make_panels(const AttentionRows& call, int64_t first, int64_t count,
                    QueryPanel (&panels)[kMostPanels]) {
  const AttentionProblem& p = *call.problem;
  const int64_t vectors = (count + kVectorFloats - 1) / kVectorFloats;
  const int64_t panel_count = (vectors + kMostVectors - 1) / kMostVectors;
  float* memory = call.scratch + kMostLanes * call.key_block;
  for (int64_t i = 0, done = 0; i < panel_count; ++i) {
    QueryPanel panel;
    panel.vectors = static_cast<int>(vectors / panel_count + (i < vectors % panel_count ? 1 : 0));
    panel.first = first + done;
    panel.count = std::min(panel.lanes(), count - done);
    panel.turned = memory;
    panel.result = panel.turned + p.depth * panel.lanes();
    panel.top = panel.result + p.width * panel.lanes();
    panel.sum = panel.top + panel.lanes();
    memory = panel.sum + panel.lanes();
    done += panel.lanes();
    std::fill_n(panel.top, panel.lanes(), kHidden);
    std::fill_n(panel.sum, panel.lanes(), 0.0F);
    turn_queries(call, panel);
    panels[i] = panel;
  }
  return panel_count;
}

void attend_block(const AttentionRows& call, int64_t first, int64_t count) {
  QueryPanel panels[kMostPanels];
  const int64_t panel_count = make_panels(call, first, count, panels);
  for (int64_t key = 0; key < call.problem->keys; key += call.key_block) {
    for (int64_t i = 0; i < panel_count; ++i) {
      QueryPanel& panel = panels[i];
      int64_t seen = 0;
      for (int64_t r = 0; r < panel.count; ++r)
        seen = std::max(seen, keys_seen(*call.problem, panel.first + r));
      const int64_t keys = std::min(call.key_block, seen - key);
      if (keys <= 0) continue;
      switch (panel.vectors) {
        case 1: attend_keys<1>(call, panel, key, keys, call.scratch); break;
#if defined(__AVX512F__)
        case 2: attend_keys<2>(call, panel, key, keys, call.scratch); break;
        case 3: attend_keys<3>(call, panel, key, keys, call.scratch); break;
#endif
        default: attend_keys<kMostVectors>(call, panel, key, keys, call.scratch); break;
      }
    }
  }
  for (int64_t i = 0; i < panel_count; ++i) store_results(call, panels[i]);
}

void attend_together(const AttentionRows& call) {
  for (int64_t done = 0; done < call.count; done += kAttentionBlock)
    attend_block(call, call.first + done, std::min(kAttentionBlock, call.count - done));
}

constexpr AttentionKernels kAttentionKernels{kMostLanes, kVectorFloats / 2, &attend_together,
                                             &attend_alone};

}  // namespace
}  // namespace tierup::kernels
