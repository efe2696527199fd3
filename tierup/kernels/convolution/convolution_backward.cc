// Of a convolution y = W * x, dx is the transposed convolution of the gradient with W, whose output
// padding restores the sizes; of a transposed one it is the plain convolution. dW correlates
// what the plain convolution reads with what it writes, so that a transposed one is the plain one
// with its input and its gradient exchanged.
#include "tierup/kernels/convolution/convolution_backward.h"

#include <algorithm>
#include <cstring>

#include "tierup/kernels/convolution/convolution.h"
#include "tierup/kernels/convolution/convolution_geometry.h"
#include "tierup/kernels/convolution/convolution_onednn.h"
#include "tierup/kernels/convolution/im2col.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

const char* at(const Tensor& tensor, int64_t elements) {
  return static_cast<const char*>(tensor.raw()) +
         elements * static_cast<int64_t>(tensor.item_size());
}

// The numbers of all spatial dimensions, for one that may stand for all.
IntVector spread(const IntVector& numbers, int rank) {
  if (numbers.size() == static_cast<size_t>(rank)) return numbers;
  return IntVector(static_cast<size_t>(rank), numbers.empty() ? 0 : numbers[0]);
}

// Output padding of a stride or more lets the mirrored convolution find further points.
Tensor without_overhang(const ConvGeometry& g, Tensor gradient) {
  for (int d = 0; d < g.rank; ++d) {
    const int64_t size = g.in[static_cast<size_t>(3 - g.rank + d)];
    if (gradient.size(d + 2) > size) gradient = contiguous(narrow(gradient, d + 2, 0, size));
  }
  return gradient;
}

Tensor input_gradient(const ConvGeometry& g, const Tensor& grad, const Tensor& weight,
                      const IntVector& stride, const IntVector& padding,
                      const IntVector& dilation) {
  if (g.transposed) {
    const Tensor whole =
        convolution(grad, weight, {}, stride, padding, dilation, false, {0}, g.groups);
    return without_overhang(g, whole);
  }
  IntVector extra;
  for (size_t d = static_cast<size_t>(3 - g.rank); d < 3; ++d) {
    const int64_t reach = g.dilation[d] * (g.kernel[d] - 1) + 1;
    extra.push_back(g.in[d] - ((g.out[d] - 1) * g.stride[d] - 2 * g.padding[d] + reach));
  }
  return convolution(grad, weight, {}, stride, padding, dilation, true, extra, g.groups);
}

// dW [O, C k] += gradient [O, points] times transposed patches [C k, points], by image and group.
void correlate_by_gemm(const ConvGeometry& g, const Tensor& input, const Tensor& grad,
                       const Tensor& out) {
  const int64_t in = g.in_channels / g.groups;
  const int64_t produced = g.out_channels / g.groups;
  const int64_t depth = in * g.kernel_points();
  const ScalarType dtype = out.dtype();
  const Tensor columns = Tensor::empty(IntVector{depth, g.out_points()}, dtype);
  GemmProblem p;
  p.dtype = dtype;
  p.m = produced;
  p.n = depth;
  p.k = g.out_points();
  p.c_row_stride = depth;
  p.beta = 1;
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      image_to_columns(g, dtype, at(input, (n * g.in_channels + group * in) * g.in_points()), in,
                       columns.raw());
      p.a = {at(grad, (n * g.out_channels + group * produced) * p.k), 0, p.k, 1};
      p.b = {columns.raw(), 0, 1, p.k};
      p.c = const_cast<char*>(at(out, group * produced * depth));
      gemm(p);
    }
  }
}

// The plain convolution that reads what `g` writes.
ConvGeometry mirrored(const ConvGeometry& g) {
  ConvGeometry plain = g;
  plain.transposed = false;
  std::swap(plain.in, plain.out);
  std::swap(plain.in_channels, plain.out_channels);
  plain.output_padding = {0, 0, 0};
  return plain;
}

