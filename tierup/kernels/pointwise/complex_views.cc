#include "tierup/kernels/pointwise/complex_views.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/pointwise/pointwise.h"

namespace tierup::kernels {
namespace {

// The real (part 0) or imaginary (part 1) elements of a complex tensor, as stored.
Tensor stored_part(const Tensor& self, int64_t part) {
  IntVector strides(self.strides().begin(), self.strides().end());
  for (int64_t& stride : strides) stride *= 2;
  return Tensor::from_storage(self.storage(), real_type_of(self.dtype()), self.sizes(), strides,
                              self.offset() * 2 + part);
}

Tensor with_bits(const Tensor& self, bool conjugate, bool negative) {
  Tensor view = self.as_view(self.sizes(), self.strides(), self.offset());
  view.impl()->conjugate = conjugate;
  view.impl()->negative = negative;
  return view;
}

// A fresh complex tensor for two parts of one floating dtype.
Tensor empty_complex(const Tensor& a, const Tensor& b, std::string_view name) {
  const bool fits = a.dtype() == b.dtype() &&
                    (a.dtype() == ScalarType::kFloat || a.dtype() == ScalarType::kDouble ||
                     a.dtype() == ScalarType::kHalf);
  require(fits, ErrorCode::kTypeError,
          "{}: Expected both inputs to be Half, Float or Double tensors of one dtype but got {} "
          "and {}",
          name, scalar_type_name(a.dtype()), scalar_type_name(b.dtype()));
  const IntVector shape = broadcast_shapes(a.sizes(), b.sizes());
  return Tensor::empty(shape, complex_type_of(a.dtype()));
}

}  // namespace

Tensor view_as_real(const Tensor& self) {
  require(is_complex(self.dtype()), ErrorCode::kTypeError,
          "view_as_real is only supported for complex tensors");
  require(!self.impl()->conjugate, ErrorCode::kInvalidArgument,
          "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
          "tensor so you can view it as real, use self.resolve_conj()");
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  Tensor view = Tensor::from_storage(self.storage(), real_type_of(self.dtype()), sizes, strides,
                                     self.offset() * 2);
  view.impl()->negative = self.impl()->negative;
  return view;
}

Tensor view_as_complex(const Tensor& self) {
  require(self.dtype() == ScalarType::kFloat || self.dtype() == ScalarType::kDouble ||
              self.dtype() == ScalarType::kHalf,
          ErrorCode::kTypeError,
          "view_as_complex is only supported for half, float and double tensors, but got a tensor "
          "of scalar type: {}",
          scalar_type_name(self.dtype()));
  require(self.dim() > 0 && self.sizes().back() == 2, ErrorCode::kInvalidArgument,
          "Tensor must have a last dimension of size 2");
  require(self.strides().back() == 1, ErrorCode::kInvalidArgument,
          "Tensor must have a last dimension with stride 1");
  require(self.offset() % 2 == 0, ErrorCode::kInvalidArgument,
          "Tensor must have a storage_offset divisible by 2");
  IntVector sizes(self.sizes().begin(), self.sizes().end() - 1);
  IntVector strides(self.strides().begin(), self.strides().end() - 1);
  for (int64_t& stride : strides) {
    require(stride % 2 == 0, ErrorCode::kInvalidArgument,
            "Tensor must have a stride divisible by 2 for all but last dimension");
    stride /= 2;
  }
  return Tensor::from_storage(resolve_neg(self).storage(), complex_type_of(self.dtype()), sizes,
                              strides, self.offset() / 2);
}

Tensor real(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  Tensor part = stored_part(self, 0);
  part.impl()->negative = self.impl()->negative;
  return part;
}

Tensor imag(const Tensor& self) {
  require(is_complex(self.dtype()), ErrorCode::kTypeError,
          "imag is not implemented for tensors with non-complex dtypes.");
  Tensor part = stored_part(self, 1);
  part.impl()->negative = self.impl()->negative != self.impl()->conjugate;
  return part;
}

Tensor conj(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  return with_bits(self, !self.impl()->conjugate, self.impl()->negative);
}

Tensor conj_physical(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  return pointwise({Body::kConj}, {self});
}

Tensor neg_view(const Tensor& self) {
  return with_bits(self, self.impl()->conjugate, !self.impl()->negative);
}

Tensor resolve_conj(const Tensor& self) { return self.impl()->conjugate ? clone(self) : self; }

Tensor resolve_neg(const Tensor& self) { return self.impl()->negative ? clone(self) : self; }

namespace {

// Both parts dense, as the result is.
bool lie_as(const Tensor& result, const Tensor& part) {
  return part.dtype() == ScalarType::kFloat && !part.impl()->negative && part.is_contiguous() &&
         std::ranges::equal(part.sizes(), result.sizes());
}

}  // namespace

Tensor complex_of(const Tensor& real, const Tensor& imag) {
  const Tensor result = empty_complex(real, imag, "complex");
  if (lie_as(result, real) && lie_as(result, imag) && result.is_contiguous()) {
    parallel_for(0, result.numel(), kNumbersForThread, [&](int64_t begin, int64_t end) {
      const void* const parts[] = {real.data<float>() + begin, imag.data<float>() + begin};
      weave(result.data<complex64>() + begin, parts, 2, end - begin);
    });
    return result;
  }
  copy_into(stored_part(result, 0), real);
  copy_into(stored_part(result, 1), imag);
  return result;
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  const Tensor result = empty_complex(abs, angle, "polar");
  pointwise_into(stored_part(result, 0), {Body::kMul}, {abs, pointwise({Body::kCos}, {angle})});
  pointwise_into(stored_part(result, 1), {Body::kMul}, {abs, pointwise({Body::kSin}, {angle})});
  return result;
}

Tensor isreal(const Tensor& self) {
  if (is_complex(self.dtype())) {
    return pointwise({Body::kEq}, {stored_part(self, 1), Operand(Scalar(0.0))});
  }
  const Tensor result = empty_like(self, ScalarType::kBool);
  fill(result, true);
  return result;
}

}  // namespace tierup::kernels
