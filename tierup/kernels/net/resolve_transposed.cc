// Transposed convolutions as convolutions; see resolver.h.
//
// Results that stand at one place within the stride all read the same taps of the kernel, at the
// same distance: they are a convolution of stride 1, and the results of all places are woven
// together. Few output channels do not fill a vector: then one convolution, whose window holds the
// taps of all places, gives these beside one another.
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/net/panel.h"
#include "tierup/kernels/net/resolver.h"

namespace tierup::kernels::net {
namespace {

// One dimension of the results at one place: result t reads input t + last - j through tap
// first + stride j, for j below `taps`.
struct Place {
  int64_t first, last, taps;
};

Place place_of(const ConvGeometry& g, size_t d, int64_t index) {
  const int64_t at = index + g.padding[d];
  const int64_t first = at % g.stride[d];
  const int64_t rest = std::max<int64_t>(g.kernel[d] - first, 0);
  return {first, at / g.stride[d], (rest + g.stride[d] - 1) / g.stride[d]};
}

// What results read, counted from the input of their own number on.
struct Window {
  int64_t begin, size;
  int64_t end() const { return begin + size; }
};

// Windows begin no later than at that input.
Window window_of(const Place& place) {
  const int64_t begin = std::min<int64_t>(place.last - place.taps + 1, 0);
  return {begin, std::max<int64_t>(place.last - begin + 1, 1)};
}

Window window_of_all(const ConvGeometry& g, size_t d) {
  Window all = window_of(place_of(g, d, 0));
  for (int64_t i = 1; i < g.stride[d]; ++i) {
    const Window one = window_of(place_of(g, d, i));
    const int64_t begin = std::min(all.begin, one.begin);
    all = {begin, std::max(all.end(), one.end()) - begin};
  }
  return all;
}

using Windows = std::array<Window, 3>;

// So many results over a window; more of them where the input would not end with these.
ConvGeometry geometry_over(const ConvGeometry& g, int64_t channels, const Windows& windows) {
  ConvGeometry result;
  result.rank = g.rank;
  result.batch = g.batch;
  result.in_channels = g.in_channels;
  result.out_channels = channels;
  result.in = g.in;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t wanted = (g.out[d] + g.stride[d] - 1) / g.stride[d];
    result.kernel[d] = windows[d].size;
    result.padding[d] = -windows[d].begin;
    result.out[d] = std::max(wanted, g.in[d] - windows[d].end() + 1);
    result.padding_after[d] = result.out[d] + windows[d].end() - 1 - g.in[d];
  }
  return result;
}

// The tap that an entry of a window goes through; negative: none.
int64_t tap_of(int64_t stride, const Place& place, const Window& window, int64_t entry) {
  const int64_t j = place.last - (window.begin + entry);
  return j < 0 || j >= place.taps ? -1 : place.first + stride * j;
}

// The convolutions that one transposed one is made of.
class Parts {
 public:
  // `weight`: [in, out, *], dense.
  Parts(const ConvGeometry& g, const Tensor& weight) : g_(g), weight_(weight) {}

  int64_t places() const { return g_.stride[1] * g_.stride[2]; }
  // Whether one convolution for all places multiplies no more than one for each.
  bool go_together() const {
    int64_t apart = padded(g_.out_channels);
    int64_t together = padded(g_.out_channels * places());
    for (size_t d = 1; d < 3; ++d) {
      int64_t sum = 0;
      for (int64_t i = 0; i < g_.stride[d]; ++i) sum += window_of(place_of(g_, d, i)).size;
      apart *= sum;
      together *= window_of_all(g_, d).size;
    }
    return together <= apart;
  }

  // Of `count` places from the first one on: one, or all.
  ConvGeometry geometry(int64_t first, int64_t count) const {
    return geometry_over(g_, g_.out_channels * count, windows(first, count));
  }
  // Whether windows of `count` places hold entries that some place reads through no tap: as factors
  // of zero they make NaN of a NaN, and of an infinity.
  bool have_empty_taps(int64_t count) const {
    for (int64_t i = 0; i < places(); ++i) {
      const Windows over = windows(i, count);
      for (size_t d = 0; d < 3; ++d) {
        if (over[d].size > place(d, i).taps) return true;
      }
    }
    return false;
  }
  Tensor weight(int64_t first, int64_t count) const {
    const Windows over = windows(first, count);
    IntVector sizes{g_.out_channels * count, g_.in_channels};
    for (auto d = static_cast<size_t>(3 - g_.rank); d < 3; ++d) sizes.push_back(over[d].size);
    const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
    auto* to = result.data<float>();
    for (int64_t i = first; i < first + count; ++i) {
      for (int64_t o = 0; o < g_.out_channels; ++o) {
        for (int64_t c = 0; c < g_.in_channels; ++c) to = fill(to, i, o, c, over);
      }
    }
    return result;
  }

 private:
  static int64_t padded(int64_t channels) {
    return (channels + kPanelGrain - 1) / kPanelGrain * kPanelGrain;
  }
  Place place(size_t d, int64_t index) const {
    if (d == 0) return place_of(g_, d, 0);
    return place_of(g_, d, d == 1 ? index / g_.stride[2] : index % g_.stride[2]);
  }
  Windows windows(int64_t first, int64_t count) const {
    Windows result;
    for (size_t d = 0; d < 3; ++d)
      result[d] = count == 1 ? window_of(place(d, first)) : window_of_all(g_, d);
    return result;
  }
  // The kernel of one place, from one channel to another.
  float* fill(float* to, int64_t index, int64_t o, int64_t c, const Windows& over) const {
    const auto* from =
        weight_.data<float>() + (c * g_.out_channels + o) * g_.kernel[1] * g_.kernel[2];
    for (int64_t i = 0; i < over[1].size; ++i) {
      const int64_t y = tap_of(g_.stride[1], place(1, index), over[1], i);
      for (int64_t k = 0; k < over[2].size; ++k) {
        const int64_t x = tap_of(g_.stride[2], place(2, index), over[2], k);
        *to++ = y < 0 || x < 0 ? 0 : from[y * g_.kernel[2] + x];
      }
    }
    return to;
  }

