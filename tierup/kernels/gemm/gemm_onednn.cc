// The matmul primitive. oneDNN's other entry, dnnl_sgemm, generates all its kernels in its first
// call (7 ms for a row, 57 ms more for a matrix, measured), whatever is asked of it.
#include "tierup/kernels/gemm/gemm_onednn.h"

#include <algorithm>
#include <bit>
#include <dnnl.hpp>
#include <string_view>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/onednn/onednn_engine.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

using dnnl::memory;

struct CachedMatmul {
  dnnl::matmul primitive;
  memory a, b, bias, c, scratchpad;
  size_t scratchpad_bytes = 0;
  // Of the copies that are multiplied instead, in numbers from row to row; 0: none.
  int64_t copied_a = 0;
  int64_t copied_b = 0;
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

// Whether copying a matrix of `rows` such rows is worth it: not where few multiplications are made
// of each number, nor where the copy would not stay in the caches.
bool is_worth_a_copy(int64_t rows, int64_t stride, int64_t uses) {
  constexpr int64_t kLeastUses = 64;
  const int64_t bytes = rows * padded(stride) * int64_t{sizeof(float)};
  return rows_collide(rows, stride) && uses >= kLeastUses && bytes <= cache_sizes().last_level;
}

void copy_rows(const void* from, int64_t rows, int64_t count, int64_t stride, float* to,
               int64_t to_stride) {
  const auto* source = static_cast<const float*>(from);
  constexpr int64_t kNumbersForOne = 32768;
  parallel_for(0, rows, std::max<int64_t>(1, kNumbersForOne / count),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   std::copy_n(source + i * stride, count, to + i * to_stride);
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

CachedMatmul make_matmul(const GemmProblem& p, MatrixOperand a, MatrixOperand b, float alpha,
                         float beta) {
  CachedMatmul result;
  auto pd = describe_matmul(p, a, b, alpha, beta);
  // This one reads few columns of all rows at a time, and has no care for how they lie.
  if (p.batch == 1 && p.dtype == ScalarType::kFloat &&
      std::string_view(pd.impl_info_str()).starts_with("gemm")) {
    if (a.row_stride == 1 && is_worth_a_copy(p.k, a.col_stride, p.n)) {
      result.copied_a = a.col_stride = padded(a.col_stride);
    }
    if (b.col_stride == 1 && is_worth_a_copy(p.k, b.row_stride, p.m)) {
      result.copied_b = b.row_stride = padded(b.row_stride);
    }
    if (result.copied_a + result.copied_b > 0) pd = describe_matmul(p, a, b, alpha, beta);
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

}  // namespace

void gemm_onednn(const GemmProblem& p) {
  const ThreadCountScope threads(threads_worth(
      p.batch * p.m * p.n * p.k, p.batch * (p.m * p.k + p.k * p.n + p.m * p.n), most_for_one()));
  prepare_team();
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
  const auto a_numbers = static_cast<size_t>(p.k * cached.copied_a);
  const auto b_numbers = static_cast<size_t>(p.k * cached.copied_b);
  const size_t copied_bytes = (a_numbers + b_numbers) * sizeof(float);
  char* scratch = nullptr;
  if (copied_bytes + cached.scratchpad_bytes > 0)
    scratch = static_cast<char*>(thread_scratch(cached.scratchpad_bytes + copied_bytes));
  auto* const copies = reinterpret_cast<float*>(scratch);
  if (cached.copied_a > 0) {
    copy_rows(a.data, p.k, p.m, a.col_stride, copies, cached.copied_a);
    a.data = copies;
  }
  if (cached.copied_b > 0) {
    copy_rows(b.data, p.k, p.n, b.row_stride, copies + a_numbers, cached.copied_b);
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
