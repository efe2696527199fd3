#include "tierup/kernels/gemm/grouped_matmul.h"

#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/slicing.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// The ends of the parts, checked to rise within [0, size].
IntVector ends_of(const Tensor& offs, int64_t groups, int64_t size) {
  require(offs.defined() && offs.dim() == 1, kBad, "grouped_mm: offs must be a vector");
  require(offs.dtype() == ScalarType::kInt || offs.dtype() == ScalarType::kLong, kBad,
          "grouped_mm: offs must be integers, not {}", scalar_type_name(offs.dtype()));
  require(groups < 0 || offs.numel() == groups, kBad, "grouped_mm: {} offsets for {} matrices",
          offs.numel(), groups);
  const Tensor wide = contiguous(to_dtype(offs, ScalarType::kLong));
  IntVector ends(wide.data<int64_t>(), wide.data<int64_t>() + wide.numel());
  int64_t last = 0;
  for (const int64_t end : ends) {
    require(end >= last && end <= size, kBad, "grouped_mm: offset {} is not in [{}, {}]", end, last,
            size);
    last = end;
  }
  return ends;
}

Tensor zeros(const IntVector& sizes, ScalarType dtype) {
  Tensor result = Tensor::empty(sizes, dtype);
  fill(result, Scalar(0));
  return result;
}

// Calls body(group, first, length) for each part.
template <typename Body>
void for_each_part(const IntVector& ends, const Body& body) {
  int64_t first = 0;
  for (size_t group = 0; group < ends.size(); ++group) {
    body(static_cast<int64_t>(group), first, ends[group] - first);
    first = ends[group];
  }
}

Tensor by_rows(const Tensor& self, const Tensor& mat2, const Tensor& offs) {
  const IntVector ends = ends_of(offs, mat2.size(0), self.size(0));
  Tensor out = zeros({self.size(0), mat2.size(2)}, self.dtype());
  for_each_part(ends, [&](int64_t group, int64_t first, int64_t length) {
    if (length == 0) return;
    copy_(narrow(out, 0, first, length),
          mm(narrow(self, 0, first, length), select(mat2, 0, group)));
  });
  return out;
}

Tensor by_columns(const Tensor& self, const Tensor& mat2, const Tensor& offs) {
  const IntVector ends = ends_of(offs, self.size(0), mat2.size(1));
  Tensor out = zeros({self.size(1), mat2.size(1)}, self.dtype());
  for_each_part(ends, [&](int64_t group, int64_t first, int64_t length) {
    if (length == 0) return;
    copy_(narrow(out, 1, first, length),
          mm(select(self, 0, group), narrow(mat2, 1, first, length)));
  });
  return out;
}

Tensor by_depth(const Tensor& self, const Tensor& mat2, const Tensor& offs) {
  require(self.size(1) == mat2.size(0), kBad, "grouped_mm: depths {} and {} differ", self.size(1),
          mat2.size(0));
  const IntVector ends = ends_of(offs, -1, self.size(1));
  Tensor out = zeros({static_cast<int64_t>(ends.size()), self.size(0), mat2.size(1)}, self.dtype());
  for_each_part(ends, [&](int64_t group, int64_t first, int64_t length) {
    if (length == 0) return;
    copy_(select(out, 0, group),
          mm(narrow(self, 1, first, length), narrow(mat2, 0, first, length)));
  });
  return out;
}

}  // namespace

Tensor grouped_mm(const Tensor& self, const Tensor& mat2, const Tensor& offs, const Tensor& bias,
                  std::optional<ScalarType> out_dtype) {
  const int64_t rank = self.dim();
  require((rank == 2 || rank == 3) && (mat2.dim() == 2 || mat2.dim() == 3), kBad,
          "grouped_mm: operands must have 2 or 3 dimensions, not {} and {}", rank, mat2.dim());
  require(!bias.defined(), ErrorCode::kUnsupported, "grouped_mm: bias is not supported");
  require(self.dtype() == mat2.dtype(), kBad, "grouped_mm: dtypes {} and {} differ",
          scalar_type_name(self.dtype()), scalar_type_name(mat2.dtype()));
  Tensor out;
  if (rank == 2) {
    out = mat2.dim() == 3 ? by_rows(self, mat2, offs) : by_depth(self, mat2, offs);
  } else if (mat2.dim() == 2) {
    out = by_columns(self, mat2, offs);
  } else {
    require(!offs.defined(), kBad, "grouped_mm: batches of matrices take no offs");
    out = bmm(self, mat2);
  }
  return to_dtype(out, out_dtype.value_or(self.dtype()));
}

Tensor grouped_mm_rows(const Tensor& input, const Tensor& weight, const Tensor& offs) {
  require(input.dim() == 2 && weight.dim() == 3, kBad,
          "grouped_mm_fallback: expected a matrix and a batch of matrices");
  return grouped_mm(input, weight, offs, Tensor(), std::nullopt);
}

}  // namespace tierup::kernels
