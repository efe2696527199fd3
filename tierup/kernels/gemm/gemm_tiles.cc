// How a product is shared among threads, and how much of it stays in which cache.
#include "tierup/kernels/gemm/gemm_tiles.h"

#include <algorithm>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kFloat = sizeof(float);

int64_t parts_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

// A panel takes half of the first-level cache, all panels of a slice and the rows of A that meet
// them a third of the second-level one each.
struct Blocking {
  int64_t depth;
  int64_t columns;
  int64_t rows;

  Blocking(const GemmProblem& p, int64_t tile) {
    constexpr int64_t kLeastDepth = 64;
    const CacheSizes& caches = cache_sizes();
    const int64_t most = std::max(kLeastDepth, caches.first_level / 2 / (tile * kFloat));
    depth = parts_of(p.k, parts_of(p.k, most));
    const int64_t share = caches.second_level / 3 / (depth * kFloat);
    columns = std::max<int64_t>(1, share / tile) * tile;
    rows = std::max(tile, share);
  }
};

// Each matrix in so many parts of its rows and columns.
struct Parts {
  int64_t rows = 1;
  int64_t columns = 1;
};

// Columns are shared without doing anything twice, rows with packing done by each thread; but a
// matrix of few columns has not as many tiles for each thread.
Parts parts_for(const GemmProblem& p, const Blocking& blocking, int64_t tile) {
  // Packing a number takes as long as multiplying it by so many.
  constexpr int64_t kPackAsRows = 8;
  Parts parts{1, parts_of(p.n, blocking.columns)};
  const int64_t threads = intra_op_threads();
  const int64_t units = p.batch * parts.columns;
  if (threads == 1 || units % threads == 0 || units >= 8 * threads) return parts;
  const int64_t tiles = parts_of(p.n, tile);
  const int64_t by_columns = parts_of(tiles, threads) * (p.m + kPackAsRows);
  const int64_t by_rows = tiles * (parts_of(p.m, threads) + kPackAsRows);
  if (by_columns <= by_rows)
    parts.columns = parts_of(parts.columns, threads) * threads;
  else
    parts.rows = threads;
  return parts;
}

}  // namespace

bool is_for_tiles(const GemmProblem& p) {
  return instruction_set() == InstructionSet::kAvx2 && is_factor(p.alpha, 1) &&
         (is_factor(p.beta, 0) || is_factor(p.beta, 1));
}

void gemm_tiles(const GemmProblem& p) {
  const GemmBlockKernels& kernels = gemm_block_kernels();
  const int64_t tile = kernels.tile_columns;
  const Blocking blocking(p, tile);
  const Parts parts = parts_for(p, blocking, tile);
  const int64_t tiles = parts_of(p.n, tile);
  const int64_t per_matrix = parts.rows * parts.columns;
  const int64_t grain = grain_of(p.m * p.n * p.k / per_matrix);
  parallel_for(0, p.batch * per_matrix, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t batch = index / per_matrix;
      const int64_t row_part = index % per_matrix / parts.columns;
      const int64_t column_part = index % parts.columns;
      const int64_t row = p.m * row_part / parts.rows;
      const int64_t column = tiles * column_part / parts.columns * tile;
      const int64_t next = std::min(p.n, tiles * (column_part + 1) / parts.columns * tile);
      const int64_t rows = p.m * (row_part + 1) / parts.rows - row;
      if (next <= column || rows == 0) continue;
      const int64_t width = parts_of(next - column, tile) * tile;
      const size_t workspace = static_cast<size_t>(blocking.depth * (width + blocking.rows));
      const auto* bias = static_cast<const float*>(p.bias);
      kernels.tiles_f32(
          {rows, next - column, p.k,
           static_cast<const float*>(p.a.data) + batch * p.a.batch_stride + row * p.a.row_stride,
           p.a.row_stride, p.a.col_stride,
           static_cast<const float*>(p.b.data) + batch * p.b.batch_stride + column * p.b.col_stride,
           p.b.row_stride, p.b.col_stride,
           static_cast<float*>(p.c) + batch * p.c_batch_stride + row * p.c_row_stride + column,
           p.c_row_stride, bias == nullptr ? nullptr : bias + column, is_factor(p.beta, 1),
           blocking.depth, blocking.rows,
           static_cast<float*>(thread_scratch(workspace * sizeof(float)))});
    }
  });
}

}  // namespace tierup::kernels
