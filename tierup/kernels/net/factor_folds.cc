#include "tierup/kernels/net/factor_folds.h"

#include <algorithm>
#include <cmath>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/net/weight_factors.h"

namespace tierup::kernels::net {

bool join_linear(Activation& first, const Activation& second) {
  const bool first_turns = std::abs(first.alpha) == 1 && first.beta == 0;
  const bool second_turns = std::abs(second.alpha) == 1 && second.beta == 0;
  constexpr float kLeastToBringBack = 1e31F;  // Half of the largest float's last place.
  const bool scales_then_adds =
      first.beta == 0 && std::abs(second.alpha) == 1 && std::abs(second.beta) < kLeastToBringBack;
  if (!first_turns && !second_turns && !scales_then_adds) return false;
  first.alpha *= second.alpha;
  first.beta = first.beta * second.alpha + second.beta;
  return true;
}

namespace {

Activation line(float factor, float summand) { return {Function::kLinear, factor, summand}; }

}  // namespace

std::vector<Activation> joined_factors(const Layer& p, const Layer& affine) {
  const bool is_convolution = p.kind == LayerKind::kConv;
  const size_t count = affine.scale.size();
  std::vector<Activation> joined(is_convolution ? static_cast<size_t>(p.conv.out_channels) : count);
  for (size_t i = 0; i < joined.size(); ++i) {
    joined[i] = p.scale.empty() ? line(1, 0) : line(p.scale[i], p.shift[i]);
    if (!join_linear(joined[i], line(affine.scale[i % count], affine.shift[i % count]))) return {};
  }
  return joined;
}

bool keeps_weights_normal(const Layer& layer, const std::vector<float>& factors) {
  const Tensor weight = contiguous(layer.weight);
  const auto* numbers = weight.data<float>();
  const auto channels = static_cast<int64_t>(factors.size());
  const bool is_last = layer.kind == LayerKind::kGemm;  // The weight's channel; else the first.
  const int64_t each = std::max<int64_t>(weight.numel() / channels, 1);
  const int64_t rows = is_last ? each : channels;
  const int64_t row = is_last ? channels : each;
  const FactorLoops loops = factor_loops();
  std::vector<float> products(static_cast<size_t>(row));
  uint32_t lost = 0;
  for (int64_t r = 0; r < rows && lost == 0; ++r) {
    const float* const from = numbers + r * row;
    if (is_last) {
      std::copy_n(from, row, products.data());
      lost = loops.by_each(products.data(), 1, row, factors.data(), row);
    } else {
      lost = loops.by_one(from, factors[static_cast<size_t>(r)], row, products.data());
    }
  }
  return lost == 0;
}

}  // namespace tierup::kernels::net
