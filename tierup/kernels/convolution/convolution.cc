#include "tierup/kernels/convolution/convolution.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tierup/kernels/convolution/convolution_geometry.h"
#include "tierup/kernels/convolution/convolution_onednn.h"
#include "tierup/kernels/convolution/im2col.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/transposed_tiles.h"
#include "tierup/kernels/convolution/volume_convolution.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

struct Operands {
  Tensor input, weight, bias, output;
};

char* at(const Tensor& tensor, int64_t elements) {
  return static_cast<char*>(tensor.raw()) + elements * static_cast<int64_t>(tensor.item_size());
}

// Sets the output to the bias of each channel, or to zero.
void start_from_bias(const Operands& o) {
  if (!o.bias.defined()) {
    std::memset(o.output.raw(), 0, o.output.bytes());
    return;
  }
  IntVector sizes(static_cast<size_t>(o.output.dim()), 1);
  sizes[1] = o.bias.numel();
  copy_into(o.output, reshape(o.bias, sizes));
}

bool is_pointwise(const ConvGeometry& g) {
  return g.kernel_points() == 1 && g.stride == ConvGeometry::Triple{1, 1, 1} &&
         g.padding == ConvGeometry::Triple{0, 0, 0} && g.padding_after == g.padding &&
         g.output_padding == g.padding;
}

GemmProblem product(ScalarType dtype, int64_t m, int64_t n, int64_t k) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.c_row_stride = n;
  p.beta = 1;
  return p;
}

// output = W [O, C k] times patches [C k, points], for each image and group.
void convolve_by_gemm(const ConvGeometry& g, const Operands& o) {
  if (o.bias.defined()) start_from_bias(o);
  const int64_t in = g.in_channels / g.groups;
  const int64_t out = g.out_channels / g.groups;
  const int64_t depth = in * g.kernel_points();
  const ScalarType dtype = o.input.dtype();
  const bool direct = is_pointwise(g);
  const Tensor columns = direct ? Tensor() : Tensor::empty(IntVector{depth, g.out_points()}, dtype);
  GemmProblem p = product(dtype, out, g.out_points(), depth);
  if (!o.bias.defined()) p.beta = 0;
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      const void* image = at(o.input, (n * g.in_channels + group * in) * g.in_points());
      if (!direct) image_to_columns(g, dtype, image, in, columns.raw());
      p.a = {at(o.weight, group * out * depth), 0, depth, 1};
      p.b = {direct ? image : columns.raw(), 0, p.n, 1};
      p.c = at(o.output, (n * g.out_channels + group * out) * p.n);
      gemm(p);
    }
  }
}

// patches [O k, points] = transposed W [C, O k] times input [C, points], summed into the output.
void convolve_transposed_by_gemm(const ConvGeometry& g, const Operands& o) {
  start_from_bias(o);
  ConvGeometry mirror = g;
  std::swap(mirror.in, mirror.out);
  const int64_t in = g.in_channels / g.groups;
  const int64_t out = g.out_channels / g.groups;
  const int64_t rows = out * g.kernel_points();
  const ScalarType dtype = o.input.dtype();
  const Tensor columns = Tensor::empty(IntVector{rows, g.in_points()}, dtype);
  GemmProblem p = product(dtype, rows, g.in_points(), in);
  p.beta = 0;
  p.c = columns.raw();
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      p.a = {at(o.weight, group * in * rows), 0, 1, rows};
      p.b = {at(o.input, (n * g.in_channels + group * in) * p.n), 0, p.n, 1};
      gemm(p);
      columns_to_image(mirror, dtype, columns.raw(), out,
                       at(o.output, (n * g.out_channels + group * out) * g.out_points()));
    }
  }
}

void convolve_by_products(const ConvGeometry& g, const Operands& o) {
  if (g.transposed) {
    convolve_transposed_by_gemm(g, o);
  } else {
    convolve_by_gemm(g, o);
  }
}

