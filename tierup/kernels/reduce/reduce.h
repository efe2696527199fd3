// reduce: folds the elements that go into each output with an associative operation.
//
// The order is fixed by the shapes alone. A run is cut into blocks of kBlock elements; the partial
// results of the blocks (and, across long reductions, of chunks of blocks) are merged as a
// balanced tree, which keeps the rounding error of a sum at O(log n) and makes the result the same
// for any number of threads. Where the innermost kept dimension is dense and the reduced one is
// not, whole rows are folded into a tile of outputs instead, by the same tree. Short dense runs are
// turned into such rows first.
//
// A Reducer has
//   using In, Acc, Out;
//   Acc identity() const;
//   Acc block(const In* p, int64_t count, int64_t stride) const;  // Folds a run of <= kBlock.
//   void fold(Acc& into, In value) const;                         // Only if kTiles.
//   void fold_rows(const In* rows, int64_t count, int64_t stride, int64_t width,
//                  Acc* tile) const;  // Optional.
//   Acc across(const Acc* tile, int64_t width) const;  // Optional: of a tile of one output's runs.
//   Acc merge(Acc a, Acc b) const;
//   Out finish(Acc acc) const;
//   static constexpr bool kTiles;
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/reduce/reduce_plan.h"

namespace tierup::kernels {
namespace reduce_detail {

inline constexpr int64_t kBlock = 4096;         // Elements folded in one go.
inline constexpr int64_t kChunk = 16 * kBlock;  // Elements of one task of a long reduction.
inline constexpr int64_t kTile = 64;            // Outputs folded side by side.
inline constexpr int64_t kTileRows = 32;        // Rows folded into a tile in one go.
inline constexpr int64_t kTileChunk = 4096;     // Rows of one task of a tall reduction.
inline constexpr int64_t kShortRun = 64;        // Shorter runs are turned.
inline constexpr int64_t kRunLanes = 4;         // Accumulators of a short run.
inline constexpr int64_t kFewRuns = 16;         // Floats of the widest vector: fewer are not.
// Tasks between two questions whether to stop.
inline constexpr int64_t kChunksUnasked = 16;

// Merges partial results pairwise in the order they come, like a binary counter.
template <typename Reducer>
class Cascade {
 public:
  using Acc = typename Reducer::Acc;
  explicit Cascade(const Reducer& reducer) : reducer_(reducer) {}
  void push(Acc acc) {
    uint64_t n = pushed_++;
    size_t level = 0;
    for (; (n & 1U) != 0; n >>= 1U) acc = reducer_.merge(levels_[level++], acc);
    levels_[level] = acc;
  }
  Acc result() const {
    Acc acc = reducer_.identity();
    bool any = false;
    for (size_t level = 0; level < static_cast<size_t>(std::bit_width(pushed_)); ++level) {
      if (((pushed_ >> level) & 1U) == 0) continue;
      acc = any ? reducer_.merge(levels_[level], acc) : levels_[level];
      any = true;
    }
    return acc;
  }

