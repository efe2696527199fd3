// Attention.
#include <algorithm>
#include <cmath>

#include "tierup/base/error.h"
#include "tierup/kernels/attention/attention.h"
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// Key and value heads that serve several query heads are repeated.
Term repeated_heads(GradContext& c, const char* name) {
  const Term heads = arg(c, name);
  if (!c.bool_of("enable_gqa")) return heads;
  const int64_t times = c.size(0, -3) / std::max<int64_t>(1, c.size(name, -3));
  return times == 1 ? heads : heads.then("aten::repeat_interleave.self_int", times, -3);
}

double scale_of(GradContext& c) {
  return c.float_of("scale", 1 / std::sqrt(static_cast<double>(c.size("query", -1))));
}
// What a query may not see is at minus infinity; a query that sees nothing gives zeros.
Term weights_of(GradContext& c, const Term& key) {
  Term scores = matmul(arg(c, "query") * scale_of(c), turned(key));
  if (c.bool_of("is_causal")) {
    const IntVector sizes{c.size("query", -2), c.size("key", -2)};
    const Term seen = call(c, "aten::ones", sizes, ScalarType::kBool).then("aten::tril");
    scores = cleared(scores, inverted(seen), -INFINITY);
  }
  if (c.is_tensor("attn_mask")) {
    const bool is_bool = c.dtype("attn_mask") == ScalarType::kBool;
    const Term mask = arg(c, "attn_mask");
    scores = is_bool ? cleared(scores, inverted(mask), -INFINITY) : scores + mask;
  }
  return scores.then("aten::_safe_softmax", -1);
}
// In the layout of the query where PyTorch's result lies so.
Term laid_out(GradContext& c, const Term& result) {
  const auto operand = [&](ArgIndex i) {
    return kernels::AttentionOperand{c.shape(i), c.strides(i)};
  };
  const bool has_mask = c.is_tensor("attn_mask");
  const size_t mask_rank = has_mask ? c.shape("attn_mask").size() : 0;
  const bool is_fused =
      c.float_of("dropout_p") == 0 && kernels::lies_as_query(operand(0), operand(1), operand(2),
                                                             mask_rank, c.bool_of("enable_gqa"));
  if (!is_fused) return result;
  const IntSpan strides = c.strides(0);
  const auto by_stride = [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  };
  IntVector order{0, 1, 2, 3};
  if (std::ranges::find(strides, 0) != strides.end()) return result;
  if (std::is_sorted(order.begin(), order.end() - 1, by_stride)) return result;
  std::stable_sort(order.begin(), order.end() - 1, by_stride);
  IntVector back(4);
  for (size_t i = 0; i < 4; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result.then("aten::permute", order).then("aten::contiguous").then("aten::permute", back);
}
bool is_dense_4d(GradContext& c, ArgIndex i) { return c.rank(i) == 4 && c.numel(i) > 0; }
// Whether the backward pass can make the weights again of sums of their rows, so that none are
// kept: not where they are dropped, or the mask's own gradient needs them.
bool can_forget_weights(GradContext& c) {
  const bool has_numbers = c.is_tensor("attn_mask") && c.dtype("attn_mask") != ScalarType::kBool;
  if (c.row().schema().returns.size() > 1 || c.float_of("dropout_p") > 0 || has_numbers)
    return false;
  if (!is_dense_4d(c, 0) || !is_dense_4d(c, 1) || !is_dense_4d(c, 2)) return false;
  const auto has_querys = [&](ArgIndex i) {
    return c.size(i, 0) == c.size(0, 0) && c.size(i, 1) == c.size(0, 1);
  };
  return has_querys(1) && has_querys(2);
}
void attention(GradContext& c) {
  if (can_forget_weights(c)) {
    c.set_result(0, c.ops(2, "aten::_scaled_dot_product_flash_attention_for_cpu", c.arg(0),
                          c.arg(1), c.arg(2), 0.0, c.bool_of("is_causal"), optional(c, "attn_mask"),
                          c.value_of("scale"))[0]);
    return;
  }
  const Term key = repeated_heads(c, "key");
  const Term value = repeated_heads(c, "value");
  Term weights = weights_of(c, key);
  if (c.float_of("dropout_p") > 0)
    weights = weights.then("aten::dropout", c.float_of("dropout_p"), true);
  const Term result = matmul(weights, value);
  const bool is_math = c.row().schema().returns.size() > 1;
  c.set_result(0, is_math ? result : laid_out(c, result));
  if (is_math) c.set_result(1, weights);
}

void flash_attention(GradContext& c) {
  const std::vector<GradValue> made =
      c.ops(3, "aten::_scaled_dot_product_flash_attention_for_cpu_backward", c.grad(), c.arg(0),
            c.arg(1), c.arg(2), c.result(0), c.result(1), c.float_of("dropout_p"),
            c.bool_of("is_causal"), optional(c, "attn_mask"), c.value_of("scale"));
  c.give(0, [&] { return made[0]; });
  c.give(1, [&] { return made[1]; });
  c.give(2, [&] { return made[2]; });
}

// Of query, key and value alone, which the result and the sums of rows are functions of: so their
// gradients reach these.
void flash_attention_backward(GradContext& c) {
  require(c.size("key", 1) == c.size("query", 1) && c.size("value", 1) == c.size("query", 1),
          ErrorCode::kUnsupported,
          "second derivatives of attention whose keys serve several queries' heads");
  const Term g = arg(c, 0);
  const Term weights = weights_of(c, arg(c, "key"));
  const Term of_weights = matmul(g, turned(arg(c, "value")));
  const Term row_sums = sum_over(of_weights * weights, IntVector{-1}, true);
  const Term of_scores = weights * (of_weights - row_sums) * scale_of(c);
  c.set_result(0, matmul(of_scores, arg(c, "key")));
  c.set_result(1, matmul(turned(of_scores), arg(c, "query")));
  c.set_result(2, matmul(turned(weights), g));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::scaled_dot_product_attention", kDecomposed, &attention, kReadsLayout},
    {"aten::_scaled_dot_product_attention_math", kDecomposed, &attention, kReadsLayout},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", &flash_attention, 0b10},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kDecomposed,
     &flash_attention_backward},
};

}  // namespace

std::span<const DerivativeRow> attention_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
