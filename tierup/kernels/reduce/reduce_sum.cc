#include "tierup/kernels/reduce/reduce_sum.h"

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/sum_reducer.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor sum_impl(const Tensor& self, const ReduceDims& dims, bool keepdim, bool average) {
  const ReducePlan plan(self, dims, keepdim);
  const ScalarType out_type = is_integral(self.dtype(), true) ? ScalarType::kLong : self.dtype();
  Tensor out = Tensor::empty(plan.out_sizes, out_type);
  const double scale = average ? static_cast<double>(plan.count) : 1;
  dispatch_all(self.dtype(), "sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Out = SumResult<T>;
    reduce(SumReducer<T, false>{scale}, plan, self.data<T>(), static_cast<Out*>(out.raw()));
  });
  return out;
}

Tensor as_dtype(const Tensor& self, std::optional<ScalarType> dtype) {
  return dtype ? to_dtype(self, *dtype) : self;
}

}  // namespace

Tensor sum(const Tensor& self, const ReduceDims& dims, bool keepdim,
           std::optional<ScalarType> dtype) {
  const Tensor result = sum_impl(as_dtype(self, dtype), dims, keepdim, false);
  return as_dtype(result, dtype);
}

Tensor mean(const Tensor& self, const ReduceDims& dims, bool keepdim,
            std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(self.dtype());
  require(is_floating(type) || is_complex(type), ErrorCode::kTypeError,
          "mean(): could not infer output dtype. Input dtype must be either a floating point or "
          "complex dtype. Got: {}",
          scalar_type_name(type));
  return sum_impl(as_dtype(self, dtype), dims, keepdim, true);
}

Tensor sum_to_size(const Tensor& self, const IntVector& size) {
  if (size.empty()) return sum(self, std::nullopt, false, std::nullopt);
  const auto lead = self.dim() - static_cast<int64_t>(size.size());
  IntVector dims;
  bool fits = lead >= 0;
  for (int64_t d = 0; fits && d < self.dim(); ++d) {
    const int64_t wanted = d < lead ? 1 : size[d - lead];
    fits = d < lead || wanted == 1 || wanted == self.sizes()[d];
    if (d < lead || (wanted == 1 && self.sizes()[d] != 1)) dims.push_back(d);
  }
  if (!fits) {
    fail(ErrorCode::kInvalidArgument, "size {} is not expandable to size {}.", shape_string(size),
         shape_string(self.sizes()));
  }
  if (dims.empty()) return self;
  return view(sum(self, dims, true, std::nullopt), size);
}

Tensor trace(const Tensor& self) {
  require(self.dim() == 2, ErrorCode::kInvalidArgument,
          "trace: expected a matrix, but got tensor "
          "with dim {}",
          self.dim());
  return sum(diagonal(self, 0, 0, 1), std::nullopt, false, std::nullopt);
}

}  // namespace tierup::kernels
