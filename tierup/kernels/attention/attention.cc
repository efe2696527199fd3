// f32 goes by tiles (attention_floats.h). In f64 the scores of a block of queries against all keys
// they see are one small matrix product, then rows of softmax, then another product: nothing of the
// size L x S is ever stored.
#include "tierup/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/attention/attention_floats.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/shape/triangle.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Operands brought to [batch, heads, rows, columns], rows dense.
struct Problem {
  Tensor query, key, value, mask, out;
  int64_t batch = 1, heads = 1, group = 1;  // `group` query heads share a key head.
  int64_t queries = 0, keys = 0, depth = 0, width = 0;
  double scale = 1;
  bool is_causal = false;
};

// Rows must lie densely for the matrix products.
Tensor dense_rows(const Tensor& tensor) {
  const bool dense =
      (tensor.stride(-1) == 1 || tensor.size(-1) == 1) && tensor.stride(-2) >= tensor.size(-1);
  return dense ? tensor : clone(tensor, MemoryFormat::kContiguous);
}

template <typename T>
T* matrix_at(const Tensor& t, int64_t batch, int64_t head) {
  return t.data<T>() + batch * t.strides()[0] + head * t.strides()[1];
}

void multiply(bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
              const double* b, int64_t ldb, double* c, int64_t ldc) {
  GemmProblem p;
  p.dtype = ScalarType::kDouble;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = {a, 0, lda, 1};
  p.b = {b, 0, transpose_b ? 1 : ldb, transpose_b ? ldb : 1};
  p.c = c;
  p.c_row_stride = ldc;
  gemm(p);
}

// Adds the mask of one query to its scores; a bool mask hides where it is false.
void apply_mask(const Tensor& mask, int64_t batch, int64_t head, int64_t query, int64_t keys,
                double* scores) {
  const IntSpan strides = mask.strides();
  const int64_t base = batch * strides[0] + head * strides[1] + query * strides[2];
  if (mask.dtype() == ScalarType::kBool) {
    const bool* seen = mask.data<bool>() + base;
    for (int64_t i = 0; i < keys; ++i) {
      scores[i] = seen[i * strides[3]] ? scores[i] : -std::numeric_limits<double>::infinity();
    }
    return;
  }
  const double* added = mask.data<double>() + base;
  if (strides[3] == 1) {
    for (int64_t i = 0; i < keys; ++i) scores[i] += added[i];
  } else {
    for (int64_t i = 0; i < keys; ++i) scores[i] += added[i * strides[3]];
  }
}

void attend_block(const Problem& p, int64_t batch, int64_t head, int64_t first, int64_t rows,
                  double* scores) {
  const RowKernels<double>& kernels = row_kernels<double>();
  const int64_t key_head = head / p.group;
  // The last query of the block sees most; the others are cut row by row.
  const int64_t keys = p.is_causal ? std::min(p.keys, first + rows) : p.keys;
  const double* q = matrix_at<double>(p.query, batch, head) + first * p.query.strides()[2];
  double* out = matrix_at<double>(p.out, batch, head) + first * p.out.strides()[2];
  multiply(true, rows, keys, p.depth, q, p.query.strides()[2],
           matrix_at<double>(p.key, batch, key_head), p.key.strides()[2], scores, keys);
  double sums[128];
  for (int64_t r = 0; r < rows; ++r) {
    double* row = scores + r * keys;
    const int64_t seen = p.is_causal ? std::min(keys, first + r + 1) : keys;
    kernels.scale(row, seen, p.scale, row);
    if (p.mask.defined()) apply_mask(p.mask, batch, head, first + r, seen, row);
    const double top = kernels.max(row, seen);
    if (top == -std::numeric_limits<double>::infinity()) {
      std::fill(row, row + keys, 0.0);
      sums[r] = 1;
      continue;
    }
    sums[r] = kernels.exp_shifted(row, seen, top);
    std::fill(row + seen, row + keys, 0.0);
  }
  multiply(false, rows, p.width, keys, scores, keys, matrix_at<double>(p.value, batch, key_head),
           p.value.strides()[2], out, p.out.strides()[2]);
  for (int64_t r = 0; r < rows; ++r) {
    kernels.scale(out + r * p.out.strides()[2], p.width, 1.0 / sums[r],
                  out + r * p.out.strides()[2]);
  }
}

void attend(const Problem& p) {
  // Few rows where keys are many, so that the scores stay in the cache.
  const int64_t fitting = std::clamp<int64_t>(65536 / std::max<int64_t>(p.keys, 1), 8, 64);
  const int64_t block = std::min(fitting, p.queries);
  const int64_t blocks = (p.queries + block - 1) / block;
  const int64_t work = block * p.keys * (p.depth + p.width);
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, work));
  parallel_for(0, p.batch * p.heads * blocks, grain, [&](int64_t begin, int64_t end) {
    const Tensor scores = Tensor::empty(IntVector{block, p.keys}, ScalarType::kDouble);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * block;
      const int64_t head = i / blocks % p.heads;
      attend_block(p, i / blocks / p.heads, head, first, std::min(block, p.queries - first),
                   scores.data<double>());
    }
  });
}