  const ConvGeometry& g_;
  const Tensor& weight_;
};

Tensor repeated(const Tensor& bias, int64_t times) {
  if (!bias.defined() || times == 1) return bias;
  const Tensor dense = clone(bias, MemoryFormat::kContiguous);
  const Tensor result = Tensor::empty(IntVector{bias.numel() * times}, ScalarType::kFloat);
  for (int64_t i = 0; i < times; ++i)
    std::copy_n(dense.data<float>(), bias.numel(), result.data<float>() + i * bias.numel());
  return result;
}

IntVector sizes_of(const ConvGeometry& g) {
  IntVector sizes{g.batch, g.out_channels};
  sizes.insert(sizes.end(), g.out.end() - g.rank, g.out.end());
  return sizes;
}

// Of windows that lie side by side: [places, O, I, 1...], each place's weights.
Tensor weight_by_place(const ConvGeometry& g, const Tensor& weight) {
  const int64_t places = g.kernel_points();
  const Tensor result =
      Tensor::empty(IntVector{places * g.out_channels, g.in_channels, 1, 1, 1}, ScalarType::kFloat);
  auto* to = result.data<float>();
  const auto* from = weight.data<float>();
  for (int64_t i = 0; i < places; ++i) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
      for (int64_t c = 0; c < g.in_channels; ++c)
        *to++ = from[(c * g.out_channels + o) * places + i];
    }
  }
  return result;
}

}  // namespace

// Windows that neither overlap nor leave gaps: a product for each point, whose results go to their
// places.
bool Resolver::transposed_volumes(int input, const ConvGeometry& g, const Tensor& weight,
                                  const Tensor& bias) {
  const ConvGeometry::Triple zeros{0, 0, 0};
  if (g.kernel != g.stride || g.padding != zeros || g.output_padding != zeros) return false;
  const int64_t places = g.kernel_points();
  IntVector out{g.batch, places * g.out_channels, g.in[0], g.in[1], g.in[2]};
  Layer& layer = add(LayerKind::kConv, {input}, out);
  const Tensor by_place = weight_by_place(g, weight);
  layer.conv = conv_geometry(sizes(input), by_place.sizes(), IntVector{1}, IntVector{0},
                             IntVector{1}, false, {}, 1);
  layer.axis = 1;
  layer.weight = by_place;
  layer.bias = repeated(bias, places);
  const int products = layer.output;
  const IntVector parts{g.batch,        g.kernel[0], g.kernel[1], g.kernel[2],
                        g.out_channels, g.in[0],     g.in[1],     g.in[2]};
  const int apart = add(LayerKind::kView, {products}, parts).output;
  const IntVector order{0, 4, 5, 1, 6, 2, 7, 3};
  IntVector moved;
  for (const int64_t d : order) moved.push_back(parts[static_cast<size_t>(d)]);
  Layer& turn = add(LayerKind::kPermute, {apart}, moved);
  turn.order = order;
  const int permuted = turn.output;
  return set(add(LayerKind::kView, {permuted}, sizes_of(g)).output);
}

bool Resolver::transposed_convolution(size_t dilation, size_t output_padding, size_t groups) {
  const int input = value(0);
  const Tensor weight = constant(1);
  const Tensor bias = constant(2);
  if (!is_dense_float(weight) || is_value(2) || (!bias.defined() && !plain(2).is_none()) ||
      (bias.defined() && !is_dense_float(bias)) || weight.dim() > 5 || weight.dim() < 3 ||
      sizes(input).size() != static_cast<size_t>(weight.dim()) || number_int(groups) != 1) {
    return false;
  }
  const ConvGeometry g = conv_geometry(sizes(input), weight.sizes(), ints(3), ints(4),
                                       ints(dilation), true, ints(output_padding), 1);
  if (g.dilation != ConvGeometry::Triple{1, 1, 1}) return false;
  const Tensor dense = clone(weight, MemoryFormat::kContiguous);
  if (g.rank == 3) return transposed_volumes(input, g, dense, bias);
  const Parts parts(g, dense);
  // Each convolution is a layer of this operator, and so is what weaves them together.
  constexpr int64_t kMostPlaces = 16;
  static_assert(kMostPlaces < kLayersOfOperator);
  const bool is_one = parts.go_together() || parts.places() >= kMostPlaces;
  const int64_t each = is_one ? parts.places() : 1;
  std::vector<int> results;
  for (int64_t first = 0; first < parts.places(); first += each) {
    const ConvGeometry one = parts.geometry(first, each);
    Layer& layer = add(LayerKind::kConv, {input}, sizes_of(one));
    layer.conv = one;
    layer.axis = 1;
    layer.weight = parts.weight(first, each);
    layer.bias = repeated(bias, each);
    results.push_back(layer.output);
  }
  Layer& weave = add(LayerKind::kWeave, results, sizes_of(g));
  weave.conv = g;
  weave.axis = 1;
  weave.has_empty_taps = parts.have_empty_taps(each);
  return set(weave.output);
}

}  // namespace tierup::kernels::net
