// Batches of sequences of different lengths, as nn.TransformerEncoder makes them with nested
// tensors.
//
// tierup has no nested tensors. A ragged batch is its padded batch [B, T, *] whose positions beyond
// a sequence's length are NaN throughout: point-wise operators, linear and the norms then keep the
// mark by themselves, the fused encoder layer hides those positions, and to_padded_tensor replaces
// them.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::_nested_tensor_from_mask_left_aligned: whether each row of mask [B, T] is true, then false.
bool is_left_aligned(const Tensor& tensor, const Tensor& mask);
// aten::_nested_tensor_from_mask: tensor [B, T, D] cut to as many positions as mask is true for.
// Throws kInvalidArgument if `mask_check` and the mask is not left-aligned.
Tensor ragged_from_mask(const Tensor& tensor, const Tensor& mask, bool mask_check);
// True for the positions [B, T] that are NaN throughout; undefined if there is none.
Tensor missing_positions(const Tensor& tensor);
// The tensor with `value` at the positions where `missing` [B, T] is true.
Tensor with_positions_set(const Tensor& tensor, const Tensor& missing, double value);
// aten::to_padded_tensor: a dense batch with `padding` where a sequence has ended, and beyond up to
// `output_size`, if given, which must not be smaller.
Tensor to_padded_tensor(const Tensor& tensor, double padding,
                        const std::optional<IntVector>& output_size);

}  // namespace tierup::kernels