 private:
  const Reducer& reducer_;
  uint64_t pushed_ = 0;
  std::array<Acc, 48> levels_;
};

// How the runs of one output are cut: `pieces` blocks in all, `chunk` of them to a task.
struct Pieces {
  explicit Pieces(const ReducePlan& plan)
      : per_run((plan.run_length() + kBlock - 1) / kBlock),
        total(plan.rows() * per_run),
        chunk(std::max<int64_t>(1, kChunk / std::min(plan.run_length(), kBlock))) {}
  int64_t per_run;
  int64_t total;
  int64_t chunk;
};

// Whether an output's runs fit in a tile, and are many, evenly apart: point by point they are
// folded into one run first, since what is done across a register takes as long as some runs do.
inline bool folds_runs_together(const ReducePlan& plan) {
  constexpr int64_t kManyRuns = 4;
  return plan.run_stride() == 1 && plan.run_length() <= kTile && plan.rows() >= kManyRuns &&
         plan.reduced_sizes.size() == 2;
}

// The runs [begin, end) of an output.
template <typename Reducer>
typename Reducer::Acc fold_runs_together(const Reducer& reducer, const ReducePlan& plan,
                                         const typename Reducer::In* base, int64_t begin,
                                         int64_t end) {
  const int64_t width = plan.run_length();
  const int64_t stride = plan.reduced_strides.front();
  Cascade<Reducer> cascade(reducer);
  std::array<typename Reducer::Acc, kTile> tile;
  for (int64_t row = begin; row < end; row += kTileRows) {
    std::fill_n(tile.data(), width, reducer.identity());
    reducer.fold_rows(base + row * stride, std::min(kTileRows, end - row), stride, width,
                      tile.data());
    cascade.push(reducer.across(tile.data(), width));
  }
  return cascade.result();
}

template <typename Reducer>
typename Reducer::Acc fold_pieces(const Reducer& reducer, const ReducePlan& plan,
                                  const Pieces& pieces, const typename Reducer::In* base,
                                  int64_t begin, int64_t end) {
  if constexpr (requires { &Reducer::across; }) {
    if (folds_runs_together(plan)) return fold_runs_together(reducer, plan, base, begin, end);
  }
  const int64_t stride = plan.run_stride();
  Cascade<Reducer> cascade(reducer);
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t start = piece % pieces.per_run * kBlock;
    const int64_t count = std::min(kBlock, plan.run_length() - start);
    const int64_t row =
        plan.reduced_sizes.size() == 1 ? 0 : plan.row_offset(piece / pieces.per_run);
    cascade.push(reducer.block(base + row + start * stride, count, stride));
  }
  return cascade.result();
}

template <typename Reducer>
void reduce_runs(const Reducer& reducer, const ReducePlan& plan, const typename Reducer::In* in,
                 typename Reducer::Out* out) {
  using Acc = typename Reducer::Acc;
  const Pieces pieces(plan);
  if (pieces.total <= pieces.chunk) {
    const int64_t grain = grain_of(plan.count);
    const int64_t inner = plan.kept_sizes.empty() ? 1 : plan.kept_sizes.back();
    const int64_t step = plan.kept_sizes.empty() ? 0 : plan.kept_strides.back();
    parallel_for(0, plan.outputs, grain, [&](int64_t begin, int64_t end) {
      const typename Reducer::In* base = nullptr;
      for (int64_t o = begin; o < end; ++o) {
        // From the run before, unless it ended a line of them.
        base = o == begin || o % inner == 0 ? in + plan.output_offset(o) : base + step;
        const Acc acc = pieces.total == 1
                            ? reducer.block(base, plan.run_length(), plan.run_stride())
                            : fold_pieces(reducer, plan, pieces, base, 0, pieces.total);
        out[o] = reducer.finish(acc);
      }
    });
    return;
  }
  const int64_t chunks = (pieces.total + pieces.chunk - 1) / pieces.chunk;
  std::vector<Acc> partial(static_cast<size_t>(plan.outputs * chunks));
  parallel_for(0, plan.outputs * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      if (t % kChunksUnasked == 0) poll_interrupt();
      const int64_t first = t % chunks * pieces.chunk;
      partial[t] = fold_pieces(reducer, plan, pieces, in + plan.output_offset(t / chunks), first,
                               std::min(pieces.total, first + pieces.chunk));
    }
  });
  for (int64_t o = 0; o < plan.outputs; ++o) {
    Cascade<Reducer> cascade(reducer);
    for (int64_t c = 0; c < chunks; ++c) cascade.push(partial[o * chunks + c]);
    out[o] = reducer.finish(cascade.result());
  }
}

// f(j) for each output of a tile: of whole tiles, whose number is known, the compiler makes
// vectors.
template <typename F>
inline void each_of_tile(int64_t width, const F& f) {
  if (width == kTile) {
    for (int64_t j = 0; j < kTile; ++j) f(j);
  } else {
    for (int64_t j = 0; j < width; ++j) f(j);
  }
}

// Adds `count` rows of `width` neighbouring outputs, `stride` apart, to the tile.
template <typename Reducer>
void fold_into(const Reducer& reducer, const typename Reducer::In* rows, int64_t count,
               int64_t stride, int64_t width, typename Reducer::Acc* tile) {
  if constexpr (requires { reducer.fold_rows(rows, count, stride, width, tile); }) {
    reducer.fold_rows(rows, count, stride, width, tile);
    return;
  }
  for (int64_t r = 0; r < count; ++r, rows += stride)
    each_of_tile(width, [&](int64_t j) { reducer.fold(tile[j], rows[j]); });
}

