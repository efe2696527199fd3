// One pass along each dimension, in the order opposite to the forward's: each line of the gradient
// is added to the few lines that it was made of. Of padding that is all lines but the border's
// once.
#include "tierup/kernels/vision/resample_backward.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Adds what `taps` took from each input position back along dimension `dim` of a dense tensor.
template <typename T>
void add_by_taps(const Tensor& grad, size_t dim, const ResampleTaps& taps, const Tensor& out) {
  const int64_t outer = numel_of(grad.sizes().first(dim));
  const int64_t inner = numel_of(grad.sizes().subspan(dim + 1));
  const int64_t from_size = grad.sizes()[dim];
  const int64_t to_size = out.sizes()[dim];
  const T* from = grad.data<T>();
  T* to = out.data<T>();
  const int64_t grain = grain_of(from_size * inner);
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t i = 0; i < from_size; ++i) {
        const T* line = from + (o * from_size + i) * inner;
        for (int64_t k = i * taps.count; k < (i + 1) * taps.count; ++k) {
          const T weight = static_cast<T>(taps.weight[static_cast<size_t>(k)]);
          if (weight == T{0}) continue;
          T* target = to + (o * to_size + taps.index[static_cast<size_t>(k)]) * inner;
          for (int64_t j = 0; j < inner; ++j) target[j] += line[j] * weight;
        }
      }
    }
  });
}

Tensor transposed_pass(const Tensor& grad, size_t dim, int64_t size, const ResampleTaps& taps) {
  IntVector sizes(grad.sizes().begin(), grad.sizes().end());
  sizes[dim] = size;
  const Tensor out = Tensor::empty(sizes, grad.dtype());
  fill(out, 0);
  dispatch_work(grad.dtype(), "upsample_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (grad.numel() > 0) add_by_taps<T>(grad, dim, taps, out);
  });
  return out;
}

// One dimension's padding, of `size` elements before it. Negative ones cut off.
struct BorderPad {
  PadBorder border;
  int64_t size, before, after;

  int64_t padded() const { return size + before + after; }
  // Which element a place in or beside the dimension was taken from.
  int64_t source(int64_t at) const {
    if (border == PadBorder::kReplicate) return std::clamp<int64_t>(at, 0, size - 1);
    const int64_t inside = at < 0 ? -at : at;
    return inside >= size ? 2 * (size - 1) - inside : inside;
  }
  void check() const {
    for (const int64_t at : {-before, size + after - 1}) {
      require(
          padded() <= 0 || (source(at) >= 0 && source(at) < size), kBad,
          "Padding size should be less than the corresponding input dimension, but got: padding "
          "({}, {}) at a dimension of size {}",
          before, after, size);
    }
  }
};

// The gradient of one outer place, [padded, inner], folded to [size, inner].
template <typename T>
void fold_borders(const BorderPad& pad, int64_t inner, const T* from, T* to) {
  const int64_t first = std::max<int64_t>(0, -pad.before);
  const int64_t last = std::max(first, std::min(pad.size, pad.size + pad.after));
  std::fill_n(to, first * inner, T{0});
  std::copy_n(from + (first + pad.before) * inner, (last - first) * inner, to + first * inner);
  std::fill_n(to + last * inner, (pad.size - last) * inner, T{0});
  const auto add = [&](int64_t at) {
    const T* line = from + (at + pad.before) * inner;
    T* target = to + pad.source(at) * inner;
    for (int64_t j = 0; j < inner; ++j) target[j] += line[j];
  };
  const int64_t end = pad.size + pad.after;
  for (int64_t at = -pad.before; at < std::min<int64_t>(0, end); ++at) add(at);
  for (int64_t at = std::max(pad.size, -pad.before); at < end; ++at) add(at);
}

Tensor without_borders(const Tensor& grad, size_t dim, const BorderPad& pad) {
  pad.check();
  IntVector sizes(grad.sizes().begin(), grad.sizes().end());
  sizes[dim] = pad.size;
  const Tensor out = Tensor::empty(sizes, grad.dtype());
  if (grad.numel() == 0) {
    fill(out, 0);
    return out;
  }
  const int64_t outer = numel_of(grad.sizes().first(dim));
  const int64_t inner = numel_of(grad.sizes().subspan(dim + 1));
  const int64_t grain = grain_of(pad.size * inner);
  const auto fold = [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        fold_borders<T>(pad, inner, grad.data<T>() + o * pad.padded() * inner,
                        out.data<T>() + o * pad.size * inner);
      }
    });
  };
  if (is_complex(grad.dtype()))
    dispatch_complex(grad.dtype(), "pad_backward", fold);
  else
    dispatch_work(grad.dtype(), "pad_backward", fold);
  return out;
}

}  // namespace

Tensor resample_backward(const Tensor& grad, const IntVector& output_size,
                         const IntVector& input_size, const Scales& scales,
                         const ResampleOptions& options) {
  const size_t rank = output_size.size();
  require(input_size.size() == rank + 2 && static_cast<size_t>(grad.dim()) == rank + 2, kBad,
          "It is expected input_size equals to {}, but got size {}", rank + 2, input_size.size());
  bool fits = grad.sizes()[0] == input_size[0] && grad.sizes()[1] == input_size[1];
  for (size_t d = 0; d < rank; ++d) {
    fits = fits && grad.sizes()[d + 2] == output_size[d];
    require(input_size[d + 2] > 0 && output_size[d] > 0, kBad,
            "Input and output sizes should be greater than 0");
  }
  if (!fits) {
    fail(kBad, "Expected grad_output of batch and channels of {} and spatial sizes {}, but got {}",
         shape_string(input_size), shape_string(output_size), shape_string(grad.sizes()));
  }
  const ScalarType work = work_type(grad.dtype());
  Tensor result = as_work(grad, work);
  for (size_t d = 0; d < rank; ++d) {
    const ResampleDimension dimension{input_size[d + 2], output_size[d], scales[d]};
    const bool in_double = work == ScalarType::kDouble;
    const ResampleTaps taps =
        options.antialias
            ? antialias_taps(dimension, *options.antialias, options.align_corners, in_double)
            : resample_taps(dimension, options.mode, options.align_corners, in_double);
    result = transposed_pass(result, d + 2, dimension.in, taps);
  }
  return contiguous(to_dtype(result, grad.dtype()), grad.suggest_memory_format());
}

Tensor border_pad_backward(const Tensor& grad, const Tensor& self, const IntVector& pad,
                           PadBorder border) {
  const size_t dims = pad.size() / 2;
  require(
      pad.size() % 2 == 0 && static_cast<size_t>(self.dim()) >= dims && grad.dim() == self.dim(),
      kBad, "padding of {} sizes does not fit an input of {} dimensions", pad.size(), self.dim());
  for (size_t i = 0; i < dims; ++i) {
    const auto d = static_cast<int64_t>(i) + 1;
    const int64_t wanted = self.size(-d) + pad[2 * i] + pad[2 * i + 1];
    require(grad.size(-d) == wanted, kBad,
            "grad_output size at dimension -{} unexpected. Expected: {}, Got: {}", d, wanted,
            grad.size(-d));
  }
  Tensor result = as_work(grad, work_type(grad.dtype()));
  for (size_t i = 0; i < dims; ++i) {
    const auto d = static_cast<size_t>(self.dim()) - 1 - i;
    result = without_borders(result, d, {border, self.sizes()[d], pad[2 * i], pad[2 * i + 1]});
  }
  return contiguous(to_dtype(result, grad.dtype()), self.suggest_memory_format());
}

}  // namespace tierup::kernels
