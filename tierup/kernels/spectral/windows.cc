// Windows of signal processing (declared in creation.h).
#include <cmath>
#include <functional>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/creation.h"

namespace tierup::kernels {
namespace {

// window(i, last) for i of a symmetric window of the wanted length, or of one more if periodic.
Tensor make_window(int64_t length, bool periodic, ScalarType dtype,
                   const std::function<double(double, double)>& window) {
  require(length >= 0, ErrorCode::kInvalidArgument, "window_length must be non-negative, got {}",
          length);
  require(is_floating(dtype), ErrorCode::kTypeError,
          "a window function expects floating point dtypes, got: {}", scalar_type_name(dtype));
  const Tensor result = Tensor::empty(IntVector{length}, ScalarType::kDouble);
  double* data = result.data<double>();
  const auto last = static_cast<double>(periodic ? length : length - 1);
  parallel_for(0, length, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      data[i] = length == 1 ? 1.0 : window(static_cast<double>(i), last);
    }
  });
  return to_dtype(result, dtype);
}

// Modified Bessel function I0 by its power series, enough for the betas of a window.
double bessel_i0(double x) {
  const double quarter = x * x / 4;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 500 && term > sum * 1e-17; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

}  // namespace

Tensor bartlett_window(int64_t length, bool periodic, ScalarType dtype) {
  return make_window(length, periodic, dtype,
                     [](double i, double last) { return 1 - std::abs(2 * i / last - 1); });
}

Tensor blackman_window(int64_t length, bool periodic, ScalarType dtype) {
  return make_window(length, periodic, dtype, [](double i, double last) {
    const double angle = 2 * M_PI * i / last;
    return std::max(0.0, 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle));
  });
}

Tensor hamming_window(int64_t length, bool periodic, double alpha, double beta, ScalarType dtype) {
  return make_window(length, periodic, dtype, [=](double i, double last) {
    return alpha - beta * std::cos(2 * M_PI * i / last);
  });
}

Tensor kaiser_window(int64_t length, bool periodic, double beta, ScalarType dtype) {
  return make_window(length, periodic, dtype, [=](double i, double last) {
    const double x = 2 * i / last - 1;
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - x * x))) / bessel_i0(beta);
  });
}

}  // namespace tierup::kernels
