#include "tierup/training/clip.h"

#include <cmath>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/optimizer/optimizer_step.h"
#include "tierup/kernels/reduce/reduce_moments.h"

namespace tierup::training {
namespace {

// Keeps the factor finite for gradients that are all zero; PyTorch's.
constexpr double kNormEps = 1e-6;

ScalarType common_dtype(std::span<const Tensor> gradients) {
  for (const Tensor& gradient : gradients) {
    if (gradient.defined() && gradient.dtype() == ScalarType::kDouble) return ScalarType::kDouble;
  }
  return ScalarType::kFloat;
}

template <typename T>
T factor_in(double total, double max_norm) {
  const T inverse = T(1) / (static_cast<T>(total) + static_cast<T>(kNormEps));
  const T factor = inverse * static_cast<T>(max_norm);
  return factor > T(1) ? T(1) : factor;
}

// Dense float memory piece by piece over the team; anything else by a dense copy of it.
template <typename Body>
void for_elements(const Tensor& tensor, const Body& body) {
  const bool direct =
      tensor.is_non_overlapping_and_dense() &&
      (tensor.dtype() == ScalarType::kFloat || tensor.dtype() == ScalarType::kDouble);
  Tensor dense = tensor;
  if (!direct) {
    const ScalarType work =
        tensor.dtype() == ScalarType::kDouble ? ScalarType::kDouble : ScalarType::kFloat;
    dense = Tensor::empty(tensor.sizes(), work);
    kernels::copy_into(dense, tensor);
  }
  parallel_for(0, dense.numel(), kNumbersForThread, [&](int64_t begin, int64_t end) {
    if (dense.dtype() == ScalarType::kFloat) {
      body(dense.data<float>() + begin, end - begin);
    } else {
      body(dense.data<double>() + begin, end - begin);
    }
  });
  if (!direct) kernels::copy_into(tensor, dense);
  tensor.bump_version();
}

}  // namespace

double total_norm(std::span<const Tensor> gradients, double norm_type) {
  const ScalarType dtype = common_dtype(gradients);
  std::vector<double> norms;
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    const Tensor norm =
        kernels::vector_norm(gradient, Scalar(norm_type), std::nullopt, false, std::nullopt);
    norms.push_back(kernels::to_dtype(norm, ScalarType::kDouble).data<double>()[0]);
  }
  if (norms.empty()) return 0;
  const Tensor all = Tensor::empty(IntVector{static_cast<int64_t>(norms.size())}, dtype);
  for (size_t i = 0; i < norms.size(); ++i) {
    if (dtype == ScalarType::kDouble) {
      all.data<double>()[i] = norms[i];
    } else {
      all.data<float>()[i] = static_cast<float>(norms[i]);
    }
  }
  const Tensor total =
      kernels::vector_norm(all, Scalar(norm_type), std::nullopt, false, std::nullopt);
  return kernels::to_dtype(total, ScalarType::kDouble).data<double>()[0];
}

double clip_factor(double total, double max_norm, ScalarType dtype) {
  return dtype == ScalarType::kDouble ? factor_in<double>(total, max_norm)
                                      : factor_in<float>(total, max_norm);
}

double clip_norm(std::span<const Tensor> gradients, double max_norm, double norm_type,
                 bool error_if_nonfinite) {
  require(max_norm >= 0, ErrorCode::kInvalidArgument, "gradients cannot be clipped to a norm of {}",
          max_norm);
  const double total = total_norm(gradients, norm_type);
  require(!error_if_nonfinite || std::isfinite(total), ErrorCode::kInvalidArgument,
          "the total norm of order {} of the gradients is non-finite ({}), so it cannot be clipped",
          norm_type, total);
  const double factor = clip_factor(total, max_norm, common_dtype(gradients));
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    for_elements(gradient, [&](auto* x, int64_t count) { kernels::scale_span(x, count, factor); });
  }
  return total;
}

void clip_value(std::span<const Tensor> gradients, double limit) {
  require(limit >= 0, ErrorCode::kInvalidArgument, "gradients cannot be clipped to values of {}",
          limit);
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    for_elements(gradient, [&](auto* x, int64_t count) { kernels::clamp_span(x, count, limit); });
  }
}

}  // namespace tierup::training
