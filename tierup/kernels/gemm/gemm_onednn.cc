// The matmul primitive. oneDNN's other entry, dnnl_sgemm, generates all its kernels in its first
// call (7 ms for a row, 57 ms more for a matrix, measured), whatever is asked of it.
#include "tierup/kernels/gemm/gemm_onednn.h"

#include <algorithm>
#include <bit>
#include <dnnl.hpp>
#include <string_view>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/onednn/onednn_engine.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

using dnnl::memory;

// A copy of an operand that is multiplied instead: of each matrix, rows of so many numbers
// (columns, where those lie dense), from one to the next before and behind. Without rows there is
// none.
struct Copy {
  int64_t rows = 0;
  int64_t count = 0;
  int64_t stride = 0;
  int64_t to_stride = 0;
  int64_t matrices = 1;
  int64_t batch_stride = 0;

  int64_t numbers() const { return matrices * rows * to_stride; }
};

struct CachedMatmul {
  dnnl::matmul primitive;
  memory a, b, bias, c, scratchpad;
  size_t scratchpad_bytes = 0;
  Copy copied_a, copied_b;
};

constexpr int64_t kLineFloats = 16;

int64_t padded(int64_t stride) { return stride + kLineFloats; }

// Whether rows drive one another out of the first-level cache where a few columns of all are read:
// those that begin half a page apart, or whole ones, share the sets of two lines, as the caches
// are looked up by addresses within a page.
bool rows_collide(int64_t rows, int64_t stride) {
  constexpr int64_t kPageFloats = 1024;
  if (stride == 0 || stride % (kPageFloats / 2) != 0) return false;
  const int64_t ways = cache_sizes().first_level / (kPageFloats * int64_t{sizeof(float)});
  return rows > 2 * ways;
}

// Of fewer multiplications of each number no matrix is copied.
constexpr int64_t kLeastUses = 64;

// Whether copying a matrix of `rows` such rows is worth it: nor where the copy would not stay in
// the caches.
bool is_worth_a_copy(int64_t rows, int64_t stride, int64_t uses) {
  const int64_t bytes = rows * padded(stride) * int64_t{sizeof(float)};
  return rows_collide(rows, stride) && uses >= kLeastUses && bytes <= cache_sizes().last_level;
}

void copy_rows(const void* from, const Copy& copy, float* to) {
  const auto* source = static_cast<const float*>(from);
  constexpr int64_t kNumbersForOne = 32768;
  parallel_for(0, copy.matrices * copy.rows, std::max<int64_t>(1, kNumbersForOne / copy.count),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t at =
                       i / copy.rows * copy.batch_stride + i % copy.rows * copy.stride;
                   std::copy_n(source + at, copy.count, to + i * copy.to_stride);
                 }
               });
}

// Strides oneDNN accepts: a dimension of size 1 may have any stride in PyTorch.
void normalize(int64_t rows, int64_t cols, int64_t& row_stride, int64_t& col_stride) {
  if (cols == 1 && row_stride != 1) col_stride = 1;
  if (rows == 1 && col_stride == 1) row_stride = cols;
  if (rows == 1 && col_stride != 1) row_stride = 1;
  if (cols == 1 && row_stride == 1) col_stride = rows;
}

