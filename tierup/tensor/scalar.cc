#include "tierup/tensor/scalar.h"

#include <fmt/format.h>

namespace tierup {

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
  return static_cast<int64_t>(to_double());
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