// Folds rows [begin, end) of a tile of `width` neighbouring outputs.
template <typename Reducer>
void fold_tile(const Reducer& reducer, const ReducePlan& plan, const typename Reducer::In* base,
               int64_t begin, int64_t end, int64_t width, typename Reducer::Acc* result) {
  using Acc = typename Reducer::Acc;
  // Some of the rows, from nothing.
  const auto fold_some = [&](int64_t start, int64_t stop, Acc* tile) {
    each_of_tile(width, [tile, none = reducer.identity()](int64_t j) { tile[j] = none; });
    if (plan.reduced_sizes.size() == 1) {
      const int64_t stride = plan.run_stride();
      fold_into(reducer, base + start * stride, stop - start, stride, width, tile);
      return;
    }
    for (int64_t r = start, some = 0; r < stop; r += some) {
      const int64_t passed = r % plan.run_length();
      some = std::min(stop - r, plan.run_length() - passed);
      const int64_t at = plan.row_offset(r / plan.run_length()) + passed * plan.run_stride();
      fold_into(reducer, base + at, some, plan.run_stride(), width, tile);
    }
  };
  if (end - begin <= kTileRows) return fold_some(begin, end, result);
  std::vector<std::array<Acc, kTile>> levels;
  uint64_t pushed = 0;
  for (int64_t start = begin; start < end; start += kTileRows) {
    std::array<Acc, kTile> tile;
    fold_some(start, std::min(end, start + kTileRows), tile.data());
    uint64_t n = pushed++;
    size_t level = 0;
    for (; (n & 1U) != 0; n >>= 1U, ++level) {
      each_of_tile(width, [&](int64_t j) { tile[j] = reducer.merge(levels[level][j], tile[j]); });
    }
    if (level == levels.size())
      levels.push_back(tile);
    else
      levels[level] = tile;
  }
  bool any = false;
  for (size_t level = 0; level < levels.size(); ++level) {
    if (((pushed >> level) & 1U) == 0) continue;
    for (int64_t j = 0; j < width; ++j) {
      result[j] = any ? reducer.merge(levels[level][j], result[j]) : levels[level][j];
    }
    any = true;
  }
}

// By a copy of the reducer, which the results cannot be part of, as they cannot of the folds: the
// compiler makes vectors of whole tiles.
template <typename Reducer>
void finish_tile(Reducer reducer, const typename Reducer::Acc* __restrict acc, int64_t width,
                 typename Reducer::Out* __restrict out) {
  if (width == kTile) {
    for (int64_t j = 0; j < kTile; ++j) out[j] = reducer.finish(acc[j]);
  } else {
    for (int64_t j = 0; j < width; ++j) out[j] = reducer.finish(acc[j]);
  }
}

template <typename Reducer>
void reduce_tiles(const Reducer& reducer, const ReducePlan& plan, const typename Reducer::In* in,
                  typename Reducer::Out* out) {
  using Acc = typename Reducer::Acc;
  const int64_t inner = plan.kept_sizes.back();
  const int64_t tiles = (inner + kTile - 1) / kTile;
  const int64_t chunks = (plan.count + kTileChunk - 1) / kTileChunk;
  const int64_t outer = plan.outputs / inner;
  std::vector<Acc> partial(chunks > 1 ? static_cast<size_t>(plan.outputs * chunks) : 0);
  const int64_t work = std::min(plan.count, kTileChunk) * kTile;
  parallel_for(0, outer * tiles * chunks, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      if (t % kChunksUnasked == 0) poll_interrupt();
      const int64_t chunk = t % chunks;
      const int64_t first = t / chunks / tiles * inner + t / chunks % tiles * kTile;
      const int64_t width = std::min(kTile, inner - t / chunks % tiles * kTile);
      std::array<Acc, kTile> acc;
      fold_tile(reducer, plan, in + plan.output_offset(first), chunk * kTileChunk,
                std::min(plan.count, (chunk + 1) * kTileChunk), width, acc.data());
      if (chunks == 1) {
        finish_tile(reducer, acc.data(), width, out + first);
      } else {
        for (int64_t j = 0; j < width; ++j) partial[(first + j) * chunks + chunk] = acc[j];
      }
    }
  });
  if (chunks == 1) return;
  for (int64_t o = 0; o < plan.outputs; ++o) {
    Cascade<Reducer> cascade(reducer);
    for (int64_t c = 0; c < chunks; ++c) cascade.push(partial[o * chunks + c]);
    out[o] = reducer.finish(cascade.result());
  }
}

// Whether runs are dense and shorter than those that fill vectors, and many lie side by side.
inline bool has_short_runs(const ReducePlan& plan) {
  return plan.reduced_sizes.size() == 1 && plan.run_stride() == 1 && plan.count > 1 &&
         plan.count < kShortRun && !plan.kept_sizes.empty() && plan.kept_sizes.back() >= kFewRuns &&
         plan.kept_strides.back() >= plan.count;
}

