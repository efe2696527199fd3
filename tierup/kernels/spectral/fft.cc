#include "tierup/kernels/spectral/fft.h"

#include <algorithm>

#include "tierup/kernels/indexing/rearrange.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/padding.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/spectral/fourier.h"

namespace tierup::kernels {
namespace {

// The scale of a transform in this direction.
int64_t scale_of(FftNorm norm, bool forward) {
  const std::string_view name = norm.value_or("backward");
  if (name == "backward") return forward ? 0 : 2;
  if (name == "forward") return forward ? 2 : 0;
  require(name == "ortho", ErrorCode::kInvalidArgument, "Invalid normalization mode: \"{}\"", name);
  return 1;
}

Tensor as_complex(const Tensor& self) {
  return is_complex(self.dtype()) ? self
                                  : to_dtype(self, complex_type_of(to_floating(self.dtype())));
}

Tensor as_real(const Tensor& self, const char* what) {
  require(!is_complex(self.dtype()), ErrorCode::kTypeError,
          "{} expects a real input tensor, but got {}", what, scalar_type_name(self.dtype()));
  return to_dtype(self, to_floating(self.dtype()));
}

Tensor conjugate(const Tensor& self) { return pointwise({Body::kConj}, {self}); }

// Zero-padded or cut to `sizes` in `dims`.
Tensor resized(const Tensor& self, const IntVector& sizes, const IntVector& dims) {
  IntVector pads(static_cast<size_t>(2 * self.dim()), 0);
  bool changed = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    require(sizes[i] >= 1, ErrorCode::kInvalidArgument,
            "Invalid number of data points ({}) specified", sizes[i]);
    const int64_t d = wrap_dim(dims[i], self.dim());
    pads[2 * (self.dim() - 1 - d) + 1] = sizes[i] - self.sizes()[d];
    changed = changed || sizes[i] != self.sizes()[d];
  }
  return changed ? constant_pad_nd(self, pads, Scalar(0)) : self;
}

Tensor resized_one(const Tensor& self, FftSize n, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dim);
  return n ? resized(self, {*n}, {dim}) : self;
}

struct Axes {
  IntVector sizes;  // Of the transformed dimensions.
  IntVector dims;
};

// Sizes and dims from what the caller named; `last_default` overrides the default of the last size.
Axes resolve_axes(const Tensor& self, const FftList& s, const FftList& dims) {
  Axes axes;
  if (dims) {
    axes.dims = *dims;
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : self.dim();
    require(count <= self.dim(), ErrorCode::kInvalidArgument,
            "Got shape with {} values but input tensor only has {} dimensions.", count, self.dim());
    for (int64_t i = 0; i < count; ++i) axes.dims.push_back(self.dim() - count + i);
  }
  require(!s || s->size() == axes.dims.size(), ErrorCode::kInvalidArgument,
          "When given, dim and shape arguments must have the same length");
  axes.dims = transformed_dims(axes.dims, self.dim());
  for (size_t i = 0; i < axes.dims.size(); ++i) {
    axes.sizes.push_back(s && (*s)[i] != -1 ? (*s)[i] : self.sizes()[axes.dims[i]]);
  }
  return axes;
}

// The output length of a transform to real numbers, and the half-spectrum that it takes.
struct RealAxes {
  Axes half;
  int64_t length = 0;
};

RealAxes resolve_real_axes(const Tensor& self, const FftList& s, const FftList& dims,
                           const char* what) {
  RealAxes axes{resolve_axes(self, s, dims), 0};
  require(!axes.half.dims.empty(), ErrorCode::kInvalidArgument,
          "{} must transform at least one axis", what);
  const bool given = s && s->back() != -1;
  axes.length = given ? s->back() : 2 * (axes.half.sizes.back() - 1);
  require(axes.length >= 1, ErrorCode::kInvalidArgument,
          "Invalid number of data points ({}) specified", axes.length);
  axes.half.sizes.back() = axes.length / 2 + 1;
  return axes;
}

// Rolls every named dimension (default: all) by half of its size, rounded down or up.
Tensor roll_by_half(const Tensor& self, const FftList& dims, bool round_up) {
  IntVector axes;
  if (dims)
    axes = *dims;
  else
    for (int64_t d = 0; d < self.dim(); ++d) axes.push_back(d);
  if (axes.empty()) return clone(self);
  IntVector shifts;
  for (const int64_t d : axes) {
    const int64_t size = self.dim() == 0 ? 1 : self.sizes()[wrap_dim(d, self.dim())];
    shifts.push_back((size + (round_up ? 1 : 0)) / 2);
  }
  return roll(self, shifts, axes);
}

