// Rows of attention and of the fused transformer layers.
#include "tierup/kernels/attention/attention.h"

#include <array>

#include "tierup/kernels/reduce/ragged.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

using kernels::AttentionOptions;

Tensor attend(RunContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask, double dropout_p, bool is_causal, std::optional<double> scale,
              bool enable_gqa) {
  const AttentionOptions options{is_causal, scale, enable_gqa};
  if (dropout_p == 0) return kernels::attention(query, key, value, mask, options);
  return std::get<0>(kernels::attention_with_weights(query, key, value, mask, options, dropout_p,
                                                     context.generator));
}

std::tuple<Tensor, Tensor> attend_math(RunContext& context, const Tensor& query, const Tensor& key,
                                       const Tensor& value, const Tensor& mask, double dropout_p,
                                       bool is_causal, const Tensor& dropout_mask,
                                       std::optional<double> scale, bool enable_gqa) {
  require(!dropout_mask.defined(), ErrorCode::kUnsupported,
          "_scaled_dot_product_attention_math: a dropout mask is not supported");
  return kernels::attention_with_weights(query, key, value, mask, {is_causal, scale, enable_gqa},
                                         dropout_p, context.generator);
}

// The scores' log-sum-exp of each query [B, H, L] comes second, laid out as [B, L, H].
std::tuple<Tensor, Tensor> attend_flash(RunContext& context, const Tensor& query, const Tensor& key,
                                        const Tensor& value, double dropout_p, bool is_causal,
                                        const Tensor& mask, std::optional<double> scale) {
  // Heads of keys that are fewer serve several queries' each, unasked.
  const bool is_grouped = query.dim() == 4 && key.dim() == 4 && key.size(1) != query.size(1);
  const Tensor out =
      attend(context, query, key, value, mask, dropout_p, is_causal, scale, is_grouped);
  return {out, kernels::attention_log_sums(query, key, mask, {is_causal, scale, is_grouped})};
}

std::tuple<Tensor, Tensor> multi_head(const Tensor& query, const Tensor& key, const Tensor& value,
                                      int64_t embed_dim, int64_t num_head, const Tensor& qkv_weight,
                                      const Tensor& qkv_bias, const Tensor& proj_weight,
                                      const Tensor& proj_bias, const Tensor& mask,
                                      bool need_weights, bool average_weights,
                                      std::optional<int64_t> mask_type) {
  return kernels::multi_head_attention(
      query, key, value, {embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias}, mask,
      need_weights, average_weights, mask_type);
}

Tensor encoder_layer(const Tensor& src, int64_t embed_dim, int64_t num_heads,
                     const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
                     const Tensor& proj_bias, bool use_gelu, bool norm_first, double eps,
                     const Tensor& norm_weight_1, const Tensor& norm_bias_1,
                     const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                     const Tensor& ffn_weight_1, const Tensor& ffn_bias_1,
                     const Tensor& ffn_weight_2, const Tensor& ffn_bias_2, const Tensor& mask,
                     std::optional<int64_t> mask_type) {
  return kernels::transformer_encoder_layer(
      src, {embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias},
      {use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2,
       ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2},
      mask, mask_type);
}

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
     "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool "
     "enable_gqa=False) -> Tensor",
     boxed<&attend>, ir::kRandom, &shapes::attention, facts(Work::kAttention, OpKind::kAttention)},
    {"aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
     "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
     "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
     boxed<&attend_math>, ir::kRandom},
    {"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
     "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> "
     "(Tensor output, Tensor logsumexp)",
     boxed<&attend_flash>, ir::kRandom, &shapes::attention_with_sums},
    {"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, "
     "int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
     "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? "
     "mask_type=None) -> (Tensor, Tensor)",
     boxed<&multi_head>, ir::kNoEffect, nullptr, facts(OpKind::kMultiHead)},
    {"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor "
     "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool "
     "norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, "
     "Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor "
     "ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
     boxed<&encoder_layer>, ir::kNoEffect, nullptr, facts(OpKind::kEncoderLayer)},
    {"aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor",
     boxed<&kernels::ragged_from_mask>, ir::kNoEffect, nullptr, facts(Role::kRagged)},
    {"aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool",
     boxed<&kernels::is_left_aligned>},
    {"aten::to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) -> Tensor",
     boxed<&kernels::to_padded_tensor>},
});

}  // namespace

std::span<const OpRow> attention_rows() { return kRows; }

}  // namespace tierup::ops
