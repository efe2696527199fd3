// New tensors from sizes and numbers.
#pragma once

#include "tierup/kernels/shape/conversion.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Uninitialised, or without data on the meta device. Throws kUnsupported for other devices.
Tensor empty_on(IntSpan sizes, ScalarType dtype, const std::optional<Device>& device = std::nullopt,
                MemoryFormat format = MemoryFormat::kContiguous);
Tensor full(IntSpan sizes, const Scalar& value, ScalarType dtype,
            const std::optional<Device>& device = std::nullopt);

// start, start + step, ... below end (above, for a negative step). Without a dtype: int64 if all
// numbers are integers, else the default dtype. Throws kInvalidArgument for step 0 or a wrong sign.
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              std::optional<ScalarType> dtype);
// The older torch.range, with its end included.
Tensor range_inclusive(const Scalar& start, const Scalar& end, const Scalar& step,
                       std::optional<ScalarType> dtype);
// `steps` numbers from start to end, both included; logspace: base to those powers.
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                std::optional<ScalarType> dtype);
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                std::optional<ScalarType> dtype);
Tensor eye(int64_t rows, int64_t columns, ScalarType dtype);

// Windows of signal processing. `periodic` drops the last point of a symmetric window.
Tensor bartlett_window(int64_t length, bool periodic, ScalarType dtype);
Tensor blackman_window(int64_t length, bool periodic, ScalarType dtype);
// alpha - beta * cos(2 pi i / N): hann with 0.5, 0.5 and hamming with 0.54, 0.46.
Tensor hamming_window(int64_t length, bool periodic, double alpha, double beta, ScalarType dtype);
Tensor kaiser_window(int64_t length, bool periodic, double beta, ScalarType dtype);

}  // namespace tierup::kernels
