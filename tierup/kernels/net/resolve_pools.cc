// Pools, and what is reduced over all points of a channel; see resolver.h.
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
    return over_points(LayerKind::kMean, 2, true);
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
         over_points(LayerKind::kLargest, 2, true);
}

bool Resolver::over_points(LayerKind kind, size_t first, bool keep) {
  const IntSpan in = sizes(value(0));
  IntVector out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first));
  if (keep) out.resize(in.size(), 1);
  if (numel_of(in) == 0) return false;
  return set(add(kind, {value(0)}, out).output);
}

// The first of these dimensions, where they are all from there on, behind those of the batch and
// of the channels.
std::optional<size_t> Resolver::first_of_points(IntVector dims) const {
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  if (rank < 3 || dims.empty() || static_cast<int64_t>(dims.size()) > rank - 2) return std::nullopt;
  for (int64_t& d : dims) d = wrap_dim(d, rank);
  std::sort(dims.begin(), dims.end());
  const auto first = static_cast<size_t>(rank) - dims.size();
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<int64_t>(first + i)) return std::nullopt;
  return first;
}

bool Resolver::mean() {
  const IntVector dims = ints(1);
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  if (!plain(3).is_none() && !is_float_code(plain(3))) return false;
  if (dims.size() == 1 && rank > 0) {
    const int64_t dim = wrap_dim(dims[0], rank);
    if (dim == rank - 1 || dim == 1) return over_rows(LayerKind::kRowMean, flag(2));
  }
  const std::optional<size_t> first = first_of_points(dims);
  return first && over_points(LayerKind::kMean, *first, flag(2));
}

bool Resolver::largest() {
  const IntVector dims = ints(1);
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  if (dims.size() == 1 && rank > 2 && wrap_dim(dims[0], rank) == 1)
    return over_rows(LayerKind::kRowLargest, flag(2));
  const std::optional<size_t> first = first_of_points(dims);
  return first && over_points(LayerKind::kLargest, *first, flag(2));
}

}  // namespace tierup::kernels::net
