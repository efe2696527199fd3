#include "tierup/tensor/scalar.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tierup {
namespace {

// The C++ name of an element type, as PyTorch's conversion errors print it.
template <typename T>
constexpr std::string_view cpp_type_name() {
  if constexpr (std::is_same_v<T, uint8_t>) return "uint8_t";
  if constexpr (std::is_same_v<T, int8_t>) return "int8_t";
  if constexpr (std::is_same_v<T, int16_t>) return "short";
  if constexpr (std::is_same_v<T, int32_t>) return "int";
  if constexpr (std::is_same_v<T, int64_t>) return "int64_t";
  if constexpr (std::is_same_v<T, Half>) return "c10::Half";
  if constexpr (std::is_same_v<T, BFloat16>) return "c10::BFloat16";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  return scalar_type_name(kDTypeOf<T>);
}

template <typename T>
bool fits_integer(double v) {
  constexpr auto kTop = static_cast<double>(std::numeric_limits<T>::max());
  // The largest number of 64 bits is no double: the next one up is, and does not fit.
  const bool is_below = sizeof(T) == 8 ? v < kTop : v <= kTop;
  return v >= static_cast<double>(std::numeric_limits<T>::lowest()) && is_below;
}

template <typename T>
bool fits_integer(int64_t v) {
  if constexpr (std::is_same_v<T, uint64_t>) return true;
  const auto top = static_cast<int64_t>(std::numeric_limits<T>::max());
  const int64_t low = std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::lowest())
                                          : -top;  // Negative numbers wrap around.
  return v >= low && v <= top;
}

template <typename T>
bool fits_floating(double v) {
  constexpr double kTop = std::is_same_v<T, Half>       ? 65504.0
                          : std::is_same_v<T, BFloat16> ? 3.3895313892515355e+38
                          : std::is_same_v<T, float>    ? std::numeric_limits<float>::max()
                                                        : std::numeric_limits<double>::max();
  return std::isinf(v) || std::isnan(v) || std::abs(v) <= kTop;
}

template <typename T>
bool fits(const Scalar& value) {
  if (value.is_complex() && value.to_complex().imag() != 0) return false;
  if constexpr (std::is_integral_v<T>) {
    return value.is_integral(true) ? fits_integer<T>(value.to_int())
                                   : fits_integer<T>(value.to_double());
  } else {
    return fits_floating<T>(value.to_double());
  }
}

}  // namespace

ScalarType Scalar::dtype() const {
  if (is_bool()) return ScalarType::kBool;
  if (is_int()) return ScalarType::kLong;
  return is_float() ? ScalarType::kDouble : ScalarType::kComplexDouble;
}

double Scalar::to_double() const {
  if (const auto* v = std::get_if<double>(&value_)) return *v;
  if (const auto* v = std::get_if<int64_t>(&value_)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<bool>(&value_)) return *v ? 1.0 : 0.0;
  const complex128 v = std::get<complex128>(value_);
  require(v.imag() == 0.0, ErrorCode::kTypeError, "value {}+{}j cannot be converted to a real type",
          v.real(), v.imag());
  return v.real();
}

int64_t Scalar::to_int() const {
  if (const auto* v = std::get_if<int64_t>(&value_)) return *v;
  if (const auto* v = std::get_if<bool>(&value_)) return *v ? 1 : 0;
  return to<int64_t>();
}

bool Scalar::to_bool() const {
  if (const auto* v = std::get_if<bool>(&value_)) return *v;
  if (const auto* v = std::get_if<int64_t>(&value_)) return *v != 0;
  return to_complex() != complex128(0);
}

complex128 Scalar::to_complex() const {
  if (const auto* v = std::get_if<complex128>(&value_)) return *v;
  return {to_double(), 0.0};
}

template <typename T>
T Scalar::to() const {
  if constexpr (std::is_same_v<T, bool>) {
    return to_bool();
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return static_cast<T>(to_complex());
  } else {
    require(fits<T>(*this), ErrorCode::kInvalidArgument,
            "value cannot be converted to type {} without overflow", cpp_type_name<T>());
    if constexpr (std::is_same_v<T, double>) {
      return to_double();
    } else if constexpr (std::is_integral_v<T>) {
      return is_integral(true) ? static_cast<T>(to_int()) : static_cast<T>(to_double());
    } else {
      return T(static_cast<float>(to_double()));
    }
  }
}

template bool Scalar::to<bool>() const;
template uint8_t Scalar::to<uint8_t>() const;
template int8_t Scalar::to<int8_t>() const;
template int16_t Scalar::to<int16_t>() const;
template int32_t Scalar::to<int32_t>() const;
template int64_t Scalar::to<int64_t>() const;
template uint16_t Scalar::to<uint16_t>() const;
template uint32_t Scalar::to<uint32_t>() const;
template uint64_t Scalar::to<uint64_t>() const;
template Half Scalar::to<Half>() const;
template BFloat16 Scalar::to<BFloat16>() const;
template float Scalar::to<float>() const;
template double Scalar::to<double>() const;
template complex64 Scalar::to<complex64>() const;
template complex128 Scalar::to<complex128>() const;

Scalar Scalar::negated() const {
  if (is_complex()) return {-to_complex()};
  if (is_float()) return {-to_double()};
  return {static_cast<int64_t>(0 - static_cast<uint64_t>(to_int()))};
}

std::string Scalar::to_string() const {
  if (is_bool()) return to_bool() ? "True" : "False";
  if (is_int()) return fmt::format("{}", to_int());
  if (is_float()) return fmt::format("{}", to_double());
  const complex128 v = to_complex();
  return fmt::format("({}{:+}j)", v.real(), v.imag());
}

}  // namespace tierup
