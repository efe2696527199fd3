// Variances, standard deviations, norms and log-sum-exp over dimensions.
#pragma once

#include <optional>
#include <tuple>

#include "tierup/kernels/reduce/reduce_plan.h"

namespace tierup::kernels {

// aten::var.correction, std.correction: the divisor is max(0, count - correction), correction 1 by
// default. Moments are taken in double. A complex tensor's variance is real.
Tensor var(const Tensor& self, const ReduceDims& dims, const std::optional<Scalar>& correction,
           bool keepdim);
Tensor std_deviation(const Tensor& self, const ReduceDims& dims,
                     const std::optional<Scalar>& correction, bool keepdim);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, const ReduceDims& dims,
                                    const std::optional<Scalar>& correction, bool keepdim);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, const ReduceDims& dims,
                                    const std::optional<Scalar>& correction, bool keepdim);

// aten::linalg_vector_norm: the sum of |x|^ord to the power 1 / ord; inf and -inf: the extremum of
// |x|; 0: the number of nonzeros. `dtype` converts first; the result is real.
Tensor vector_norm(const Tensor& self, const Scalar& ord, const ReduceDims& dims, bool keepdim,
                   std::optional<ScalarType> dtype);

}  // namespace tierup::kernels
