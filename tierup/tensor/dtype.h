// ScalarType: the element types of tensors, with PyTorch's own codes (they appear in files).
//
// tierup moves data of every type listed here and computes with bool, u8, i8, i16, i32, i64,
// f16, bf16, f32, f64, c64 and c128.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tierup/base/error.h"
#include "tierup/tensor/half.h"

namespace tierup {

enum class ScalarType : int8_t {
  kByte = 0,
  kChar = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kComplexHalf = 8,
  kComplexFloat = 9,
  kComplexDouble = 10,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBFloat16 = 15,
  kQUInt4x2 = 16,
  kQUInt2x4 = 17,
  kFloat8E5M2 = 23,
  kFloat8E4M3FN = 24,
  kFloat8E5M2FNUZ = 25,
  kFloat8E4M3FNUZ = 26,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
  kFloat8E8M0FNU = 44,
};

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// Bytes of one element. Throws kUnsupported for a code that is not listed above.
size_t item_size(ScalarType type);
// PyTorch's Python name: "float32", "int64", "bool", "complex64".
std::string_view dtype_name(ScalarType type);
// PyTorch's C++ name as its error texts print it: "Float", "Long", "Bool".
std::string_view scalar_type_name(ScalarType type);
// From "float32" (also "float", "half", "double", "int", "long"...) without or with "torch.".
std::optional<ScalarType> parse_dtype(std::string_view name);
// From an integer code as written in files. Throws kUnsupported for an unknown one.
ScalarType scalar_type_from_code(int64_t code);

constexpr bool is_floating(ScalarType t) {
  return t == ScalarType::kHalf || t == ScalarType::kBFloat16 || t == ScalarType::kFloat ||
         t == ScalarType::kDouble ||
         (t >= ScalarType::kFloat8E5M2 && t <= ScalarType::kFloat8E4M3FNUZ) ||
         t == ScalarType::kFloat8E8M0FNU;
}
constexpr bool is_complex(ScalarType t) {
  return t == ScalarType::kComplexHalf || t == ScalarType::kComplexFloat ||
         t == ScalarType::kComplexDouble;
}
constexpr bool is_integral(ScalarType t, bool include_bool) {
  return t <= ScalarType::kLong || (t >= ScalarType::kUInt16 && t <= ScalarType::kUInt64) ||
         (include_bool && t == ScalarType::kBool);
}
constexpr bool is_quantized(ScalarType t) {
  return (t >= ScalarType::kQInt8 && t <= ScalarType::kQInt32) || t == ScalarType::kQUInt4x2 ||
         t == ScalarType::kQUInt2x4;
}
// c64 -> f32, c128 -> f64; others unchanged.
ScalarType real_type_of(ScalarType t);
// f32 -> c64, f64 -> c128, f16 -> c32; complex unchanged; other types fail with kTypeError.
ScalarType complex_type_of(ScalarType t);
// The type that both promote to (torch.promote_types): category first, then width.
ScalarType promote_types(ScalarType a, ScalarType b);
// torch.can_cast: complex to real, float to int and number to bool are not allowed.
bool can_cast(ScalarType from, ScalarType to);

// The C++ type of an element, and back.
template <typename T>
struct DTypeOf;
#define TIERUP_DTYPE_OF(ctype, code)                      \
  template <>                                             \
  struct DTypeOf<ctype> {                                 \
    static constexpr ScalarType value = ScalarType::code; \
  }
TIERUP_DTYPE_OF(uint8_t, kByte);
TIERUP_DTYPE_OF(int8_t, kChar);
TIERUP_DTYPE_OF(int16_t, kShort);
TIERUP_DTYPE_OF(int32_t, kInt);
TIERUP_DTYPE_OF(int64_t, kLong);
TIERUP_DTYPE_OF(Half, kHalf);
TIERUP_DTYPE_OF(BFloat16, kBFloat16);
TIERUP_DTYPE_OF(float, kFloat);
TIERUP_DTYPE_OF(double, kDouble);
TIERUP_DTYPE_OF(complex64, kComplexFloat);
TIERUP_DTYPE_OF(complex128, kComplexDouble);
TIERUP_DTYPE_OF(bool, kBool);
TIERUP_DTYPE_OF(uint16_t, kUInt16);
TIERUP_DTYPE_OF(uint32_t, kUInt32);
TIERUP_DTYPE_OF(uint64_t, kUInt64);
#undef TIERUP_DTYPE_OF
template <typename T>
inline constexpr ScalarType kDTypeOf = DTypeOf<T>::value;

template <typename T>
struct TypeTag {
  using type = T;
};

[[noreturn]] void fail_dtype(std::string_view what, ScalarType type);

// Calls body(TypeTag<T>{}) with the C++ type of `type`; `what` names the operator in the error
// for the types that the set does not contain. Sets: bool+ints, +f32/f64/f16/bf16, +complex.
template <typename Body>
decltype(auto) dispatch_integral(ScalarType type, std::string_view what, Body&& body) {
  switch (type) {
    case ScalarType::kByte: return body(TypeTag<uint8_t>{});
    case ScalarType::kChar: return body(TypeTag<int8_t>{});
    case ScalarType::kShort: return body(TypeTag<int16_t>{});
    case ScalarType::kInt: return body(TypeTag<int32_t>{});
    case ScalarType::kLong: return body(TypeTag<int64_t>{});
    case ScalarType::kBool: return body(TypeTag<bool>{});
    default: fail_dtype(what, type);
  }
}
template <typename Body>
decltype(auto) dispatch_floating(ScalarType type, std::string_view what, Body&& body) {
  switch (type) {
    case ScalarType::kFloat: return body(TypeTag<float>{});
    case ScalarType::kDouble: return body(TypeTag<double>{});
    case ScalarType::kHalf: return body(TypeTag<Half>{});
    case ScalarType::kBFloat16: return body(TypeTag<BFloat16>{});
    default: fail_dtype(what, type);
  }
}
template <typename Body>
decltype(auto) dispatch_complex(ScalarType type, std::string_view what, Body&& body) {
  switch (type) {
    case ScalarType::kComplexFloat: return body(TypeTag<complex64>{});
    case ScalarType::kComplexDouble: return body(TypeTag<complex128>{});
    default: fail_dtype(what, type);
  }
}
// Real numbers and bool.
template <typename Body>
decltype(auto) dispatch_real(ScalarType type, std::string_view what, Body&& body) {
  if (is_integral(type, true)) return dispatch_integral(type, what, body);
  return dispatch_floating(type, what, body);
}
// Everything tierup computes with.
template <typename Body>
decltype(auto) dispatch_all(ScalarType type, std::string_view what, Body&& body) {
  if (is_complex(type)) return dispatch_complex(type, what, body);
  return dispatch_real(type, what, body);
}

}  // namespace tierup
