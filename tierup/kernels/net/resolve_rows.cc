// Functions, rolls and RMS normalisation; see resolver.h.
#include <limits>

#include "tierup/kernels/net/resolver.h"

namespace tierup::kernels::net {

bool Resolver::function(Body body) {
  Layer& layer = add(LayerKind::kFunction, {value(0)},
                     IntVector(sizes(value(0)).begin(), sizes(value(0)).end()));
  layer.body = body;
  return set(layer.output);
}

// Two parts of each dimension change places.
bool Resolver::roll() {
  const IntVector shifts = ints(1);
  const IntVector dims = ints(2);
  int rolled = value(0);
  const auto rank = static_cast<int64_t>(sizes(rolled).size());
  constexpr size_t kMostDims = kLayersOfOperator / 3;  // Each takes two slices and a join.
  if (dims.empty() || shifts.size() != dims.size() || dims.size() > kMostDims || rank == 0 ||
      numel_of(sizes(rolled)) == 0) {
    return false;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto axis = static_cast<size_t>(wrap_dim(dims[i], rank));
    const int64_t size = sizes(rolled)[axis];
    const int64_t shift = (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    const int last = slice(rolled, axis, size - shift, shift);
    const int first = slice(rolled, axis, 0, size - shift);
    Layer& layer =
        add(LayerKind::kCat, {last, first}, IntVector(sizes(rolled).begin(), sizes(rolled).end()));
    layer.axis = axis;
    rolled = layer.output;
  }
  return set(rolled);
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