Tensor frequencies(int64_t count, int64_t first, int64_t wrap, double scale, ScalarType dtype) {
  Tensor out = Tensor::empty(IntVector{count}, ScalarType::kDouble);
  double* p = out.data<double>();
  for (int64_t i = 0; i < count; ++i) {
    p[i] = static_cast<double>(i < first ? i : i - wrap) * scale;
  }
  return to_dtype(out, dtype);
}

}  // namespace

Tensor fft_fft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm) {
  return fft_c2c(resized_one(as_complex(self), n, dim), {dim}, scale_of(norm, true), true);
}

Tensor fft_ifft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm) {
  return fft_c2c(resized_one(as_complex(self), n, dim), {dim}, scale_of(norm, false), false);
}

Tensor fft_rfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm) {
  return fft_r2c(resized_one(as_real(self, "rfft"), n, dim), {dim}, scale_of(norm, true), true);
}

Tensor fft_irfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm) {
  const Tensor input = as_complex(self);
  const int64_t length = n.value_or(2 * (resized_one(input, {}, dim).size(dim) - 1));
  return fft_c2r(resized_one(input, length / 2 + 1, dim), {dim}, scale_of(norm, false), length);
}

Tensor fft_hfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm) {
  const Tensor input = conjugate(as_complex(self));
  const int64_t length = n.value_or(2 * (resized_one(input, {}, dim).size(dim) - 1));
  return fft_c2r(resized_one(input, length / 2 + 1, dim), {dim}, scale_of(norm, true), length);
}

Tensor fft_ihfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm) {
  const Tensor input = resized_one(as_real(self, "ihfft"), n, dim);
  return conjugate(fft_r2c(input, {dim}, scale_of(norm, false), true));
}

Tensor fft_fftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm) {
  const Axes axes = resolve_axes(self, s, dims);
  return fft_c2c(resized(as_complex(self), axes.sizes, axes.dims), axes.dims, scale_of(norm, true),
                 true);
}

Tensor fft_ifftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm) {
  const Axes axes = resolve_axes(self, s, dims);
  return fft_c2c(resized(as_complex(self), axes.sizes, axes.dims), axes.dims, scale_of(norm, false),
                 false);
}

Tensor fft_rfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm) {
  const Axes axes = resolve_axes(self, s, dims);
  require(!axes.dims.empty(), ErrorCode::kInvalidArgument,
          "rfftn must transform at least one axis");
  return fft_r2c(resized(as_real(self, "rfftn"), axes.sizes, axes.dims), axes.dims,
                 scale_of(norm, true), true);
}

Tensor fft_irfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm) {
  const RealAxes axes = resolve_real_axes(self, s, dims, "irfftn");
  return fft_c2r(resized(as_complex(self), axes.half.sizes, axes.half.dims), axes.half.dims,
                 scale_of(norm, false), axes.length);
}

Tensor fft_hfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm) {
  const RealAxes axes = resolve_real_axes(self, s, dims, "hfftn");
  Tensor input = resized(as_complex(self), axes.half.sizes, axes.half.dims);
  const IntVector others(axes.half.dims.begin(), axes.half.dims.end() - 1);
  input = conjugate(fft_c2c(input, others, scale_of(norm, true), true));
  return fft_c2r(input, {axes.half.dims.back()}, scale_of(norm, true), axes.length);
}

Tensor fft_ihfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm) {
  const Axes axes = resolve_axes(self, s, dims);
  require(!axes.dims.empty(), ErrorCode::kInvalidArgument,
          "ihfftn must transform at least one axis");
  const Tensor input = resized(as_real(self, "ihfftn"), axes.sizes, axes.dims);
  const Tensor half = conjugate(fft_r2c(input, {axes.dims.back()}, scale_of(norm, false), true));
  const IntVector others(axes.dims.begin(), axes.dims.end() - 1);
  return fft_c2c(half, others, scale_of(norm, false), false);
}

Tensor fft_fftshift(const Tensor& self, const FftList& dims) {
  return roll_by_half(self, dims, false);
}
Tensor fft_ifftshift(const Tensor& self, const FftList& dims) {
  return roll_by_half(self, dims, true);
}

Tensor fft_fftfreq(int64_t n, double d, ScalarType dtype) {
  require(n >= 0, ErrorCode::kInvalidArgument, "fftfreq: n must not be negative, got {}", n);
  return frequencies(n, (n + 1) / 2, n, 1.0 / (static_cast<double>(n) * d), dtype);
}
Tensor fft_rfftfreq(int64_t n, double d, ScalarType dtype) {
  require(n >= 0, ErrorCode::kInvalidArgument, "rfftfreq: n must not be negative, got {}", n);
  return frequencies(n / 2 + 1, n / 2 + 1, n, 1.0 / (static_cast<double>(n) * d), dtype);
}

}  // namespace tierup::kernels