// Of numbers of four bytes: some runs at a time, side by side; each in the order of fold_lanes.
template <typename Reducer>
void reduce_short_runs(const Reducer& reducer, const ReducePlan& plan,
                       const typename Reducer::In* in, typename Reducer::Out* out) {
  using Acc = typename Reducer::Acc;
  const int64_t count = plan.count;
  const int64_t inner = plan.kept_sizes.back();
  const int64_t whole = count / kRunLanes;         // Elements of each lane.
  const int64_t used = whole > 0 ? kRunLanes : 1;  // Those without change nothing.
  parallel_for(0, plan.outputs, grain_of(count), [&](int64_t begin, int64_t end) {
    std::array<typename Reducer::In, kShortRun * kTile> turned;
    std::array<std::array<Acc, kTile>, kRunLanes> lanes;
    for (int64_t o = begin, width = 0; o < end; o += width) {
      width = std::min({kTile, end - o, inner - o % inner});
      turn_rows(turned.data(), kTile, in + plan.output_offset(o), plan.kept_strides.back(), width,
                count);
      for (int64_t lane = 0; lane < used; ++lane) {
        std::fill_n(lanes[lane].data(), width, reducer.identity());
        fold_into(reducer, turned.data() + lane * kTile, whole, kRunLanes * kTile, width,
                  lanes[lane].data());
      }
      fold_into(reducer, turned.data() + whole * kRunLanes * kTile, count % kRunLanes, kTile, width,
                lanes[0].data());
      for (int64_t j = 0; used > 1 && j < width; ++j) {
        lanes[0][j] = reducer.merge(reducer.merge(lanes[0][j], lanes[1][j]),
                                    reducer.merge(lanes[2][j], lanes[3][j]));
      }
      for (int64_t j = 0; j < width; ++j) out[o + j] = reducer.finish(lanes[0][j]);
    }
  });
}

}  // namespace reduce_detail

// Writes all outputs of the plan, in row-major order, to `out`.
template <typename Reducer>
void reduce(const Reducer& reducer, const ReducePlan& plan, const typename Reducer::In* in,
            typename Reducer::Out* out) {
  if (plan.outputs == 0) return;
  if (plan.count == 0) {
    std::fill_n(out, plan.outputs, reducer.finish(reducer.identity()));
    return;
  }
  if constexpr (Reducer::kTiles) {
    const bool dense_rows =
        !plan.kept_sizes.empty() && plan.kept_strides.back() == 1 && plan.kept_sizes.back() >= 4;
    if (dense_rows && (plan.run_stride() != 1 || plan.count == 1)) {
      reduce_detail::reduce_tiles(reducer, plan, in, out);
      return;
    }
    if constexpr (sizeof(typename Reducer::In) == sizeof(float)) {
      if (reduce_detail::has_short_runs(plan)) {
        reduce_detail::reduce_short_runs(reducer, plan, in, out);
        return;
      }
    }
  }
  reduce_detail::reduce_runs(reducer, plan, in, out);
}

// A fresh tensor with the reducer's results.
template <typename Reducer>
Tensor reduce_tensor(const Reducer& reducer, const Tensor& self, const ReduceDims& dims,
                     bool keepdim) {
  const ReducePlan plan(self, dims, keepdim);
  Tensor out = Tensor::empty(plan.out_sizes, kDTypeOf<typename Reducer::Out>);
  reduce(reducer, plan, self.data<typename Reducer::In>(),
         static_cast<typename Reducer::Out*>(out.raw()));
  return out;
}

// Folds a run with 32 independent accumulators, so that the compiler can keep them in vectors.
// `fold(Acc&, In)` and `merge(Acc, Acc)` as in a Reducer.
template <typename Acc, typename In, typename Fold, typename Merge>
inline Acc fold_lanes(const In* p, int64_t count, int64_t stride, Acc identity, const Fold& fold,
                      const Merge& merge) {
  constexpr int64_t kLanes = 32;
  if (stride != 1 || count < 2 * kLanes) {
    std::array<Acc, 4> lane{identity, identity, identity, identity};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      for (int64_t j = 0; j < 4; ++j) fold(lane[j], p[(i + j) * stride]);
    }
    for (; i < count; ++i) fold(lane[0], p[i * stride]);
    return merge(merge(lane[0], lane[1]), merge(lane[2], lane[3]));
  }
  std::array<Acc, kLanes> lane;
  lane.fill(identity);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) fold(lane[j], p[i + j]);
  }
  for (; i < count; ++i) fold(lane[0], p[i]);
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] = merge(lane[j], lane[j + width]);
  }
  return lane[0];
}

}  // namespace tierup::kernels
