// Rearrangements that need memory of their own: repetition, rolling, mirroring, rotation.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::repeat: each dimension `repeats` times; extra repeats are new leading dimensions.
Tensor repeat(const Tensor& self, const IntVector& repeats);
// aten::tile: as repeat, with missing leading repeats taken as 1.
Tensor tile(const Tensor& self, const IntVector& dims);
// aten::repeat_interleave.Tensor: i repeated repeats[i] times, for all i. `output_size`, if given,
// must be the sum. Throws kInvalidArgument for negative repeats.
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size);
// aten::repeat_interleave.self_Tensor and .self_int: without `dim`, of the flattened tensor.
Tensor repeat_interleave_tensor(const Tensor& self, const Tensor& repeats,
                                std::optional<int64_t> dim, std::optional<int64_t> output_size);
Tensor repeat_interleave_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                             std::optional<int64_t> output_size);

// aten::roll: without dims, of the flattened tensor.
Tensor roll(const Tensor& self, const IntVector& shifts, const IntVector& dims);
// tierup::wrap: so many entries more on either side of each of `dims`, as if the tensor began anew
// behind its end. What is wrapped around nothing is zero.
Tensor wrap(const Tensor& self, const IntVector& dims, const IntVector& before,
            const IntVector& after);
// aten::flip, fliplr (axis 1), flipud (axis 0).
Tensor flip(const Tensor& self, const IntVector& dims);
Tensor fliplr(const Tensor& self);
Tensor flipud(const Tensor& self);
// aten::rot90: k quarter turns in the plane of two dims, from the first towards the second.
Tensor rot90(const Tensor& self, int64_t k, const IntVector& dims);

}  // namespace tierup::kernels
