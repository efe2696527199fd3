// Pools, and what is reduced over other dimensions; see resolver.h.
#include "tierup/kernels/net/resolver.h"

namespace tierup::kernels::net {

Tensor Resolver::shell(IntSpan sizes) {
  return Tensor::from_storage(Storage::borrow(nullptr, 0, nullptr, Device{DeviceType::kMeta}),
                              ScalarType::kFloat, sizes, contiguous_strides(sizes), 0);
}

bool Resolver::pool(const PoolWindow& window, bool is_max, bool counts_padding) {
  const int input = value(0);
  IntVector out{sizes(input)[0], sizes(input)[1]};
  for (int i = 3 - window.rank; i < 3; ++i) out.push_back(window.out[static_cast<size_t>(i)]);
  Layer& layer = add(LayerKind::kPool, {input}, out);
  layer.pool = window;
  layer.is_max = is_max;
  layer.counts_padding = counts_padding;
  return set(layer.output);
}

// Of [N, C, *] with so many dimensions that are pooled.
bool Resolver::max_pool(int rank) {
  if (sizes(value(0)).size() != static_cast<size_t>(rank) + 2) return false;
  const IntVector dilation = ints(4);
  if (std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d != 1; })) return false;
  return pool(
      pool_window(shell(sizes(value(0))), rank, ints(1), ints(2), ints(3), dilation, flag(5)), true,
      true);
}

bool Resolver::avg_pool(int rank) {
  if (sizes(value(0)).size() != static_cast<size_t>(rank) + 2 || !plain(6).is_none()) return false;
  const PoolWindow window =
      pool_window(shell(sizes(value(0))), rank, ints(1), ints(2), ints(3), IntVector{1}, flag(4));
  bool reaches_over = false;
  bool is_padded = false;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t end = (window.out[d] - 1) * window.stride[d] + window.kernel[d];
    reaches_over = reaches_over || end > window.in[d] + 2 * window.padding[d];
    is_padded = is_padded || window.padding[d] != 0;
  }
  // Windows that reach over the padded end count its zeros, but not what lies behind.
  if (reaches_over && is_padded && flag(5)) return false;
  return pool(window, false, flag(5) && !reaches_over);
}

bool Resolver::adaptive_pool(int rank) {
  IntVector wanted = ints(1);
  const IntSpan in = sizes(value(0));
  if (in.size() != static_cast<size_t>(rank) + 2 || wanted.size() != static_cast<size_t>(rank))
    return false;
  if (std::all_of(wanted.begin(), wanted.end(), [](int64_t size) { return size == 1; }))
    return set(over_points(value(0), Reduction::kMean, 2, true));
  IntVector kernel;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] <= 0 || in[d + 2] % wanted[d] != 0) return false;
    kernel.push_back(in[d + 2] / wanted[d]);
  }
  return pool(pool_window(shell(in), rank, kernel, kernel, IntVector{0}, IntVector{1}, false),
              false, true);
}

bool Resolver::adaptive_max() {
  const IntVector wanted = ints(1);
  const auto is_one = [](int64_t size) { return size == 1; };
  return !wanted.empty() && wanted.size() + 2 == sizes(value(0)).size() &&
         std::all_of(wanted.begin(), wanted.end(), is_one) &&
         set(over_points(value(0), Reduction::kLargest, 2, true));
}

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

int Resolver::over_points(int input, Reduction reduction, size_t first, bool keep) {
  const IntSpan in = sizes(input);
  IntVector out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first));
  if (keep) out.resize(in.size(), 1);
  Layer& layer = add(LayerKind::kOverPoints, {input}, out);
  layer.reduction = reduction;
  return layer.output;
}

// The first of these dimensions, where they are all from there on, behind those of the batch and
// of the channels.
std::optional<size_t> Resolver::first_of_points(int input, const IntVector& dims) const {
  const size_t rank = sizes(input).size();
  if (rank < 3 || dims.size() > rank - 2) return std::nullopt;
  const size_t first = rank - dims.size();
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<int64_t>(first + i)) return std::nullopt;
  return first;
}

