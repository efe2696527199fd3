// Cuts attention into pieces for threads: heads of keys, and rows of the queries that read one.
#include "tierup/kernels/attention/attention_floats.h"

#include <algorithm>

#include "tierup/base/machine.h"
#include "tierup/base/piece_queue.h"
#include "tierup/kernels/attention/attention_tiles.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

AttentionKernels attention_kernels() {
  return TIERUP_VARIANT(instruction_set(), attention_kernels_base, attention_kernels_avx2,
                        attention_kernels_avx512)();
}

// The scores of a block of keys and its values stay in the first-level cache from the maximum to
// the last product.
int64_t key_block_of(const AttentionProblem& p, int64_t lanes) {
  constexpr int64_t kStep = 48;  // Whole tiles of all heights.
  const int64_t floats = cache_sizes().first_level / static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(floats / (p.width + lanes) / kStep * kStep, kStep, 8 * kStep);
}

// Pieces of the rows of a head: enough for threads to share the work evenly, each of whole blocks.
int64_t row_parts(int64_t heads, int64_t rows, int threads) {
  constexpr int64_t kPiecesOfThread = 4;
  if (threads == 1) return 1;
  const int64_t blocks = (rows + kAttentionBlock - 1) / kAttentionBlock;
  const int64_t wanted = (threads * kPiecesOfThread + heads - 1) / heads;
  return std::clamp<int64_t>(wanted, 1, blocks);
}

// Multiplications that a thread is worth.
constexpr int64_t kWorkOfThread = 65536;

}  // namespace

void attend_floats(const AttentionProblem& p, const float* query, const float* key,
                   const float* value, std::span<const void* const> masks, float* out) {
  const AttentionKernels kernels = attention_kernels();
  const int64_t heads = p.batch * p.heads / p.group;
  const int64_t rows = p.group * p.queries;
  const bool is_alone = rows <= kernels.most_alone;
  const int64_t work = heads * rows * p.keys * (p.depth + p.width);
  const auto threads =
      static_cast<int>(std::clamp<int64_t>(work / kWorkOfThread, 1, intra_op_threads()));
  const int64_t parts = row_parts(heads, rows, threads);
  const int64_t blocks = (rows + kAttentionBlock - 1) / kAttentionBlock;
  const int64_t key_block = key_block_of(p, is_alone ? 0 : kernels.lanes);
  const auto scratch_bytes = static_cast<size_t>(attention_scratch(p, key_block)) * sizeof(float);
  parallel_pieces(heads * parts, piece_workers(heads * parts, threads), [&](int64_t i, int64_t) {
    const int64_t head = i / parts % (p.heads / p.group);
    const int64_t batch = i / parts / (p.heads / p.group);
    const auto at = [&](const int64_t(&strides)[4], int64_t each) {
      return batch * strides[0] + head * each * strides[1];
    };
    AttentionRows piece;
    piece.problem = &p;
    piece.query = query + at(p.query_strides, p.group);
    piece.key = key + at(p.key_strides, 1);
    piece.value = value + at(p.value_strides, 1);
    piece.out = out + at(p.out_strides, p.group);
    for (int m = 0; m < p.mask_count; ++m) {
      const AttentionMask& mask = p.masks[m];
      const int64_t entry = mask.batch_period > 0 ? batch % mask.batch_period : batch;
      const int64_t place = entry * mask.strides[0] + head * p.group * mask.strides[1];
      const int64_t bytes = mask.is_bool ? 1 : static_cast<int64_t>(sizeof(float));
      piece.masks[m] = static_cast<const char*>(masks[static_cast<size_t>(m)]) + place * bytes;
    }
    piece.first = blocks * (i % parts) / parts * kAttentionBlock;
    const int64_t last = blocks * (i % parts + 1) / parts * kAttentionBlock;
    piece.count = std::min(last, rows) - piece.first;
    piece.key_block = key_block;
    piece.scratch = static_cast<float*>(thread_scratch(scratch_bytes));
    (is_alone ? kernels.alone : kernels.together)(piece);
  });
}

}  // namespace tierup::kernels