void check_bias(const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                const Tensor& bias) {
  require(input.dtype() == weight.dtype(), kBad,
          "Input type ({}) and weight type ({}) should be the same", dtype_name(input.dtype()),
          dtype_name(weight.dtype()));
  if (!bias.defined()) return;
  require(input.dtype() == bias.dtype(), kBad,
          "Input type ({}) and bias type ({}) should be the same", dtype_name(input.dtype()),
          dtype_name(bias.dtype()));
  if (!(bias.dim() == 1 && bias.size(0) == g.out_channels)) {
    fail(kBad,
         "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got "
         "bias of "
         "size {} instead",
         shape_string(weight.sizes()), g.out_channels, shape_string(bias.sizes()));
  }
}

MemoryFormat output_format(const Tensor& input, const Tensor& weight) {
  if (input.dim() == 3) return MemoryFormat::kContiguous;
  const MemoryFormat from_input = input.suggest_memory_format();
  if (from_input != MemoryFormat::kContiguous) return from_input;
  return weight.suggest_memory_format();
}

// A transposed convolution that skips no points is a plain one: its windows are turned, and reach
// over the rim by what the padding leaves of them. None if the padding leaves less than nothing, or
// if there are too few points for each weight: to turn one takes as long as to multiply some.
std::optional<ConvGeometry> plain_form(const ConvGeometry& g) {
  constexpr int64_t kFewestPoints = 512;
  if (!g.transposed || g.stride != ConvGeometry::Triple{1, 1, 1} ||
      g.batch * g.out_points() < kFewestPoints) {
    return std::nullopt;
  }
  ConvGeometry plain = g;
  plain.transposed = false;
  plain.output_padding = {0, 0, 0};
  for (size_t d = 0; d < 3; ++d) {
    plain.padding[d] = (g.kernel[d] - 1) * g.dilation[d] - g.padding[d];
    plain.padding_after[d] = plain.padding[d] + g.output_padding[d];
    if (plain.padding[d] < 0) return std::nullopt;
  }
  return plain;
}

// [C, O / groups, *] as [O, C / groups, *], each window from its end.
Tensor turned_windows(const ConvGeometry& g, const Tensor& weight) {
  const int64_t in = g.in_channels / g.groups;
  const int64_t out = g.out_channels / g.groups;
  const int64_t points = g.kernel_points();
  Tensor turned = Tensor::empty(IntVector{g.weights()}, ScalarType::kFloat);
  auto* to = turned.data<float>();
  for (int64_t o = 0; o < g.out_channels; ++o) {
    const int64_t first = o / out * in;
    for (int64_t c = first; c < first + in; ++c, to += points) {
      const float* from = weight.data<float>() + (c * out + o % out) * points;
      std::reverse_copy(from, from + points, to);
    }
  }
  return turned;
}

void convolve_f32(const ConvGeometry& g, const Operands& o, MemoryFormat format) {
  const bool channels_last = format != MemoryFormat::kContiguous;
  const float* bias = o.bias.defined() ? o.bias.data<float>() : nullptr;
  if (!channels_last && !g.transposed && g.groups == 1 && g.out_points() == 1 && is_pointwise(g)) {
    return convolve_by_gemm(g, o);
  }
  if (!channels_last && can_convolve_planes(g)) {
    return convolve_planes(g, o.input.data<float>(), o.weight.data<float>(), bias,
                           o.output.data<float>());
  }
  if (const auto plain = plain_form(g); !channels_last && plain && can_convolve_planes(*plain)) {
    return convolve_planes(*plain, o.input.data<float>(), turned_windows(g, o.weight).data<float>(),
                           bias, o.output.data<float>());
  }
  if (!channels_last && can_convolve_volumes(g)) {
    return convolve_volumes(g, o.input.data<float>(), o.weight.data<float>(), bias,
                            o.output.data<float>());
  }
  if (!channels_last && are_transposed_tiles(g)) {
    return convolve_transposed_tiles(g, o.input.data<float>(), o.weight.data<float>(), bias,
                                     o.output.data<float>());
  }
  // Volumes, and windows with holes, go through reference code there.
  const bool has_holes = g.dilation != ConvGeometry::Triple{1, 1, 1};
  if (!channels_last && g.transposed && (g.rank == 3 || has_holes))
    return convolve_transposed_by_gemm(g, o);
  if (convolve_onednn(g, channels_last, o.input.data<float>(), o.weight.data<float>(), bias,
                      o.output.data<float>())) {
    return;
  }
  if (!channels_last) return convolve_by_products(g, o);
  const auto rows = [](const Tensor& t) { return contiguous(t, MemoryFormat::kContiguous); };
  const Operands by_rows{rows(o.input), rows(o.weight), o.bias,
                         Tensor::empty(o.output.sizes(), o.output.dtype())};
  convolve_by_products(g, by_rows);
  copy_into(o.output, by_rows.output);
}