int Resolver::over_row(int input, Reduction reduction, size_t dim, bool keep) {
  const int rows = turned(input, dim, false);
  IntVector out(sizes(rows).begin(), sizes(rows).end());
  out.back() = 1;
  Layer& layer = add(LayerKind::kOverRows, {rows}, out);
  layer.reduction = reduction;
  const int result = layer.output;
  if (keep) return turned(result, dim, true);
  out.pop_back();
  return add(LayerKind::kView, {result}, out).output;
}

// As points of [before, behind, those between], or as rows where nothing stays behind them. What
// stays before them, or between, is brought to the front.
int Resolver::over_dims(int input, Reduction reduction, const IntVector& dims, bool keep) {
  const IntVector in(sizes(input).begin(), sizes(input).end());
  const auto is_reduced = [&](size_t d) {
    return std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
  };
  IntVector out;
  IntVector order;
  int64_t before = 1;
  int64_t behind = 1;
  for (size_t d = 0; d < in.size(); ++d) {
    if (keep || !is_reduced(d)) out.push_back(is_reduced(d) ? 1 : in[d]);
    if (is_reduced(d)) continue;
    const bool is_last = static_cast<int64_t>(d) > dims.back();
    (is_last ? behind : before) *= in[d];
    if (!is_last) order.push_back(static_cast<int64_t>(d));
  }
  order.insert(order.end(), dims.begin(), dims.end());
  for (auto d = dims.back() + 1; d < static_cast<int64_t>(in.size()); ++d) order.push_back(d);
  if (!std::is_sorted(order.begin(), order.end())) {
    IntVector moved;
    for (const int64_t d : order) moved.push_back(in[static_cast<size_t>(d)]);
    Layer& layer = add(LayerKind::kPermute, {input}, moved);
    layer.order = order;
    input = layer.output;
  }
  const int64_t count = numel_of(in) / before / behind;
  const bool has_rows = behind == 1;
  input = add(LayerKind::kView, {input},
              has_rows ? IntVector{before, count} : IntVector{before, count, behind})
              .output;
  if (!has_rows) {
    Layer& layer = add(LayerKind::kPermute, {input}, IntVector{before, behind, count});
    layer.order = {0, 2, 1};
    input = layer.output;
  }
  Layer& layer = add(has_rows ? LayerKind::kOverRows : LayerKind::kOverPoints, {input},
                     has_rows ? IntVector{before, 1} : IntVector{before, behind});
  layer.reduction = reduction;
  const int result = layer.output;
  return add(LayerKind::kView, {result}, out).output;
}

int Resolver::reduced(int input, Reduction reduction, IntVector dims, bool keep) {
  const auto rank = static_cast<int64_t>(sizes(input).size());
  if (rank == 0 || dims.empty() || numel_of(sizes(input)) == 0) return -1;
  for (int64_t& d : dims) d = wrap_dim(d, rank);
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) return -1;
  // A result without dimensions is a number.
  if (!keep && static_cast<int64_t>(dims.size()) == rank) return -1;
  if (dims.size() == 1 && (dims[0] == rank - 1 || (dims[0] == 1 && rank > 2)))
    return over_row(input, reduction, static_cast<size_t>(dims[0]), keep);
  if (const std::optional<size_t> first = first_of_points(input, dims))
    return over_points(input, reduction, *first, keep);
  return over_dims(input, reduction, dims, keep);
}

bool Resolver::reduce(Reduction reduction) {
  const bool is_extremum = reduction == Reduction::kLargest;
  if (!is_extremum && !plain(3).is_none() && !is_float_code(plain(3))) return false;
  const int result = reduced(value(0), reduction, ints(1), flag(2));
  return result >= 0 && set(result);
}

// Euclidean. Of single numbers no squares are taken.
bool Resolver::norm() {
  const bool is_float_norm = plain(4).is_none() || is_float_code(plain(4));
  if (number(1, 2) != 2 || !is_float_norm || !plain(2).is_list()) return false;
  const int result = reduced(value(0), Reduction::kNorm, ints(2), flag(3));
  return result >= 0 && numel_of(sizes(value(0))) > numel_of(sizes(result)) && set(result);
}

}  // namespace tierup::kernels::net
