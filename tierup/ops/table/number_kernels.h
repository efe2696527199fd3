// Kernels on numbers: one body serves all overloads of an operator (int, float, complex, mixed and
// generic number), choosing by the kinds that the arguments have when it runs.
#pragma once

#include <cstdint>

#include "tierup/base/error.h"
#include "tierup/ops/table/op.h"

namespace tierup::ops {

// Integer arithmetic wraps, as PyTorch's does.
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

inline bool is_integral(const IValue& value) { return value.is_int() || value.is_bool(); }

// Body has static ints(int64_t, int64_t), floats(double, double), complexes(complex128,
// complex128).
template <typename Body>
void binary_number(OpCall& call) {
  const IValue& a = call.args[0];
  const IValue& b = call.args[1];
  if (is_integral(a) && is_integral(b)) {
    call.results[0] = IValue(Body::ints(a.to_int(), b.to_int()));
  } else if (a.is_complex() || b.is_complex()) {
    if constexpr (requires { Body::complexes(complex128(), complex128()); }) {
      call.results[0] = IValue(Body::complexes(a.to_complex(), b.to_complex()));
    } else {
      fail(ErrorCode::kTypeError, "this operator does not take complex numbers");
    }
  } else {
    call.results[0] = IValue(Body::floats(a.to_float(), b.to_float()));
  }
}

// For a body whose function is one of floats, and takes integers as such.
template <typename Body>
struct IntegersAsFloats {
  static auto ints(int64_t a, int64_t b) {
    return Body::floats(static_cast<double>(a), static_cast<double>(b));
  }
};

// Body has static integer(int64_t), floating(double), complex(complex128).
template <typename Body>
void unary_number(OpCall& call) {
  const IValue& a = call.args[0];
  if (is_integral(a)) {
    call.results[0] = IValue(Body::integer(a.to_int()));
  } else if (a.is_complex()) {
    if constexpr (requires { Body::complex(complex128()); }) {
      call.results[0] = IValue(Body::complex(a.to_complex()));
    } else {
      fail(ErrorCode::kTypeError, "this operator does not take complex numbers");
    }
  } else {
    call.results[0] = IValue(Body::floating(a.to_float()));
  }
}

}  // namespace tierup::ops
