// Padding: a border of constants, mirrored, repeated or wrapped elements.
//
// `pad` lists (before, after) pairs from the last dimension forwards.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

enum class Border : uint8_t { kReflect, kReplicate, kCircular };
// Of the modes of aten::pad; none for other names.
std::optional<Border> border_of(std::string_view mode);
// For each entry of a padded dimension, the one that it is taken from.
std::vector<int64_t> border_sources(Border border, int64_t size, int64_t before, int64_t after);

// Entries of a line that are read one after the other: so many, from `from` on; below zero: none
// are read.
struct LineRun {
  int64_t to, from, count;
};
// The sources of a line's entries as runs, in order; those below zero stand for what is filled.
std::vector<LineRun> line_runs(const std::vector<int64_t>& sources);
// The same of border_sources, at once: a long dimension takes no time of its own.
std::vector<LineRun> border_runs(Border border, int64_t size, int64_t before, int64_t after);

// aten::constant_pad_nd: negative widths crop. Throws kInvalidArgument if a size would be negative.
Tensor constant_pad_nd(const Tensor& self, const IntVector& pad, const Scalar& value);
// aten::reflection_pad1d, 2d, 3d: mirrored without the edge; widths must be below the size.
Tensor reflection_pad1d(const Tensor& self, const IntVector& pad);
Tensor reflection_pad2d(const Tensor& self, const IntVector& pad);
Tensor reflection_pad3d(const Tensor& self, const IntVector& pad);
// aten::replication_pad1d, 2d, 3d: the edge repeated; negative widths crop.
Tensor replication_pad1d(const Tensor& self, const IntVector& pad);
Tensor replication_pad2d(const Tensor& self, const IntVector& pad);
Tensor replication_pad3d(const Tensor& self, const IntVector& pad);
// aten::_pad_circular: wrapped around; for 3, 4 or 5 dimensions.
Tensor circular_pad(const Tensor& self, const IntVector& pad);
// aten::pad: mode "constant", "reflect", "replicate" or "circular"; `value` only for the first.
Tensor pad(const Tensor& self, const IntVector& pad, std::string_view mode,
           std::optional<double> value);
// aten::_pad_enum: the same with modes 0 to 3.
Tensor pad_enum(const Tensor& self, const IntVector& pad, int64_t mode,
                std::optional<double> value);

}  // namespace tierup::kernels
