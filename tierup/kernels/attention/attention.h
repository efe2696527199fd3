// Scaled dot-product attention, and the fused multi-head attention and encoder layer built on it.
#pragma once

#include <optional>
#include <tuple>

#include "tierup/kernels/random/generator.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

struct AttentionOptions {
  bool is_causal = false;       // Query i sees keys 0..i; excludes a mask.
  std::optional<double> scale;  // 1 / sqrt(E) if not given.
  bool enable_gqa = false;      // Each key head serves several query heads.
};

struct AttentionOperand {
  IntSpan sizes;
  IntSpan strides;
};

// Whether PyTorch has a fused kernel for these on processors, whose result lies as the query does:
// heads innermost but one, say, so that the caller's transpose and reshape are views. Its other
// results are contiguous. `mask_rank` is 0 without a mask; nothing is dropped.
bool lies_as_query(const AttentionOperand& query, const AttentionOperand& key,
                   const AttentionOperand& value, size_t mask_rank, bool enable_gqa);

// Throws kInvalidArgument for shapes, dtypes and options that do not fit each other, but for the
// batch dimensions and the mask's shape.
void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, const AttentionOptions& options);

// aten::scaled_dot_product_attention: query [*, L, E], key [*, S, E], value [*, S, Ev], batch
// dimensions broadcast, to [*, L, Ev]. `mask` (undefined: none) broadcasts to [*, L, S]: bool, true
// where a key is seen, or numbers that are added to the scores. A query that sees nothing gives
// zeros. f16 and bf16 compute in f32. Throws kInvalidArgument for shapes that do not fit.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const AttentionOptions& options);

// The same step by step, which also gives the attention weights [*, L, S]; `dropout_p` zeroes
// weights at random (from `generator`, not null then).
std::tuple<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor& mask,
                                                  const AttentionOptions& options, double dropout_p,
                                                  Generator* generator);

// Keys or values [*, H', S, E] as [*, heads, S, E]: each head as often as it serves queries'.
Tensor repeated_heads(const Tensor& keys, int64_t heads);

// The log-sum-exp over keys of each query's scores, [*, L], laid out with the heads innermost; f32
// for f16 and bf16.
Tensor attention_log_sums(const Tensor& query, const Tensor& key, const Tensor& mask,
                          const AttentionOptions& options);

// The parameters of a fused multi-head attention: [3 * E, E], [3 * E], [E, E], [E].
struct HeadWeights {
  int64_t embed_dim = 0;
  int64_t num_heads = 1;
  Tensor qkv_weight, qkv_bias, proj_weight, proj_bias;
};

// aten::_native_multi_head_attention, batch first: query [B, L, E], key and value [B, S, E]. `mask`
// is true where a key is hidden: [L, S] (mask_type 0), [B, S] (1) or [B, H, L, S] (2). The second
// result is the weights, averaged over heads if asked, or undefined.
std::tuple<Tensor, Tensor> multi_head_attention(const Tensor& query, const Tensor& key,
                                                const Tensor& value, const HeadWeights& weights,
                                                const Tensor& mask, bool need_weights,
                                                bool average_weights,
                                                std::optional<int64_t> mask_type);

// The parameters of the two norms and of the feed-forward part of an encoder layer.
struct EncoderWeights {
  bool use_gelu = false;
  bool norm_first = false;
  double eps = 1e-5;
  Tensor norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2;
  Tensor ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2;
};

// aten::_transformer_encoder_layer_fwd on [B, L, E], which may be ragged (ragged.h) if there is no
// mask.
Tensor transformer_encoder_layer(const Tensor& src, const HeadWeights& heads,
                                 const EncoderWeights& layer, const Tensor& mask,
                                 std::optional<int64_t> mask_type);

}  // namespace tierup::kernels
