// Gradients of scaled dot-product attention (attention.h).
#pragma once

#include <optional>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::_scaled_dot_product_flash_attention_for_cpu_backward: for query [B, H, L, E], key and value
// [B, H, S, E], or with a divisor of H heads, each of which serves several queries'. `sums` are the
// logarithms of the rows' sums [B, H, L], from which the weights are computed again; joint graphs
// of the reference that pass the weights themselves there, [B, H, L, S], get the right gradients
// from these, too. f16 and bf16 compute in f32. Throws kInvalidArgument for other shapes and for a
// dropout.
std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& grad, const Tensor& query,
                                                      const Tensor& key, const Tensor& value,
                                                      const Tensor& out, const Tensor& sums,
                                                      double dropout_p, bool is_causal,
                                                      const Tensor& mask,
                                                      std::optional<double> scale);

}  // namespace tierup::kernels
