// A block of queries against all keys is a small product, rows of softmax, and another product;
// scores are never stored beyond a block.
#include "tierup/kernels/attention/attention_floats.h"

#include <algorithm>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/scratch.h"

namespace tierup::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr int64_t kMostRows = 64;

struct Operands {
  const float* query;
  const float* key;
  const float* value;
  const void* mask;
  float* out;
};

int64_t place(const int64_t (&strides)[4], int64_t batch, int64_t head, int64_t row) {
  return batch * strides[0] + head * strides[1] + row * strides[2];
}

void apply_mask(const AttentionProblem& p, const void* mask, int64_t first, int64_t keys,
                float* scores) {
  const int64_t step = p.mask_strides[3];
  if (p.mask_is_bool) {
    const bool* seen = static_cast<const bool*>(mask) + first;
    for (int64_t i = 0; i < keys; ++i) scores[i] = seen[i * step] ? scores[i] : kHidden;
    return;
  }
  const float* added = static_cast<const float*>(mask) + first;
  for (int64_t i = 0; i < keys; ++i) scores[i] += added[i * step];
}

void attend_block(const AttentionProblem& p, const Operands& o, int64_t batch, int64_t head,
                  int64_t first, int64_t rows, float* scores, void* workspace) {
  const RowKernels<float>& kernels = row_kernels<float>();
  const int64_t keys = p.is_causal ? std::min(p.keys, first + rows) : p.keys;
  float* out = o.out + place(p.out_strides, batch, head, first);
  multiply_floats(true, rows, keys, p.depth, o.query + place(p.query_strides, batch, head, first),
                  p.query_strides[2], o.key + place(p.key_strides, batch, head, 0),
                  p.key_strides[2], scores, keys, workspace);
  float sums[kMostRows];
  for (int64_t r = 0; r < rows; ++r) {
    float* row = scores + r * keys;
    const int64_t seen = p.is_causal ? std::min(keys, first + r + 1) : keys;
    kernels.scale(row, seen, static_cast<float>(p.scale), row);
    if (o.mask != nullptr) {
      apply_mask(p, o.mask, place(p.mask_strides, batch, head, first + r), seen, row);
    }
    const float top = kernels.max(row, seen);
    if (top == kHidden) {
      std::fill(row, row + keys, 0.0F);
      sums[r] = 1;
      continue;
    }
    sums[r] = kernels.exp_shifted(row, seen, top);
    std::fill(row + seen, row + keys, 0.0F);
  }
  multiply_floats(false, rows, p.width, keys, scores, keys,
                  o.value + place(p.value_strides, batch, head, 0), p.value_strides[2], out,
                  p.out_strides[2], workspace);
  for (int64_t r = 0; r < rows; ++r) {
    kernels.scale(out + r * p.out_strides[2], p.width, 1 / sums[r], out + r * p.out_strides[2]);
  }
}

}  // namespace

void attend_floats(const AttentionProblem& p, const float* query, const float* key,
                   const float* value, const void* mask, float* out) {
  const Operands operands{query, key, value, mask, out};
  // Few rows where keys are many, so that the scores stay in the cache.
  const int64_t fitting = std::clamp<int64_t>(65536 / std::max<int64_t>(p.keys, 1), 8, kMostRows);
  const int64_t block = std::min(fitting, p.queries);
  const int64_t blocks = (p.queries + block - 1) / block;
  const int64_t work = block * p.keys * (p.depth + p.width);
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, work));
  parallel_for(0, p.batch * p.heads * blocks, grain, [&](int64_t begin, int64_t end) {
    const size_t score_bytes = (static_cast<size_t>(block * p.keys) * sizeof(float) + 63) / 64 * 64;
    auto* scratch = static_cast<char*>(thread_scratch(score_bytes + kGemmWorkspaceBytes));
    auto* scores = reinterpret_cast<float*>(scratch);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * block;
      const int64_t head = i / blocks % p.heads;
      attend_block(p, operands, i / blocks / p.heads, head, first,
                   std::min(block, p.queries - first), scores, scratch + score_bytes);
    }
  });
}

}  // namespace tierup::kernels