// Whether the convolution goes as far as its padding lets it: libraries know no other.
bool fills_its_padding(const ConvGeometry& g) {
  for (auto d = static_cast<size_t>(3 - g.rank); d < 3; ++d) {
    const int64_t reach = g.dilation[d] * (g.kernel[d] - 1) + 1;
    if ((g.in[d] + 2 * g.padding[d] - reach) / g.stride[d] + 1 != g.out[d]) return false;
  }
  return true;
}

Tensor weight_gradient(const ConvGeometry& g, const Tensor& grad, const Tensor& input,
                       const Tensor& weight) {
  const Tensor out = Tensor::empty(weight.sizes(), input.dtype());
  std::memset(out.raw(), 0, out.bytes());
  if (input.numel() == 0 || grad.numel() == 0 || out.numel() == 0) return out;
  const ConvGeometry plain = g.transposed ? mirrored(g) : g;
  const Tensor read = contiguous(g.transposed ? grad : input);
  const Tensor written = contiguous(g.transposed ? input : grad);
  const bool is_float = input.dtype() == ScalarType::kFloat;
  if (is_float && can_correlate_planes(plain)) {
    correlate_planes(plain, read.data<float>(), written.data<float>(), out.data<float>());
  } else if (is_float && fills_its_padding(plain)) {
    correlate_onednn(plain, read.data<float>(), written.data<float>(), out.data<float>());
  } else {
    correlate_by_gemm(plain, read, written, out);
  }
  return out;
}

void check_gradient(const ConvGeometry& g, const Tensor& grad) {
  bool fits = grad.dim() == g.rank + 2 && grad.size(0) == g.batch && grad.size(1) == g.out_channels;
  for (int d = 0; fits && d < g.rank; ++d)
    fits = grad.size(d + 2) == g.out[static_cast<size_t>(3 - g.rank + d)];
  if (fits) return;
  fail(kBad,
       "convolution_backward: gradient of size {} does not have the sizes of the convolution's "
       "result",
       shape_string(grad.sizes()));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<IntVector>& /*bias_sizes*/, const IntVector& stride,
    const IntVector& padding, const IntVector& dilation, bool transposed,
    const IntVector& output_padding, int64_t groups, const std::vector<bool>& output_mask) {
  require(output_mask.size() == 3, kBad, "output_mask must have 3 entries, but has {}",
          output_mask.size());
  require(weight.dim() >= 3 && (input.dim() == weight.dim() || input.dim() == weight.dim() - 1),
          kBad, "convolution_backward: input of {} and weight of {} dimensions do not fit",
          input.dim(), weight.dim());
  require(
      grad.dim() == input.dim() && grad.dtype() == input.dtype() && weight.dtype() == input.dtype(),
      kBad, "convolution_backward: gradient, input and weight must have one dtype and rank");
  const ScalarType work = work_type(input.dtype());
  const bool added = input.dim() == weight.dim() - 1;
  const Tensor x = to_dtype(added ? unsqueeze(input, 0) : input, work);
  const Tensor dy = to_dtype(added ? unsqueeze(grad, 0) : grad, work);
  const Tensor w = to_dtype(weight, work);
  const ConvGeometry g = conv_geometry(x.sizes(), w.sizes(), stride, padding, dilation, transposed,
                                       output_padding, groups);
  check_gradient(g, dy);
  Tensor dx;
  Tensor dw;
  Tensor db;
  if (output_mask[0]) {
    dx = to_dtype(input_gradient(g, dy, w, spread(stride, g.rank), spread(padding, g.rank),
                                 spread(dilation, g.rank)),
                  input.dtype());
    if (added) dx = squeeze_dim(dx, 0);
  }
  if (output_mask[1]) dw = to_dtype(weight_gradient(g, dy, x, w), weight.dtype());
  if (output_mask[2]) {
    IntVector dims{0};
    for (int64_t d = 2; d < dy.dim(); ++d) dims.push_back(d);
    db = to_dtype(sum(dy, dims, false, std::nullopt), weight.dtype());
  }
  return {dx, dw, db};
}

}  // namespace tierup::kernels
