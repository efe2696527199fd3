// The core of all scattering kernels: lanes combined with what stands there.
#pragma once

#include <cstdint>
#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

enum class ScatterMode : uint8_t { kAssign, kSum, kProd, kMean, kAmax, kAmin };

// From "sum" (or "add"), "prod" (or "multiply"), "mean", "amax", "amin".
ScatterMode parse_scatter_mode(std::string_view reduce);

// self[.., index[.., i, ..], ..] = mode(self[..], src[.., i, ..]) along `dim`, over the shape of
// `index` (int64, possibly expanded). Shapes and dtypes have been checked; indices are checked
// here. Bumps the version of self.
void scatter_lanes(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                   ScatterMode mode, bool include_self);

}  // namespace tierup::kernels
