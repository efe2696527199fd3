#include "tierup/kernels/spectral/fourier.h"

#include <algorithm>
#include <cmath>
#include <kissfft.hh>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/spectral/bundled_lines.h"
#include "tierup/kernels/spectral/fourier_line.h"
#include "tierup/kernels/spectral/long_lines.h"
#include "tierup/kernels/spectral/scratch_numbers.h"

namespace tierup::kernels {
namespace {

// A line has scratch memory, so each range of lanes makes its own; this many elements pay for it.
int64_t grain_of(int64_t length) {
  return std::max<int64_t>(1, 65536 / std::max<int64_t>(length, 1));
}

double divisor(FftScale scale, int64_t points) {
  switch (scale) {
    case FftScale::kRoot: return std::sqrt(static_cast<double>(points));
    case FftScale::kCount: return static_cast<double>(points);
    default: return 1;
  }
}

FftScale checked_scale(int64_t scale) {
  require(scale >= 0 && scale <= 2, ErrorCode::kInvalidArgument, "invalid FFT normalization {}",
          scale);
  return static_cast<FftScale>(scale);
}

// The product of the sizes of the transformed dimensions; checks them.
int64_t count_points(const Tensor& self, const IntVector& dims) {
  int64_t points = 1;
  for (const int64_t d : transformed_dims(dims, self.dim())) {
    require(self.sizes()[d] >= 1, ErrorCode::kInvalidArgument,
            "Invalid number of data points ({}) specified", self.sizes()[d]);
    points *= self.sizes()[d];
  }
  return points;
}

// One complex transform along d, divided by `scale`. `from` and `to` may be the same tensor.
template <typename C>
void transform_complex(const Tensor& from, const Tensor& to, int64_t d, bool forward,
                       double scale) {
  const int64_t n = from.sizes()[d];
  if (has_table<C>(n)) return transform_by_table<C>(from, to, d, forward, scale);
  const LaneLoop loop(from.sizes(), d, {&from, &to});
  if (bundles_complex<C>(n)) return bundle_complex<C>(loop, n, forward, scale);
  loop.run_ranges(grain_of(n), [&](const auto& each) {
    const auto line = FourierLine::make(n, !forward);
    const ScratchNumbers<complex128> in(n);
    const ScratchNumbers<complex128> out(n);
    each([&](const LaneLoop::Pointers& lane) {
      for (int64_t i = 0; i < n; ++i) {
        in[i] = complex128(*reinterpret_cast<const C*>(lane[0] + i * loop.step(0)));
      }
      line->transform(in.data(), out.data());
      for (int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<C*>(lane[1] + i * loop.step(1)) = static_cast<C>(out[i] / scale);
      }
    });
  });
}

// The half spectrum of real lanes. Even lengths take one complex transform of half the length where
// KissFFT does that alone.
template <typename R>
void transform_real(const Tensor& from, const Tensor& to, int64_t d, double scale) {
  using C = std::complex<R>;
  const int64_t n = from.sizes()[d];
  const bool halved = n % 2 == 0 && FourierLine::is_plain(n / 2);
  const LaneLoop loop(from.sizes(), d, {&from, &to});
  if (bundles_real<R>(n)) return bundle_real<R>(loop, n, scale);
  if (n % 2 == 0 && has_table<C>(n / 2)) return transform_real_by_table<R>(from, to, d, scale);
  loop.run_ranges(grain_of(n), [&](const auto& each) {
    const kissfft<double> half(static_cast<size_t>(halved ? n / 2 : 1), false);
    const auto line = halved ? nullptr : FourierLine::make(n, false);
    const ScratchNumbers<double> real(halved ? n : 0);
    const ScratchNumbers<complex128> in(halved ? 0 : n);
    const ScratchNumbers<complex128> out(halved ? n / 2 + 1 : n);
    each([&](const LaneLoop::Pointers& lane) {
      const auto element = [&](int64_t i) {
        return static_cast<double>(*reinterpret_cast<const R*>(lane[0] + i * loop.step(0)));
      };
      if (halved) {
        for (int64_t i = 0; i < n; ++i) real[i] = element(i);
        half.transform_real(real.data(), out.data());
        out[n / 2] = out[0].imag();
        out[0] = out[0].real();
      } else {
        for (int64_t i = 0; i < n; ++i) in[i] = element(i);
        line->transform(in.data(), out.data());
      }
      for (int64_t i = 0; i <= n / 2; ++i) {
        *reinterpret_cast<C*>(lane[1] + i * loop.step(1)) = static_cast<C>(out[i] / scale);
      }
    });
  });
}

// Real lanes from half spectra: the other half is the conjugate.
template <typename R>
void transform_to_real(const Tensor& from, const Tensor& to, int64_t d, double scale) {
  using C = std::complex<R>;
  const int64_t n = to.sizes()[d];
  const LaneLoop loop(to.sizes(), d, {&from, &to});
  if (bundles_real<R>(n)) return bundle_to_real<R>(loop, n, scale);
  if (n % 2 == 0 && has_table<C>(n / 2)) return transform_to_real_by_table<R>(from, to, d, scale);
  loop.run_ranges(grain_of(n), [&](const auto& each) {
    const auto line = FourierLine::make(n, true);
    const ScratchNumbers<complex128> in(n);
    const ScratchNumbers<complex128> out(n);
    each([&](const LaneLoop::Pointers& lane) {
      for (int64_t i = 0; i <= n / 2; ++i) {
        const complex128 x(*reinterpret_cast<const C*>(lane[0] + i * loop.step(0)));
        in[i] = i == 0 || 2 * i == n ? x.real() : x;
        if (i > 0) in[n - i] = std::conj(in[i]);
      }
      line->transform(in.data(), out.data());
      for (int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<R*>(lane[1] + i * loop.step(1)) = static_cast<R>(out[i].real() / scale);
      }
    });
  });
}

}  // namespace

IntVector transformed_dims(const IntVector& dims, int64_t rank) {
  require(rank <= 64, ErrorCode::kInvalidArgument,
          "only tensors with up to 64 dims are supported, got {}", rank);
  IntVector result;
  uint64_t seen = 0;
  for (const int64_t dim : dims) {
    require(rank > 0, ErrorCode::kOutOfRange,
            "Dimension specified as {} but tensor has no dimensions", dim);
    const int64_t d = wrap_dim(dim, rank);
    require(((seen >> d) & 1U) == 0, ErrorCode::kInvalidArgument,
            "FFT dims must be unique, got dim {} twice", dim);
    seen |= uint64_t{1} << d;
    result.push_back(d);
  }
  return result;
}

Tensor fft_c2c(const Tensor& self, const IntVector& dims, int64_t scale, bool forward) {
  require(is_complex(self.dtype()), ErrorCode::kTypeError,
          "_fft_c2c expects a complex input tensor, but got {}", scalar_type_name(self.dtype()));
  if (dims.empty()) return clone(self);
  double factor = divisor(checked_scale(scale), count_points(self, dims));
  Tensor out = Tensor::empty(self.sizes(), self.dtype());
  dispatch_complex(self.dtype(), "fft", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Tensor* from = &self;
    for (size_t i = dims.size(); i-- > 0; from = &out, factor = 1) {
      transform_complex<C>(*from, out, wrap_dim(dims[i], self.dim()), forward, factor);
    }
  });
  return out;
}

