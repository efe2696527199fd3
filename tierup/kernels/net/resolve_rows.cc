// Means and RMS normalisation over the last dimension; see resolver.h.
#include <limits>

#include "tierup/kernels/net/resolver.h"

namespace tierup::kernels::net {

bool Resolver::row_mean() {
  IntVector out(sizes(value(0)).begin(), sizes(value(0)).end());
  if (out.back() == 0) return false;
  out.back() = 1;
  const int mean = add(LayerKind::kRowMean, {value(0)}, out).output;
  if (flag(2)) return set(mean);
  out.pop_back();
  return set(add(LayerKind::kView, {mean}, out).output);
}

bool Resolver::rsqrt() {
  return set(
      add(LayerKind::kRsqrt, {value(0)}, IntVector(sizes(value(0)).begin(), sizes(value(0)).end()))
          .output);
}

bool Resolver::rms_norm() {
  const IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  const IntVector shape = ints(1);
  const Tensor weight = constant(2);
  if (in.empty() || shape.size() != 1 || shape[0] != in.back() || shape[0] == 0) return false;
  if (!plain(2).is_none() &&
      (!is_dense_float(weight) || weight.dim() != 1 || weight.numel() != shape[0])) {
    return false;
  }
  Layer& layer = add(LayerKind::kRmsNorm, {value(0)}, in);
  layer.eps = number(3, static_cast<double>(std::numeric_limits<float>::epsilon()));
  if (weight.defined()) {
    for (int64_t i = 0; i < weight.numel(); ++i)
      layer.scale.push_back(static_cast<float>(element(weight, static_cast<size_t>(i))));
  }
  return set(layer.output);
}

}  // namespace tierup::kernels::net