Tensor convolve(const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                const Tensor& bias) {
  check_bias(g, input, weight, bias);
  if (input.dtype() == ScalarType::kHalf || input.dtype() == ScalarType::kBFloat16) {
    const auto wide = [](const Tensor& t) {
      return t.defined() ? to_dtype(t, ScalarType::kFloat) : t;
    };
    return to_dtype(convolve(g, wide(input), wide(weight), wide(bias)), input.dtype());
  }
  IntVector sizes{g.batch, g.out_channels};
  for (int i = 3 - g.rank; i < 3; ++i) sizes.push_back(g.out[static_cast<size_t>(i)]);
  const MemoryFormat format = output_format(input, weight);
  const bool is_f32 = input.dtype() == ScalarType::kFloat;
  const MemoryFormat work = is_f32 ? format : MemoryFormat::kContiguous;
  Operands o{contiguous(input, work), contiguous(weight, work), bias,
             Tensor::empty(sizes, input.dtype(), work)};
  if (bias.defined()) o.bias = contiguous(bias);
  if (o.output.numel() == 0) return o.output;
  if (g.in_channels == 0) {
    start_from_bias(o);
  } else if (is_f32) {
    convolve_f32(g, o, work);
  } else {
    convolve_by_products(g, o);
  }
  return contiguous(o.output, format);
}

// Adds the batch dimension that an unbatched input lacks.
Tensor batched(const Tensor& input, const Tensor& weight, bool& added) {
  added = input.dim() == weight.dim() - 1;
  return added ? unsqueeze(input, 0) : input;
}

Tensor unbatched(const Tensor& output, bool added) {
  return added ? squeeze_dim(output, 0) : output;
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const IntVector& stride, const IntVector& padding, const IntVector& dilation,
                   bool transposed, const IntVector& output_padding, int64_t groups) {
  bool added = false;
  const Tensor images = batched(input, weight, added);
  const ConvGeometry g = conv_geometry(images.sizes(), weight.sizes(), stride, padding, dilation,
                                       transposed, output_padding, groups);
  return unbatched(convolve(g, images, weight, bias), added);
}

Tensor conv(const Tensor& input, const Tensor& weight, const Tensor& bias, const IntVector& stride,
            const IntVector& padding, const IntVector& dilation, int64_t groups) {
  return convolution(input, weight, bias, stride, padding, dilation, false, {0}, groups);
}

Tensor conv_mode(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const IntVector& stride, std::string_view padding, const IntVector& dilation,
                 int64_t groups) {
  if (padding == "valid") return conv(input, weight, bias, stride, {0}, dilation, groups);
  require(padding == "same", kBad, "Invalid padding string: '{}'", padding);
  bool added = false;
  const Tensor images = batched(input, weight, added);
  const ConvGeometry g =
      conv_geometry_same(images.sizes(), weight.sizes(), stride, dilation, groups);
  return unbatched(convolve(g, images, weight, bias), added);
}

Tensor conv_transpose(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const IntVector& stride, const IntVector& padding,
                      const IntVector& output_padding, int64_t groups, const IntVector& dilation) {
  return convolution(input, weight, bias, stride, padding, dilation, true, output_padding, groups);
}

Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  require(
      self.dim() == 3 && weight.dim() == 3 && bias.dim() == 1, kBad,
      "conv_tbc: Input and weight must have 3 dims: time, batch, in_channel and kernel, in, out; "
      "bias must be 1-D");
  const Tensor images = permute(self, {1, 2, 0});
  const Tensor kernel = permute(weight, {2, 1, 0});
  const Tensor result = conv(images, kernel, bias, {1}, {pad}, {1}, 1);
  return contiguous(permute(result, {2, 0, 1}));
}

}  // namespace tierup::kernels
