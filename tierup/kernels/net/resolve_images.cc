// Norms over groups of channels, padding, resampling and shuffles of pixels; see resolver.h.
#include <cmath>
#include <string>

#include "tierup/kernels/net/resolver.h"

namespace tierup::kernels::net {

bool Resolver::grouped_norm(int64_t groups, size_t weight_at, double eps) {
  const int input = value(0);
  const IntVector in(sizes(input).begin(), sizes(input).end());
  const Tensor weight = constant(weight_at);
  const Tensor bias = constant(weight_at + 1);
  if (in.size() < 2 || groups <= 0 || in[1] % groups != 0 || numel_of(in) == 0) return false;
  for (const Tensor* t : {&weight, &bias})
    if (t->defined() && (!is_dense_float(*t) || t->numel() != in[1])) return false;
  // A matrix has one point.
  IntVector with_points = in;
  if (in.size() == 2) with_points.push_back(1);
  const int read = in.size() == 2 ? add(LayerKind::kView, {input}, with_points).output : input;
  Layer& layer = add(LayerKind::kGroupNorm, {read}, with_points);
  layer.axis = 1;
  layer.groups = groups;
  layer.eps = eps;
  const auto channels = static_cast<size_t>(in[1]);
  layer.scale.assign(channels, 1);
  layer.shift.assign(channels, 0);
  for (size_t c = 0; c < channels; ++c) {
    if (weight.defined()) layer.scale[c] = static_cast<float>(element(weight, c));
    if (bias.defined()) layer.shift[c] = static_cast<float>(element(bias, c));
  }
  const int result = layer.output;
  return set(in.size() == 2 ? add(LayerKind::kView, {result}, in).output : result);
}

// By the input's own numbers only without running averages, which would have to be written, too.
bool Resolver::instance_norm() {
  if (!flag(5)) return batch_norm();
  const bool has_averages = !plain(3).is_none() || !plain(4).is_none();
  if (has_averages || sizes(value(0)).size() < 3) return false;
  return grouped_norm(sizes(value(0))[1], 1, number(7, 1e-5));
}

bool Resolver::points(const Sources& sources, double fill) {
  const int input = value(0);
  IntVector out(sizes(input).begin(), sizes(input).end());
  if (out.size() < 3 || out.size() > 5 || numel_of(sizes(input)) == 0) return false;
  std::vector<std::vector<int64_t>> from;
  for (size_t d = 2; d < out.size(); ++d) {
    from.push_back(sources(d - 2, out[d]));
    out[d] = static_cast<int64_t>(from.back().size());
    if (out[d] == 0) return false;
  }
  Layer& layer = add(LayerKind::kPoints, {input}, out);
  layer.from = std::move(from);
  layer.fill = fill;
  return set(layer.output);
}

namespace {

// Before and after the spatial dimension, of the last `rank` ones; lists go from the last one.
std::pair<int64_t, int64_t> widths(const IntVector& pad, size_t spatial, size_t rank) {
  const size_t place = 2 * (rank - 1 - spatial);
  if (place + 1 >= pad.size()) return {0, 0};
  return {pad[place], pad[place + 1]};
}

}  // namespace

bool Resolver::constant_pad(const IntVector& pad, double fill) {
  const size_t rank = sizes(value(0)).size() - 2;
  const auto is_none = [](int64_t width) { return width == 0; };
  if (std::all_of(pad.begin(), pad.end(), is_none)) return set(value(0));
  if (pad.size() % 2 != 0 || pad.size() > 2 * rank || sizes(value(0)).size() < 3) return false;
  return points(
      [&](size_t spatial, int64_t size) {
        const auto [before, after] = widths(pad, spatial, rank);
        std::vector<int64_t> from;
        for (int64_t i = -before; i < size + after; ++i)
          from.push_back(i < size ? std::max<int64_t>(i, -1) : -1);
        return from;
      },
      fill);
}

bool Resolver::border_pad(const IntVector& pad, Border border) {
  const IntSpan in = sizes(value(0));
  const size_t rank = in.size() - 2;
  if (in.size() < 3 || pad.size() != 2 * rank) return false;
  for (size_t spatial = 0; spatial < rank; ++spatial) {
    const auto [before, after] = widths(pad, spatial, rank);
    const int64_t most = border == Border::kReflect ? in[spatial + 2] - 1 : in[spatial + 2];
    const bool is_wide = border != Border::kReplicate && std::max(before, after) > most;
    if (before < 0 || after < 0 || is_wide) return false;
  }
  return points(
      [&](size_t spatial, int64_t size) {
        const auto [before, after] = widths(pad, spatial, rank);
        return border_sources(border, size, before, after);
      },
      0);
}

bool Resolver::pad() {
  const std::string mode = plain(2).is_str() ? plain(2).to_str() : "constant";
  if (mode == "constant") return constant_pad(ints(1), number(3, 0));
  const std::optional<Border> border = border_of(mode);
  return border && border_pad(ints(1), *border);
}

namespace {

constexpr int64_t kMostPoints = 1 << 20;  // Along one dimension: each has an entry of a table.

std::optional<double> factor_of(const IValue& value) {
  return value.is_number() ? std::optional(value.to_scalar().to_double()) : std::nullopt;
}

}  // namespace

Resolver::Factors Resolver::factors_from(size_t first) const {
  Factors factors;
  for (size_t d = 2; d < sizes(value(0)).size(); ++d)
    factors.push_back(factor_of(plain(first + d - 2)));
  return factors;
}

Resolver::Factors Resolver::factors_in(size_t list) const {
  const size_t dims = sizes(value(0)).size();
  Factors factors;
  if (!plain(list).is_list()) return Factors(std::max<size_t>(dims, 2) - 2);
  for (const IValue& item : plain(list).to_list().items) factors.push_back(factor_of(item));
  return factors;
}

std::vector<ResampleDimension> Resolver::resampled(size_t size, const Factors& factors) const {
  const IntSpan in = sizes(value(0));
  const IntVector wanted = ints(size);
  const bool has_sizes = !wanted.empty();
  if (in.size() < 3 || factors.size() + 2 != in.size() || numel_of(in) == 0) return {};
  if (has_sizes && wanted.size() != factors.size()) return {};
  std::vector<ResampleDimension> dimensions;
  for (size_t d = 0; d < factors.size(); ++d) {
    const double out = has_sizes
                           ? static_cast<double>(wanted[d])
                           : std::floor(static_cast<double>(in[d + 2]) * factors[d].value_or(0));
    if (!(out >= 1 && out <= kMostPoints)) return {};
    dimensions.push_back({in[d + 2], static_cast<int64_t>(out), factors[d]});
  }
  return dimensions;
}

bool Resolver::nearest(const std::vector<ResampleDimension>& dimensions) {
  if (dimensions.empty()) return false;
  return points(
      [&](size_t spatial, int64_t) {
        return resample_taps(dimensions[spatial], ResampleMode::kNearest, false, false).index;
      },
      0);
}

bool Resolver::linear_resample(const std::vector<ResampleDimension>& dimensions) {
  if (dimensions.empty() || dimensions.size() > 2) return false;
  const IntSpan in = sizes(value(0));
  IntVector out{in[0], in[1]};
  std::vector<ResampleTaps> taps;
  for (const ResampleDimension& d : dimensions) {
    out.push_back(d.out);
    taps.push_back(resample_taps(d, ResampleMode::kLinear, flag(2), false));
    if (taps.back().count != 2) return false;
  }
  Layer& layer = add(LayerKind::kResample, {value(0)}, out);
  layer.taps = std::move(taps);
  return set(layer.output);
}

bool Resolver::rearranged(const IntVector& parts, const IntVector& order, const IntVector& out) {
  const int apart = add(LayerKind::kView, {value(0)}, parts).output;
  IntVector moved;
  for (const int64_t d : order) moved.push_back(parts[static_cast<size_t>(d)]);
  Layer& layer = add(LayerKind::kPermute, {apart}, moved);
  layer.order = order;
  const int permuted = layer.output;
  return set(add(LayerKind::kView, {permuted}, out).output);
}

bool Resolver::pixel_shuffle() {
  const IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  const int64_t r = number_int(1);
  if (in.size() != 4 || r <= 0 || r > in[1] || in[1] % (r * r) != 0) return false;
  const int64_t channels = in[1] / (r * r);
  return rearranged({in[0], channels, r, r, in[2], in[3]}, {0, 1, 4, 2, 5, 3},
                    {in[0], channels, in[2] * r, in[3] * r});
}

bool Resolver::pixel_unshuffle() {
  const IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  const int64_t r = number_int(1);
  if (in.size() != 4 || r <= 0 || in[2] % r != 0 || in[3] % r != 0) return false;
  const int64_t height = in[2] / r;
  const int64_t width = in[3] / r;
  return rearranged({in[0], in[1], height, r, width, r}, {0, 1, 3, 5, 2, 4},
                    {in[0], in[1] * r * r, height, width});
}

bool Resolver::channel_shuffle() {
  const IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  const int64_t groups = number_int(1);
  if (in.size() < 3 || groups <= 0 || in[1] % groups != 0) return false;
  IntVector parts{in[0], groups, in[1] / groups};
  IntVector order{0, 2, 1};
  for (size_t d = 2; d < in.size(); ++d) {
    order.push_back(static_cast<int64_t>(parts.size()));
    parts.push_back(in[d]);
  }
  return rearranged(parts, order, in);
}

}  // namespace tierup::kernels::net