dnnl::matmul::primitive_desc describe_matmul(const GemmProblem& p, const MatrixOperand& a,
                                             const MatrixOperand& b, float alpha, float beta) {
  const auto type =
      p.dtype == ScalarType::kBFloat16 ? memory::data_type::bf16 : memory::data_type::f32;
  const auto desc = [&](int64_t rows, int64_t cols, const MatrixOperand& x) {
    if (p.batch == 1) return memory::desc({rows, cols}, type, {x.row_stride, x.col_stride});
    const int64_t batch = x.batch_stride == 0 ? 1 : p.batch;
    const int64_t step = x.batch_stride == 0 ? rows * cols : x.batch_stride;
    return memory::desc({batch, rows, cols}, type, {step, x.row_stride, x.col_stride});
  };
  const auto a_desc = desc(p.m, p.k, a);
  const auto b_desc = desc(p.k, p.n, b);
  const auto c_desc =
      desc(p.m, p.n, {nullptr, p.batch == 1 ? 0 : p.c_batch_stride, p.c_row_stride, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (alpha != 1.0F) attributes.set_output_scales(0, {alpha});
  if (beta != 0.0F) {
    dnnl::post_ops sum;
    sum.append_sum(beta);
    attributes.set_post_ops(sum);
  }
  const auto& engine = onednn_engine();
  memory::desc bias_desc;
  if (p.bias != nullptr) {
    bias_desc = p.batch == 1 ? memory::desc({1, p.n}, type, memory::format_tag::ab)
                             : memory::desc({1, 1, p.n}, type, memory::format_tag::abc);
  }
  const dnnl::matmul::desc description = p.bias != nullptr
                                             ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                                             : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  return {description, attributes, engine};
}

bool lies_by_columns(const MatrixOperand& x) { return x.row_stride == 1 && x.col_stride != 1; }

// Rows, or columns, that lie dense, with another stride from now on.
Copy copy_apart(MatrixOperand& x, int64_t batch, int64_t rows, int64_t cols, int64_t to_stride) {
  const bool by_columns = lies_by_columns(x);
  int64_t& stride = by_columns ? x.col_stride : x.row_stride;
  const Copy copy{.rows = by_columns ? cols : rows,
                  .count = by_columns ? rows : cols,
                  .stride = stride,
                  .to_stride = to_stride,
                  .matrices = x.batch_stride == 0 ? 1 : batch,
                  .batch_stride = x.batch_stride};
  stride = to_stride;
  if (x.batch_stride != 0) x.batch_stride = copy.rows * to_stride;
  return copy;
}

// Whether the way was taken that generates all of its kernels in its first call, 23 ms (measured).
bool is_general(const dnnl::matmul::primitive_desc& pd) {
  return std::string_view(pd.impl_info_str()).starts_with("gemm");
}

// Whether copies of such matrices of a batch stay in the caches.
bool may_copy_all(const GemmProblem& p, int64_t rows, int64_t cols) {
  return p.dtype == ScalarType::kFloat &&
         p.batch * rows * cols * int64_t{sizeof(float)} <= cache_sizes().last_level;
}

// Rows with gaps between them, where those of other matrices of the batch may lie, leave no other
// way: without gaps there mostly is one. The general way copies what it multiplies as well.
bool close_gaps(const GemmProblem& p, MatrixOperand& a, MatrixOperand& b, CachedMatmul& result) {
  const auto closed = [&](MatrixOperand& x, int64_t rows, int64_t cols) {
    const bool by_columns = lies_by_columns(x);
    const int64_t count = by_columns ? rows : cols;
    const bool has_gaps = (by_columns ? x.col_stride : x.row_stride) != count;
    return has_gaps && may_copy_all(p, rows, cols) ? copy_apart(x, p.batch, rows, cols, count)
                                                   : Copy{};
  };
  result.copied_a = closed(a, p.m, p.k);
  result.copied_b = closed(b, p.k, p.n);
  return result.copied_a.rows + result.copied_b.rows > 0;
}

// The general way reads few columns of all rows at a time, and has no care for how they lie.
bool part_rows(const GemmProblem& p, MatrixOperand& a, MatrixOperand& b, CachedMatmul& result) {
  if (a.row_stride == 1 && is_worth_a_copy(p.k, a.col_stride, p.n))
    result.copied_a = copy_apart(a, 1, p.m, p.k, padded(a.col_stride));
  if (b.col_stride == 1 && is_worth_a_copy(p.k, b.row_stride, p.m))
    result.copied_b = copy_apart(b, 1, p.k, p.n, padded(b.row_stride));
  return result.copied_a.rows + result.copied_b.rows > 0;
}

CachedMatmul make_matmul(const GemmProblem& p, MatrixOperand a, MatrixOperand b, float alpha,
                         float beta) {
  CachedMatmul result;
  auto pd = describe_matmul(p, a, b, alpha, beta);
  if (p.dtype == ScalarType::kFloat && is_general(pd)) {
    MatrixOperand dense_a = a;
    MatrixOperand dense_b = b;
    const auto dense = close_gaps(p, dense_a, dense_b, result)
                           ? describe_matmul(p, dense_a, dense_b, alpha, beta)
                           : pd;
    if (!is_general(dense)) {
      pd = dense;
    } else {
      result.copied_a = result.copied_b = {};
      if (p.batch == 1 && part_rows(p, a, b, result)) pd = describe_matmul(p, a, b, alpha, beta);
    }
  }
  const auto& engine = onednn_engine();
  const auto over_nothing = [&](const memory::desc& desc) { return memory(desc, engine, nullptr); };
  result.primitive = dnnl::matmul(pd);
  result.a = over_nothing(pd.src_desc());
  result.b = over_nothing(pd.weights_desc());
  if (p.bias != nullptr) result.bias = over_nothing(pd.bias_desc());
  result.c = over_nothing(pd.dst_desc());
  result.scratchpad = over_nothing(pd.scratchpad_desc());
  result.scratchpad_bytes = pd.scratchpad_desc().get_size();
  return result;
}

// Some 10 us of a small product, whatever the width of vectors: the threads of a team wait for one
// another while they copy the matrices, read what another core has just written, and leave half of
// the result in its caches.
int64_t most_for_one() {
  constexpr int64_t kMostForALane = int64_t{1} << 17;
  const InstructionSet set = instruction_set();
  return kMostForALane * (set == InstructionSet::kAvx512 ? 16
                          : set == InstructionSet::kAvx2 ? 8
                                                         : 4);
}

// Whether rows of one matrix stand between those of another, and are not copied apart: then the
// library has but its general way.
bool lies_interleaved(const GemmProblem& p) {
  const auto is_between = [](int64_t step, int64_t row_stride, int64_t col_stride) {
    return step != 0 && step < std::max(row_stride, col_stride);
  };
  const auto stays_between = [&](const MatrixOperand& x, int64_t rows, int64_t cols) {
    return is_between(x.batch_stride, x.row_stride, x.col_stride) && !may_copy_all(p, rows, cols);
  };
  return p.batch > 1 && (stays_between(p.a, p.m, p.k) || stays_between(p.b, p.k, p.n) ||
                         is_between(p.c_batch_stride, p.c_row_stride, 1));
}

// Matrix by matrix, each by one thread where there are enough for all.
void multiply_apart(const GemmProblem& p) {
  const auto width = static_cast<int64_t>(item_size(p.dtype));
  const auto multiply_one = [&](int64_t i) {
    GemmProblem one = p;
    one.batch = 1;
    one.a.data = static_cast<const char*>(p.a.data) + i * p.a.batch_stride * width;
    one.b.data = static_cast<const char*>(p.b.data) + i * p.b.batch_stride * width;
    one.c = static_cast<char*>(p.c) + i * p.c_batch_stride * width;
    gemm_onednn(one);
  };
  if (p.batch < intra_op_threads()) {
    for (int64_t i = 0; i < p.batch; ++i) multiply_one(i);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, most_for_one() / (p.m * p.n * p.k));
  parallel_for(0, p.batch, grain, [&](int64_t begin, int64_t end) {
    const ThreadCountScope alone(1);
    for (int64_t i = begin; i < end; ++i) multiply_one(i);
  });
}

}  // namespace

void gemm_onednn(const GemmProblem& p) {
  if (lies_interleaved(p)) return multiply_apart(p);
  const PrimitiveThreads threads(p.batch * p.m * p.n * p.k,
                                 p.batch * (p.m * p.k + p.k * p.n + p.m * p.n), most_for_one());
  MatrixOperand a = p.a;
  MatrixOperand b = p.b;
  normalize(p.m, p.k, a.row_stride, a.col_stride);
  normalize(p.k, p.n, b.row_stride, b.col_stride);
  const auto alpha = p.alpha.to<float>();
  const auto beta = p.beta.to<float>();
  thread_local PrimitiveCache<CachedMatmul> cache;
  const PrimitiveKey key{static_cast<int64_t>(p.dtype),
                         p.batch,
                         p.m,
                         p.n,
                         p.k,
                         a.batch_stride,
                         a.row_stride,
                         a.col_stride,
                         b.batch_stride,
                         b.row_stride,
                         b.col_stride,
                         p.c_batch_stride,
                         p.c_row_stride,
                         p.bias != nullptr ? 1 : 0,
                         std::bit_cast<int32_t>(alpha),
                         std::bit_cast<int32_t>(beta),
                         intra_op_threads()};
  CachedMatmul& cached = cache.get(key, [&] { return make_matmul(p, a, b, alpha, beta); });
  const auto a_numbers = static_cast<size_t>(cached.copied_a.numbers());
  const auto b_numbers = static_cast<size_t>(cached.copied_b.numbers());
  const size_t copied_bytes = (a_numbers + b_numbers) * sizeof(float);
  char* scratch = nullptr;
  if (copied_bytes + cached.scratchpad_bytes > 0)
    scratch = static_cast<char*>(thread_scratch(cached.scratchpad_bytes + copied_bytes));
  auto* const copies = reinterpret_cast<float*>(scratch);
  if (cached.copied_a.rows > 0) {
    copy_rows(a.data, cached.copied_a, copies);
    a.data = copies;
  }
  if (cached.copied_b.rows > 0) {
    copy_rows(b.data, cached.copied_b, copies + a_numbers);
    b.data = copies + a_numbers;
  }
  cached.a.set_data_handle(const_cast<void*>(a.data));
  cached.b.set_data_handle(const_cast<void*>(b.data));
  cached.c.set_data_handle(p.c);
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, cached.a.get()},
                                  {DNNL_ARG_WEIGHTS, cached.b.get()},
                                  {DNNL_ARG_DST, cached.c.get()}};
  int count = 3;
  if (p.bias != nullptr) {
    cached.bias.set_data_handle(const_cast<void*>(p.bias));
    arguments[count++] = {DNNL_ARG_BIAS, cached.bias.get()};
  }
  if (cached.scratchpad_bytes > 0) {
    cached.scratchpad.set_data_handle(scratch + copied_bytes);
    arguments[count++] = {DNNL_ARG_SCRATCHPAD, cached.scratchpad.get()};
  }
  dnnl::stream& stream = onednn_stream();
  const dnnl_status_t status =
      dnnl_primitive_execute(cached.primitive.get(), stream.get(), count, arguments);
  require(status == dnnl_success, ErrorCode::kInternal, "oneDNN matmul failed with status {}",
          static_cast<int>(status));
  stream.wait();
}

}  // namespace tierup::kernels
