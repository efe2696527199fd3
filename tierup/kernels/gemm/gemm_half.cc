#include "tierup/kernels/gemm/gemm_half.h"

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/vector_casts.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

// Numbers in one piece.
void cast_dense(ScalarType to, void* out, ScalarType from, const void* in, int64_t count) {
  const DenseCast cast = dense_cast(to, from, instruction_set());
  const auto to_size = static_cast<int64_t>(item_size(to));
  const auto from_size = static_cast<int64_t>(item_size(from));
  parallel_for(0, count, kNumbersForThread, [&](int64_t begin, int64_t end) {
    cast(static_cast<char*>(out) + begin * to_size,
         static_cast<const char*>(in) + begin * from_size, end - begin);
  });
}

}  // namespace

bool is_by_floats(const GemmProblem& p) {
  const bool is_narrow = p.dtype == ScalarType::kHalf || p.dtype == ScalarType::kBFloat16;
  const bool is_whole = (p.b.col_stride == 1 && p.b.row_stride == p.n) ||
                        (p.b.row_stride == 1 && p.b.col_stride == p.k);
  const bool has_rows = p.a.col_stride == 1 && (p.a.row_stride == p.k || p.m == 1);
  return is_narrow && is_whole && has_rows && p.batch == 1 && p.c_row_stride == p.n &&
         is_factor(p.beta, 0);
}

void gemm_by_floats(const GemmProblem& p) {
  const auto widened = [&](const void* numbers, int64_t count) {
    const Tensor wide = Tensor::empty(IntVector{count}, ScalarType::kFloat);
    cast_dense(ScalarType::kFloat, wide.raw(), p.dtype, numbers, count);
    return wide;
  };
  const Tensor a = widened(p.a.data, p.m * p.k);
  const Tensor b = widened(p.b.data, p.k * p.n);
  const Tensor bias = p.bias != nullptr ? widened(p.bias, p.n) : Tensor();
  const Tensor c = Tensor::empty(IntVector{p.m * p.n}, ScalarType::kFloat);
  GemmProblem wide = p;
  wide.dtype = ScalarType::kFloat;
  wide.a.data = a.raw();
  wide.a.row_stride = p.k;
  wide.b.data = b.raw();
  wide.c = c.raw();
  wide.bias = bias.defined() ? bias.raw() : nullptr;
  gemm(wide);
  cast_dense(p.dtype, p.c, ScalarType::kFloat, c.raw(), p.m * p.n);
}

}  // namespace tierup::kernels
