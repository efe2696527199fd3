// Attention in the steps that give its weights, and the fused layers of nn.Transformer.
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/attention/attention.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/products.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/norm/layer_norm.h"
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/random/drop_elements.h"
#include "tierup/kernels/reduce/ragged.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor scaled(const Tensor& tensor, double factor) {
  const Tensor out = Tensor::empty(tensor.sizes(), tensor.dtype());
  dispatch_work(tensor.dtype(), "mul", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    map_elements<T, T>(
        out, [factor](T x) { return x * static_cast<T>(factor); }, tensor);
  });
  return out;
}

// Adds a mask to scores in place: where `hidden` (bool) is true, or by its numbers.
void mask_scores(const Tensor& scores, const Tensor& mask, bool true_hides) {
  const Tensor spread = expand_to(mask, scores.sizes());
  dispatch_work(scores.dtype(), "masked_fill", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (mask.dtype() == ScalarType::kBool) {
      const T hidden = -std::numeric_limits<T>::infinity();
      map_elements<T, T, bool>(
          scores, [=](T x, bool m) { return m == true_hides ? hidden : x; }, scores, spread);
    } else {
      map_elements<T, T, T>(
          scores, [](T x, T m) { return x + m; }, scores, to_dtype(spread, kDTypeOf<T>));
    }
  });
}

Tensor causal_mask(int64_t queries, int64_t keys) {
  const Tensor mask = Tensor::empty(IntVector{queries, keys}, ScalarType::kBool);
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) mask.data<bool>()[i * keys + j] = j <= i;
  }
  return mask;
}

// [B, L, E] to [B, H, L, E / H], a view.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(reshape(x, IntVector{x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

// The mask in the form that broadcasts to [B, H, L, S].
Tensor shaped_mask(const Tensor& mask, std::optional<int64_t> mask_type) {
  if (mask_type.value_or(0) == 1 && mask.dim() == 2) return unsqueeze(unsqueeze(mask, 1), 1);
  return mask;
}

Tensor slice_rows(const Tensor& tensor, int64_t first, int64_t count) {
  IntVector sizes(tensor.sizes().begin(), tensor.sizes().end());
  sizes[0] = count;
  return tensor.as_view(sizes, tensor.strides(), tensor.offset() + first * tensor.stride(0));
}

// One of the three parts of a packed projection, applied to its own input.
Tensor project(const Tensor& x, const HeadWeights& w, int64_t part) {
  const int64_t e = w.embed_dim;
  return linear(x, slice_rows(w.qkv_weight, part * e, e), slice_rows(w.qkv_bias, part * e, e));
}

}  // namespace

std::tuple<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor& mask,
                                                  const AttentionOptions& options, double dropout_p,
                                                  Generator* generator) {
  check_attention(query, key, value, mask, options);
  Tensor keys = key;
  Tensor values = value;
  if (options.enable_gqa) {
    keys = repeated_heads(key, query.size(-3));
    values = repeated_heads(value, query.size(-3));
  }
  const ScalarType work = work_type(query.dtype());
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  const Tensor scores =
      matmul(scaled(to_dtype(query, work), scale), matrix_transpose(to_dtype(keys, work)));
  if (options.is_causal) mask_scores(scores, causal_mask(query.size(-2), keys.size(-2)), false);
  if (mask.defined()) mask_scores(scores, mask, false);
  Tensor weights = safe_softmax(scores, -1, std::nullopt);
  if (dropout_p > 0) weights = drop_elements(weights, dropout_p, *generator);
  const Tensor out = matmul(weights, to_dtype(values, work));
  return {to_dtype(out, query.dtype()), to_dtype(weights, query.dtype())};
}