// Strides of [batch, heads, rows, columns]; 0 where there is but one.
void set_strides(const Tensor& t, int64_t (&strides)[4]) {
  for (size_t d = 0; d < 4; ++d) strides[d] = t.sizes()[d] == 1 ? 0 : t.strides()[d];
}

void attend_as_floats(const Problem& p) {
  AttentionProblem floats;
  floats.batch = p.batch;
  floats.heads = p.heads;
  floats.group = p.group;
  floats.queries = p.queries;
  floats.keys = p.keys;
  floats.depth = p.depth;
  floats.width = p.width;
  floats.scale = p.scale;
  floats.is_causal = p.is_causal;
  set_strides(p.query, floats.query_strides);
  set_strides(p.key, floats.key_strides);
  set_strides(p.value, floats.value_strides);
  set_strides(p.out, floats.out_strides);
  const void* mask = nullptr;
  if (p.mask.defined()) {
    floats.mask_count = 1;
    set_strides(p.mask, floats.masks[0].strides);
    floats.masks[0].is_bool = p.mask.dtype() == ScalarType::kBool;
    mask = p.mask.raw();
  }
  attend_floats(floats, p.query.data<float>(), p.key.data<float>(), p.value.data<float>(),
                {&mask, 1}, p.out.data<float>());
}

// [*, R, C] to [batch, heads, R, C], broadcast to the batch sizes; `heads` stays last of them.
Tensor to_four_dims(const Tensor& tensor, IntSpan batch_sizes) {
  IntVector sizes(batch_sizes.begin(), batch_sizes.end());
  sizes.push_back(tensor.size(-2));
  sizes.push_back(tensor.size(-1));
  const Tensor expanded = expand_to(tensor, sizes);
  if (batch_sizes.size() == 2) return expanded;
  if (batch_sizes.size() == 1) return unsqueeze(expanded, 0);
  if (batch_sizes.empty()) return unsqueeze(unsqueeze(expanded, 0), 0);
  int64_t merged = 1;
  for (const int64_t size : batch_sizes.first(batch_sizes.size() - 1)) merged *= size;
  return reshape(expanded, IntVector{merged, batch_sizes.back(), tensor.size(-2), tensor.size(-1)});
}

IntSpan batch_part(const Tensor& tensor) {
  return tensor.sizes().first(static_cast<size_t>(tensor.dim() - 2));
}

// Sizes of key heads spread over the query heads they serve.
IntVector grouped_batch(const Tensor& query, const Tensor& key, int64_t& group) {
  IntVector sizes(batch_part(key).begin(), batch_part(key).end());
  group = query.size(-3) / key.size(-3);
  sizes.back() = query.size(-3);
  return sizes;
}

AttentionOperand operand(const Tensor& t) { return {t.sizes(), t.strides()}; }

}  // namespace