Tensor fft_r2c(const Tensor& self, const IntVector& dims, int64_t scale, bool onesided) {
  require(is_floating(self.dtype()), ErrorCode::kTypeError,
          "_fft_r2c expects a real input tensor, but got {}", scalar_type_name(self.dtype()));
  const ScalarType type = complex_type_of(self.dtype());
  if (real_type_of(type) != self.dtype()) fail_dtype("fft", self.dtype());
  if (dims.empty()) return to_dtype(self, type);
  if (!onesided) return fft_c2c(to_dtype(self, type), dims, scale, true);
  const int64_t last = wrap_dim(dims.back(), self.dim());
  const double factor = divisor(checked_scale(scale), count_points(self, dims));
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[last] = sizes[last] / 2 + 1;
  Tensor out = Tensor::empty(sizes, type);
  dispatch_complex(type, "fft", [&](auto tag) {
    using R = typename decltype(tag)::type::value_type;
    transform_real<R>(self, out, last, factor);
  });
  const IntVector rest(dims.begin(), dims.end() - 1);
  return rest.empty() ? out : fft_c2c(out, rest, 0, true);
}

Tensor fft_c2r(const Tensor& self, const IntVector& dims, int64_t scale, int64_t last_dim_size) {
  require(is_complex(self.dtype()), ErrorCode::kTypeError,
          "_fft_c2r expects a complex input tensor, but got {}", scalar_type_name(self.dtype()));
  require(!dims.empty(), ErrorCode::kInvalidArgument, "_fft_c2r expects at least one dimension");
  const int64_t last = wrap_dim(dims.back(), self.dim());
  require(last_dim_size >= 1 && self.dim() > 0 && self.sizes()[last] > last_dim_size / 2,
          ErrorCode::kInvalidArgument, "Invalid number of data points ({}) specified",
          last_dim_size);
  const int64_t points = count_points(self, dims) / self.sizes()[last] * last_dim_size;
  const double factor = divisor(checked_scale(scale), points);
  const IntVector rest(dims.begin(), dims.end() - 1);
  const Tensor half = rest.empty() ? self : fft_c2c(self, rest, 0, false);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[last] = last_dim_size;
  Tensor out = Tensor::empty(sizes, real_type_of(self.dtype()));
  dispatch_complex(self.dtype(), "fft", [&](auto tag) {
    using R = typename decltype(tag)::type::value_type;
    transform_to_real<R>(half, out, last, factor);
  });
  return out;
}

}  // namespace tierup::kernels
