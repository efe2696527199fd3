// torch.fft and short-time transforms, on the primitives of fourier.h.
//
// `n` and `s` pad with zeros or cut before the transform. `norm` is "backward" (default), "forward"
// or "ortho". Integers and bool become f32. Throw kInvalidArgument for empty dimensions, unknown
// norms and repeated dims, kOutOfRange for dims that the tensor does not have, kTypeError for
// complex inputs of real transforms.
#pragma once

#include <optional>
#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

using FftNorm = std::optional<std::string_view>;
using FftSize = std::optional<int64_t>;
using FftList = std::optional<IntVector>;

Tensor fft_fft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm);
Tensor fft_ifft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm);
Tensor fft_rfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm);
Tensor fft_irfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm);
// Transforms between a real spectrum and a Hermitian half signal.
Tensor fft_hfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm);
Tensor fft_ihfft(const Tensor& self, FftSize n, int64_t dim, FftNorm norm);
// The same over several dimensions: without dims, the last ones that `s` names, or all.
Tensor fft_fftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm);
Tensor fft_ifftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm);
Tensor fft_rfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm);
Tensor fft_irfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm);
Tensor fft_hfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm);
Tensor fft_ihfftn(const Tensor& self, const FftList& s, const FftList& dims, FftNorm norm);

// aten::fft_fftshift, fft_ifftshift: the zero frequency to the middle, and back.
Tensor fft_fftshift(const Tensor& self, const FftList& dims);
Tensor fft_ifftshift(const Tensor& self, const FftList& dims);
// aten::fft_fftfreq, fft_rfftfreq: the frequencies of n points at distance d.
Tensor fft_fftfreq(int64_t n, double d, ScalarType dtype);
Tensor fft_rfftfreq(int64_t n, double d, ScalarType dtype);

// How aten::stft and aten::istft cut a signal into frames; lengths default as in PyTorch.
struct FrameOptions {
  int64_t n_fft = 0;
  std::optional<int64_t> hop_length;
  std::optional<int64_t> win_length;
  Tensor window;
  bool center = true;
  std::string_view pad_mode = "reflect";
  bool normalized = false;
  std::optional<bool> onesided;
};
// aten::stft of [samples] or [batch, samples]: [.., frequencies, frames], as complex numbers or,
// without return_complex, with a last dimension of 2.
Tensor stft(const Tensor& self, const FrameOptions& options, std::optional<bool> return_complex);
// aten::istft: the signal of which this is the transform, by least squares.
Tensor istft(const Tensor& self, const FrameOptions& options, std::optional<int64_t> length,
             bool return_complex);

}  // namespace tierup::kernels
