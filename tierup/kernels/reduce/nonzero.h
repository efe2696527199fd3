// Whether elements differ from zero, told from their bits: all types of one width share a loop.
//
// A number of any real type is nonzero where a bit other than the sign's is set (NaN is), and a
// complex one of 64 bits where one is set in either half.
#pragma once

#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Elements of one width, as integers; complex ones of 128 bits as they are.
template <typename T>
struct Nonzero {
  using Word = T;
  T mask;  // The bits that tell.
  bool operator()(T word) const { return (word & mask) != 0; }
};
template <>
struct Nonzero<complex128> {
  using Word = complex128;
  bool operator()(complex128 value) const { return value != complex128(0); }
};

// Calls body(Nonzero<Word>, words) with the tensor read as words; `what` names the operator in the
// error for types that tierup does not compute with.
template <typename Body>
decltype(auto) dispatch_nonzero(const Tensor& self, std::string_view what, const Body& body) {
  constexpr uint64_t kSigns = 0x8000000080000000U;
  switch (self.dtype()) {
    case ScalarType::kBool:
    case ScalarType::kByte:
    case ScalarType::kChar: return body(Nonzero<uint8_t>{0xff}, self.with_dtype(ScalarType::kByte));
    case ScalarType::kShort: return body(Nonzero<int16_t>{-1}, self);
    case ScalarType::kHalf:
    case ScalarType::kBFloat16:
      return body(Nonzero<int16_t>{0x7fff}, self.with_dtype(ScalarType::kShort));
    case ScalarType::kInt: return body(Nonzero<int32_t>{-1}, self);
    case ScalarType::kFloat:
      return body(Nonzero<int32_t>{0x7fffffff}, self.with_dtype(ScalarType::kInt));
    case ScalarType::kLong: return body(Nonzero<int64_t>{-1}, self);
    case ScalarType::kDouble:
      return body(Nonzero<int64_t>{INT64_MAX}, self.with_dtype(ScalarType::kLong));
    case ScalarType::kComplexFloat:
      return body(Nonzero<int64_t>{static_cast<int64_t>(~kSigns)},
                  self.with_dtype(ScalarType::kLong));
    case ScalarType::kComplexDouble: return body(Nonzero<complex128>{}, self);
    default: fail_dtype(what, self.dtype());
  }
}

}  // namespace tierup::kernels
