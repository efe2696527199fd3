// Random operators: dropout by its mask, and fills, whose gradients are zero.
#include <cmath>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

constexpr double kAlpha = 1.7580993408473766;  // Of alpha dropout: -(negative limit of selu).

void native_dropout(GradContext& c) {
  c.give(0, [&] {
    const bool train = c.is_none("train") || c.bool_of("train");
    if (!train) return grad(c);
    const double p = c.float_of("p");
    return grad(c).then("aten::native_dropout_backward", result(c, 1), p == 1 ? 0.0 : 1 / (1 - p));
  });
}
void native_dropout_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::native_dropout_backward", arg(c, 1), c.float_of("scale"));
  });
}

// Whether this call drops anything; if not, its result is made here.
bool drops(GradContext& c) {
  if (!c.bool_of("train") || c.float_of("p") == 0 || c.numel(0) == 0) {
    c.set_result(0, arg(c, 0).then("aten::alias"));
    return false;
  }
  if (c.float_of("p") != 1) return true;
  c.set_result(0, arg(c, 0) * 0.0);
  return false;
}
void dropout(GradContext& c) {
  if (!drops(c)) return;
  c.set_result(0, c.ops(2, "aten::native_dropout", c.arg(0), c.float_of("p"), true)[0]);
}
// One draw for each sample and channel, or for each element.
Term noise(GradContext& c, bool by_feature) {
  IntVector sizes(c.shape(0).begin(), c.shape(0).end());
  if (by_feature) std::fill(sizes.begin() + 2, sizes.end(), 1);
  const Term like = call(c, "aten::empty.memory_format", sizes, real_type_of(c.dtype(0)));
  return like.then("aten::bernoulli.p", 1 - c.float_of("p"));
}
void feature_dropout(GradContext& c) {
  if (!drops(c)) return;
  c.set_result(0, arg(c, 0) * (noise(c, true) / (1 - c.float_of("p"))));
}
void dropped_to_alpha(GradContext& c, bool by_feature) {
  if (!drops(c)) return;
  const double p = c.float_of("p");
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Term kept = noise(c, by_feature);
  const Term shift = (kept - 1) * (kAlpha * a) + kAlpha * a * p;
  c.set_result(0, arg(c, 0) * (kept * a) + shift);
}
void alpha_dropout(GradContext& c) { dropped_to_alpha(c, false); }
void feature_alpha_dropout(GradContext& c) { dropped_to_alpha(c, true); }

// By the form that gives the noise as a result.
Term rrelu_of(GradContext& c, const Term& noise_before, GradValue* noise_after) {
  const std::vector<GradValue> made =
      c.ops(2, "aten::rrelu_with_noise_functional", kept(c, 0).operator GradValue(),
            noise_before.operator GradValue(), c.scalar_of("lower"), c.scalar_of("upper"),
            c.bool_of("training"));
  if (noise_after != nullptr) *noise_after = made[1];
  return {c, made[0]};
}
void rrelu(GradContext& c) {
  c.set_result(0, rrelu_of(c, arg(c, 0).then("aten::empty_like"), nullptr));
}
void rrelu_with_noise(GradContext& c) {
  GradValue noise_after;
  const Term made = rrelu_of(c, arg(c, "noise").then("aten::clone"), &noise_after);
  c.op("aten::copy_", c.arg("noise"), noise_after);
  c.set_result(0, made);
}
void rrelu_functional(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::rrelu_with_noise_backward", arg(c, 0), result(c, 1),
                        c.scalar_of("lower"), c.scalar_of("upper"), c.bool_of("training"), false);
  });
}

constexpr auto kZero = DerivativeKind::kZero;
constexpr auto kNone = DerivativeKind::kNone;
constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::native_dropout", &native_dropout, 0b10},
    {"aten::native_dropout_backward", &native_dropout_backward},
    {"aten::dropout", kDecomposed, &dropout},
    {"aten::feature_dropout", kDecomposed, &feature_dropout},
    {"aten::alpha_dropout", kDecomposed, &alpha_dropout},
    {"aten::feature_alpha_dropout", kDecomposed, &feature_alpha_dropout},
    {"aten::rrelu", kDecomposed, &rrelu},
    {"aten::rrelu_with_noise", kDecomposed, &rrelu_with_noise},
    {"aten::rrelu_with_noise_functional", &rrelu_functional, 0b10},
    {"aten::bernoulli", kZero},
    {"aten::bernoulli.p", kZero},
    {"aten::bernoulli.Tensor", kZero},
    {"aten::bernoulli_.float", kZero},
    {"aten::bernoulli_.Tensor", kZero},
    {"aten::poisson", kZero},
    {"aten::normal.Tensor_float", kZero},
    {"aten::normal.float_Tensor", kZero},
    {"aten::normal.Tensor_Tensor", kZero},
    {"aten::normal_functional", kZero},
    {"aten::normal_", kZero},
    {"aten::uniform", kZero},
    {"aten::uniform_", kZero},
    {"aten::exponential", kZero},
    {"aten::exponential_", kZero},
    {"aten::cauchy", kZero},
    {"aten::cauchy_", kZero},
    {"aten::log_normal", kZero},
    {"aten::log_normal_", kZero},
    {"aten::geometric", kZero},
    {"aten::geometric_", kZero},
    {"aten::random", kZero},
    {"aten::random.to", kZero},
    {"aten::random.from", kZero},
    {"aten::random_", kZero},
    {"aten::random_.to", kZero},
    {"aten::random_.from", kZero},
    {"aten::rand_like", kNone},
    {"aten::rand_like.generator", kNone},
    {"aten::randn_like", kNone},
    {"aten::randn_like.generator", kNone},
    {"aten::multinomial", kNone},
};

}  // namespace

std::span<const DerivativeRow> random_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
