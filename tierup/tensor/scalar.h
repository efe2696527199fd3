// Scalar: a Python number (bool, int, float or complex) as an operator argument.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>

#include "tierup/tensor/dtype.h"

namespace tierup {

class Scalar {
 public:
  Scalar() : value_(int64_t{0}) {}
  // NOLINTBEGIN(google-explicit-constructor): numbers are Scalars.
  Scalar(bool v) : value_(v) {}
  Scalar(int v) : value_(int64_t{v}) {}
  Scalar(int64_t v) : value_(v) {}
  Scalar(double v) : value_(v) {}
  Scalar(complex128 v) : value_(v) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_float() const { return std::holds_alternative<double>(value_); }
  bool is_complex() const { return std::holds_alternative<complex128>(value_); }
  bool is_integral(bool include_bool) const { return is_int() || (include_bool && is_bool()); }

  // The dtype that a 0-dim tensor of this number has before promotion: bool, int64, float64,
  // complex128.
  ScalarType dtype() const;

  // Conversions cut fractions off. A complex number keeps its real part only for complex targets,
  // and throws kTypeError for a real one unless its imaginary part is 0.
  double to_double() const;
  // As to<int64_t>.
  int64_t to_int() const;
  bool to_bool() const;
  complex128 to_complex() const;
  // As an element of a tensor. Throws kInvalidArgument for a number that T does not reach (NaN for
  // an integer, too), but a negative integer wraps around in an unsigned T of its width.
  // T: the types of DTypeOf that tierup computes with or fills.
  template <typename T>
  T to() const;
  Scalar negated() const;
  // As Python's repr: "1", "2.5", "True".
  std::string to_string() const;
  friend bool operator==(const Scalar&, const Scalar&) = default;

 private:
  std::variant<bool, int64_t, double, complex128> value_;
};

}  // namespace tierup
