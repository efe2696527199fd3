// Means and RMS normalisation over the last dimension; see resolver.h.
#include <limits>

#include "tierup/kernels/net/resolver.h"

namespace tierup::kernels::net {

int Resolver::turned(int id, size_t dim, bool back) {
  const IntVector in(sizes(id).begin(), sizes(id).end());
  if (dim + 1 == in.size()) return id;
  IntVector order;
  for (size_t d = 0; d < in.size(); ++d) order.push_back(static_cast<int64_t>(d));
  if (back) {
    order.pop_back();
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(dim),
                 static_cast<int64_t>(in.size()) - 1);
  } else {
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(dim));
    order.push_back(static_cast<int64_t>(dim));
  }
  IntVector out;
  for (const int64_t d : order) out.push_back(in[static_cast<size_t>(d)]);
  Layer& layer = add(LayerKind::kPermute, {id}, out);
  layer.order = order;
  return layer.output;
}

// Of the last dimension, or of the channels, which nets have innermost.
bool Resolver::over_rows(LayerKind kind, bool keep) {
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  const IntVector dims = ints(1);
  if (dims.size() != 1 || rank == 0 || numel_of(sizes(value(0))) == 0) return false;
  const int64_t dim = wrap_dim(dims[0], rank);
  if (dim != rank - 1 && (dim != 1 || rank < 3)) return false;
  const auto at = static_cast<size_t>(dim);
  const int rows = turned(value(0), at, false);
  IntVector out(sizes(rows).begin(), sizes(rows).end());
  out.back() = 1;
  const int reduced = add(kind, {rows}, out).output;
  if (keep) return set(turned(reduced, at, true));
  out.pop_back();
  return set(add(LayerKind::kView, {reduced}, out).output);
}

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