std::tuple<Tensor, Tensor> multi_head_attention(const Tensor& query, const Tensor& key,
                                                const Tensor& value, const HeadWeights& w,
                                                const Tensor& mask, bool need_weights,
                                                bool average_weights,
                                                std::optional<int64_t> mask_type) {
  const int64_t e = w.embed_dim;
  require(query.dim() == 3 && key.dim() == 3 && value.dim() == 3, kBad,
          "expected 3-D `query`, got {}-D tensor", query.dim());
  require(query.size(2) == e, kBad, "passed-in embed_dim {} didn't match last dim of query {}", e,
          query.size(2));
  require(w.num_heads > 0 && e % w.num_heads == 0, kBad,
          "`embed_dim` must divide evenly by `num_heads`");
  require(w.qkv_weight.dim() == 2 && w.qkv_weight.size(0) == 3 * e && w.qkv_bias.dim() == 1 &&
              w.qkv_bias.size(0) == 3 * e,
          kBad, "expected `qkv_weight` of {} rows and `qkv_bias` of that size", 3 * e);
  Tensor q, k, v;
  if (query.is_same(key) && key.is_same(value)) {
    const Tensor qkv = linear(query, w.qkv_weight, w.qkv_bias);
    const auto part = [&](int64_t i) {
      return qkv.as_view(query.sizes(), qkv.strides(), qkv.offset() + i * e);
    };
    q = part(0);
    k = part(1);
    v = part(2);
  } else {
    q = project(query, w, 0);
    k = project(key, w, 1);
    v = project(value, w, 2);
  }
  const ScalarType work = work_type(query.dtype());
  q = to_dtype(split_heads(q, w.num_heads), work);
  k = to_dtype(split_heads(k, w.num_heads), work);
  v = to_dtype(split_heads(v, w.num_heads), work);
  Tensor seen;
  if (mask.defined()) {
    // True hides here; attention wants numbers to add.
    seen = Tensor::empty(mask.sizes(), work);
    fill(seen, 0);
    mask_scores(seen, mask, true);
    seen = shaped_mask(seen, mask_type);
  }
  Tensor context, weights;
  if (need_weights) {
    std::tie(context, weights) = attention_with_weights(q, k, v, seen, {}, 0, nullptr);
  } else {
    context = attention(q, k, v, seen, {});
  }
  const Tensor joined =
      reshape(transpose(context, 1, 2), IntVector{query.size(0), query.size(1), e});
  const Tensor out = linear(to_dtype(joined, query.dtype()), w.proj_weight, w.proj_bias);
  if (!need_weights) return {out, Tensor()};
  if (average_weights) {
    const Tensor total = squeeze_dim(sum_keeping(weights, {1}), 1);
    weights = scaled(total, 1.0 / static_cast<double>(w.num_heads));
  }
  return {out, to_dtype(weights, query.dtype())};
}

Tensor transformer_encoder_layer(const Tensor& src, const HeadWeights& heads,
                                 const EncoderWeights& layer, const Tensor& mask,
                                 std::optional<int64_t> mask_type) {
  if (!mask.defined()) {
    const Tensor missing = missing_positions(src);
    if (missing.defined()) {
      const Tensor filled = with_positions_set(src, missing, 0);
      const Tensor out = transformer_encoder_layer(filled, heads, layer, missing, 1);
      return with_positions_set(out, missing, std::numeric_limits<double>::quiet_NaN());
    }
  }
  const IntVector shape{heads.embed_dim};
  const auto norm_1 = [&](const Tensor& x) {
    return layer_norm(x, shape, layer.norm_weight_1, layer.norm_bias_1, layer.eps);
  };
  const auto norm_2 = [&](const Tensor& x) {
    return layer_norm(x, shape, layer.norm_weight_2, layer.norm_bias_2, layer.eps);
  };
  const Tensor first = layer.norm_first ? norm_1(src) : src;
  const Tensor attended =
      std::get<0>(multi_head_attention(first, first, first, heads, mask, false, false, mask_type));
  Tensor x = pointwise({Body::kAdd}, {attended, src});
  if (!layer.norm_first) x = norm_1(x);
  const Tensor second = layer.norm_first ? norm_2(x) : x;
  const Tensor hidden = pointwise({layer.use_gelu ? Body::kGeluErf : Body::kRelu},
                                  {linear(second, layer.ffn_weight_1, layer.ffn_bias_1)});
  x = pointwise({Body::kAdd}, {linear(hidden, layer.ffn_weight_2, layer.ffn_bias_2), x});
  return layer.norm_first ? x : norm_2(x);
}

}  // namespace tierup::kernels
