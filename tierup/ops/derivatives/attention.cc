// Attention.
#include <cmath>

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

// What a query may not see is at minus infinity; a query that sees nothing gives zeros.
Term weights_of(GradContext& c, const Term& key) {
  const double width = static_cast<double>(c.size(0, -1));
  const double scale = c.float_of("scale", 1 / std::sqrt(width));
  Term scores = matmul(arg(c, 0) * scale, turned(key));
  if (c.bool_of("is_causal")) {
    const IntVector sizes{c.size(0, -2), c.size(1, -2)};
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
void attention(GradContext& c) {
  const Term key = repeated_heads(c, "key");
  const Term value = repeated_heads(c, "value");
  Term weights = weights_of(c, key);
  if (c.float_of("dropout_p") > 0)
    weights = weights.then("aten::dropout", c.float_of("dropout_p"), true);
  c.set_result(0, matmul(weights, value));
  if (c.row().schema().returns.size() > 1) c.set_result(1, weights);
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

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::scaled_dot_product_attention", kDecomposed, &attention},
    {"aten::_scaled_dot_product_attention_math", kDecomposed, &attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", &flash_attention, 0b10},
};

}  // namespace

std::span<const DerivativeRow> attention_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