bool lies_as_query(const AttentionOperand& query, const AttentionOperand& key,
                   const AttentionOperand& value, size_t mask_rank, bool enable_gqa) {
  if (mask_rank != 0 && mask_rank != 2 && mask_rank != 4) return false;
  for (const AttentionOperand* x : {&query, &key, &value}) {
    if (x->sizes.size() != 4 || x->strides[3] != 1) return false;
    if (std::ranges::find(x->sizes, 0) != x->sizes.end()) return false;
    if (x->sizes[0] != query.sizes[0] || x->sizes[3] != query.sizes[3]) return false;
  }
  const int64_t heads = key.sizes[1];
  return heads == value.sizes[1] && (enable_gqa || heads == query.sizes[1]);
}

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, const AttentionOptions& options) {
  require(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, kBad,
          "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
          "dimensional, but "
          "got {}, {}, {}",
          query.dim(), key.dim(), value.dim());
  require(query.dtype() == key.dtype() && query.dtype() == value.dtype(), kBad,
          "Expected query, key, and value to have the same dtype, but got query.dtype: {} "
          "key.dtype: {} and "
          "value.dtype: {} instead.",
          dtype_name(query.dtype()), dtype_name(key.dtype()), dtype_name(value.dtype()));
  if (!(query.size(-1) == key.size(-1) && key.size(-2) == value.size(-2))) {
    fail(kBad, "scaled_dot_product_attention: sizes of query {}, key {} and value {} do not fit",
         shape_string(query.sizes()), shape_string(key.sizes()), shape_string(value.sizes()));
  }
  require(
      !(options.is_causal && mask.defined()), kBad,
      "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  require(!mask.defined() || mask.dtype() == ScalarType::kBool ||
              mask.dtype() == ScalarType::kFloat || mask.dtype() == query.dtype(),
          kBad,
          "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
          "attn_mask.dtype: {} and "
          " query.dtype: {} instead.",
          mask.defined() ? dtype_name(mask.dtype()) : "", dtype_name(query.dtype()));
  const auto divides = [&](const Tensor& t) {
    return query.dim() >= 3 && t.dim() >= 3 && t.size(-3) > 0 && query.size(-3) % t.size(-3) == 0;
  };
  if (options.enable_gqa && !(divides(key) && divides(value))) {
    fail(kBad,
         "Number of heads in key and value must divide the number of heads in query, got {}, {} "
         "and {}",
         shape_string(query.sizes()), shape_string(key.sizes()), shape_string(value.sizes()));
  }
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const AttentionOptions& options) {
  check_attention(query, key, value, mask, options);
  Problem p;
  const IntVector key_batch = options.enable_gqa
                                  ? grouped_batch(query, key, p.group)
                                  : IntVector(batch_part(key).begin(), batch_part(key).end());
  const IntVector common =
      broadcast_shapes(batch_part(query), {key_batch.data(), key_batch.size()});
  const IntVector batch =
      broadcast_shapes(common, options.enable_gqa ? IntSpan(common) : batch_part(value));
  IntVector shared = batch;
  if (p.group > 1) shared.back() = key.size(-3);
  const ScalarType work = work_type(query.dtype());
  p.query = dense_rows(to_dtype(to_four_dims(query, batch), work));
  p.key = dense_rows(to_dtype(to_four_dims(key, shared), work));
  p.value = dense_rows(to_dtype(to_four_dims(value, shared), work));
  p.batch = p.query.size(0);
  p.heads = p.query.size(1);
  p.queries = p.query.size(2);
  p.depth = p.query.size(3);
  p.keys = p.key.size(2);
  p.width = p.value.size(3);
  p.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(p.depth)));
  p.is_causal = options.is_causal;
  if (mask.defined()) {
    IntVector sizes = batch;
    sizes.insert(sizes.end(), {p.queries, p.keys});
    const Tensor typed = mask.dtype() == ScalarType::kBool ? mask : to_dtype(mask, work);
    p.mask = to_four_dims(expand_to(typed, sizes), batch);
  }
  const size_t mask_rank = mask.defined() ? mask.sizes().size() : 0;
  p.out = lies_as_query(operand(query), operand(key), operand(value), mask_rank, options.enable_gqa)
              ? empty_like(query, work)
              : Tensor::empty(IntVector{p.batch, p.heads, p.queries, p.width}, work);
  if (p.out.numel() > 0) {
    if (p.keys == 0 || p.depth == 0) {
      fill(p.out, 0);
    }
    if (p.keys > 0) {
      dispatch_work(work, "scaled_dot_product_attention", [&]<typename Tag>(Tag) {
        std::is_same_v<typename Tag::type, float> ? attend_as_floats(p) : attend(p);
      });
    }
  }
  const Tensor out = to_dtype(p.out, query.dtype());
  if (query.dim() == 4 && batch.size() == 2) return out;
  IntVector sizes = batch;
  sizes.insert(sizes.end(), {p.queries, p.width});
  return reshape(out, sizes);
}

Tensor repeated_heads(const Tensor& keys, int64_t heads) {
  const int64_t group = heads / keys.size(-3);
  if (group == 1) return keys;
  IntVector sizes(keys.sizes().begin(), keys.sizes().end());
  const size_t at = sizes.size() - 2;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), group);
  IntVector merged(keys.sizes().begin(), keys.sizes().end());
  merged[at - 1] *= group;
  return reshape(expand_to(unsqueeze(keys, -3), sizes), merged);
}

Tensor attention_log_sums(const Tensor& query, const Tensor& key, const Tensor& mask,
                          const AttentionOptions& options) {
  const ScalarType work = work_type(query.dtype());
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  const Tensor keys = options.enable_gqa ? repeated_heads(key, query.size(-3)) : key;
  Tensor scores = pointwise(
      {Body::kMul},
      {matmul(to_dtype(query, work), transpose(to_dtype(keys, work), -2, -1)), Scalar(scale)});
  const Operand hidden(Scalar(-std::numeric_limits<double>::infinity()));
  if (options.is_causal) {
    Tensor seen = Tensor::empty(IntVector{query.size(-2), key.size(-2)}, ScalarType::kBool);
    fill(seen, Scalar(true));
    scores = evaluate(where(tril(seen, 0), Operand(scores), hidden));
  } else if (mask.defined() && mask.dtype() == ScalarType::kBool) {
    scores = evaluate(where(mask, Operand(scores), hidden));
  } else if (mask.defined()) {
    scores = pointwise({Body::kAdd, Promote::kSame, 1}, {scores, mask});
  }
  const Tensor sums = logsumexp(scores, {-1}, false);
  return sums.dim() >= 2 ? transpose(contiguous(transpose(sums, -2, -1)), -2, -1) : sums;
}

}  // namespace tierup::kernels
