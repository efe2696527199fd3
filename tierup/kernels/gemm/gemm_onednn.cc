// The matmul primitive. oneDNN's other entry, dnnl_sgemm, generates all its kernels in its first
// call (7 ms for a row, 57 ms more for a matrix, measured), whatever is asked of it.
#include "tierup/kernels/gemm/gemm_onednn.h"

#include <bit>
#include <dnnl.hpp>

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
};

// Strides oneDNN accepts: a dimension of size 1 may have any stride in PyTorch.
void normalize(int64_t rows, int64_t cols, int64_t& row_stride, int64_t& col_stride) {
  if (cols == 1 && row_stride != 1) col_stride = 1;
  if (rows == 1 && col_stride == 1) row_stride = cols;
  if (rows == 1 && col_stride != 1) row_stride = 1;
  if (cols == 1 && row_stride == 1) col_stride = rows;
}

CachedMatmul make_matmul(const GemmProblem& p, const MatrixOperand& a, const MatrixOperand& b,
                         float alpha, float beta) {
  const auto f32 = memory::data_type::f32;
  const auto desc = [&](int64_t rows, int64_t cols, const MatrixOperand& x) {
    if (p.batch == 1) return memory::desc({rows, cols}, f32, {x.row_stride, x.col_stride});
    const int64_t batch = x.batch_stride == 0 ? 1 : p.batch;
    const int64_t step = x.batch_stride == 0 ? rows * cols : x.batch_stride;
    return memory::desc({batch, rows, cols}, f32, {step, x.row_stride, x.col_stride});
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
    bias_desc = p.batch == 1 ? memory::desc({1, p.n}, f32, memory::format_tag::ab)
                             : memory::desc({1, 1, p.n}, f32, memory::format_tag::abc);
  }
  const dnnl::matmul::desc description = p.bias != nullptr
                                             ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                                             : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  const dnnl::matmul::primitive_desc pd(description, attributes, engine);
  CachedMatmul result{dnnl::matmul(pd),
                      memory(a_desc, engine, nullptr),
                      memory(b_desc, engine, nullptr),
                      p.bias != nullptr ? memory(bias_desc, engine, nullptr) : memory(),
                      memory(c_desc, engine, nullptr),
                      memory(pd.scratchpad_desc(), engine, nullptr),
                      pd.scratchpad_desc().get_size()};
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
  const PrimitiveKey key{p.batch,
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
    cached.scratchpad.set_data_handle(thread_scratch(cached.scratchpad_bytes));
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
