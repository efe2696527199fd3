// Short-time Fourier transforms: stft and istft.
#include <cmath>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/padding.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/spectral/fft.h"
#include "tierup/kernels/spectral/fourier.h"

namespace tierup::kernels {
namespace {

struct Frames {
  int64_t n_fft = 0;
  int64_t hop = 0;
  Tensor window;  // n_fft elements, or undefined for a window of ones.
};

Frames resolve_frames(const FrameOptions& options, ScalarType dtype, const char* what) {
  Frames frames;
  frames.n_fft = options.n_fft;
  frames.hop = options.hop_length.value_or(options.n_fft / 4);
  const int64_t width = options.win_length.value_or(options.n_fft);
  require(frames.hop > 0, ErrorCode::kInvalidArgument, "{}: expected hop_length > 0, but got {}",
          what, frames.hop);
  require(frames.n_fft > 0 && width > 0 && width <= frames.n_fft, ErrorCode::kInvalidArgument,
          "{}: expected 0 < win_length <= n_fft, but got win_length={}, n_fft={}", what, width,
          frames.n_fft);
  const Tensor& window = options.window;
  if (!(!window.defined() || (window.dim() == 1 && window.numel() == width))) {
    fail(ErrorCode::kInvalidArgument,
         "{}: expected a 1D window tensor of size equal to win_length={}, but got window with size "
         "{}",
         what, width, window.defined() ? shape_string(window.sizes()) : "[]");
  }
  if (!window.defined() && width == frames.n_fft) return frames;
  const ScalarType type =
      window.defined() && is_complex(window.dtype()) ? complex_type_of(dtype) : real_type_of(dtype);
  frames.window = Tensor::empty(IntVector{frames.n_fft}, type);
  fill(frames.window, Scalar(0));
  const Tensor middle = narrow(frames.window, 0, (frames.n_fft - width) / 2, width);
  if (window.defined())
    copy_into(middle, window);
  else
    fill(middle, Scalar(1));
  return frames;
}

// Adds [batch, frames, n] up where they overlap: [batch, n + hop * (frames - 1)].
template <typename T>
void overlap_add(const Tensor& frames, int64_t hop, const Tensor& out) {
  const int64_t count = frames.sizes()[1];
  const int64_t n = frames.sizes()[2];
  const int64_t length = out.sizes()[1];
  for (int64_t b = 0; b < frames.sizes()[0]; ++b) {
    for (int64_t f = 0; f < count; ++f) {
      const T* from = frames.data<T>() + (b * count + f) * n;
      T* to = out.data<T>() + b * length + f * hop;
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] + from[i]);
    }
  }
}

Tensor fold_frames(const Tensor& tensor, int64_t hop) {
  const Tensor frames = contiguous(tensor);
  const int64_t length = frames.sizes()[2] + hop * (frames.sizes()[1] - 1);
  Tensor out = Tensor::empty(IntVector{frames.sizes()[0], length}, frames.dtype());
  fill(out, Scalar(0));
  const auto run = [&](auto tag) { overlap_add<typename decltype(tag)::type>(frames, hop, out); };
  if (is_complex(frames.dtype()))
    dispatch_complex(frames.dtype(), "istft", run);
  else
    dispatch_floating(frames.dtype(), "istft", run);
  return out;
}

Tensor times(const Tensor& a, const Tensor& b) { return pointwise({Body::kMul}, {a, b}); }

// The sum of squared windows that each sample has seen.
Tensor window_envelope(const Frames& frames, int64_t count, ScalarType dtype) {
  Tensor squares;
  if (frames.window.defined()) {
    squares = times(frames.window, frames.window);
  } else {
    squares = Tensor::empty(IntVector{frames.n_fft}, real_type_of(dtype));
    fill(squares, Scalar(1));
  }
  return fold_frames(expand_to(squares, IntVector{1, count, frames.n_fft}), frames.hop);
}

}  // namespace

Tensor stft(const Tensor& self, const FrameOptions& options, std::optional<bool> return_complex) {
  if (!((is_floating(self.dtype()) || is_complex(self.dtype())) &&
        (self.dim() == 1 || self.dim() == 2))) {
    fail(ErrorCode::kInvalidArgument,
         "stft: expected a 1D or 2D tensor of floating point or complex values, but got {}",
         self.describe());
  }
  const bool complex_window = options.window.defined() && is_complex(options.window.dtype());
  const bool complex_input = is_complex(self.dtype()) || complex_window;
  require(return_complex || complex_input, ErrorCode::kInvalidArgument,
          "stft requires the return_complex parameter be given for real inputs, and will further "
          "require that return_complex=True in a future PyTorch release.");
  const Frames frames = resolve_frames(options, self.dtype(), "stft");
  Tensor signal = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (options.center) {
    const int64_t side = frames.n_fft / 2;
    signal =
        squeeze_dim(pad(unsqueeze(signal, 1), {side, side}, options.pad_mode, std::nullopt), 1);
  }
  const int64_t samples = signal.sizes()[1];
  require(frames.n_fft <= samples, ErrorCode::kInvalidArgument,
          "stft: expected 0 < n_fft < {}, but got n_fft={}", samples, frames.n_fft);
  Tensor cut = unfold(signal, 1, frames.n_fft, frames.hop);
  if (frames.window.defined()) cut = times(cut, frames.window);
  const bool onesided = options.onesided.value_or(!complex_input);
  const int64_t scale = options.normalized ? 1 : 0;
  require(!complex_input || !onesided, ErrorCode::kInvalidArgument,
          "Cannot have onesided output if window or input is complex");
  Tensor out = complex_input
                   ? fft_c2c(to_dtype(cut, complex_type_of(cut.dtype())), {2}, scale, true)
                   : fft_r2c(cut, {2}, scale, onesided);
  out = transpose(out, 1, 2);
  if (self.dim() == 1) out = squeeze_dim(out, 0);
  return return_complex.value_or(complex_input) ? out : view_as_real(out);
}

Tensor istft(const Tensor& self, const FrameOptions& options, std::optional<int64_t> length,
             bool return_complex) {
  if (!(is_complex(self.dtype()) && (self.dim() == 2 || self.dim() == 3) && self.numel() > 0)) {
    fail(ErrorCode::kInvalidArgument,
         "istft requires a complex-valued input tensor with 2 or 3 dimensions, got {}",
         self.describe());
  }
  const Frames frames = resolve_frames(options, self.dtype(), "istft");
  const Tensor input = self.dim() == 2 ? unsqueeze(self, 0) : self;
  const int64_t rows = input.sizes()[1];
  const int64_t count = input.sizes()[2];
  const bool onesided = options.onesided.value_or(rows != frames.n_fft);
  require(rows == (onesided ? frames.n_fft / 2 + 1 : frames.n_fft), ErrorCode::kInvalidArgument,
          "istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
          "n_fft {} when onesided={}, but got {}",
          frames.n_fft, onesided, rows);
  require(!return_complex || !onesided, ErrorCode::kInvalidArgument,
          "cannot have onesided output if window or input is complex");
  const int64_t scale = options.normalized ? 1 : 2;
  const Tensor spectra = transpose(input, 1, 2);
  Tensor pieces;
  if (return_complex) {
    pieces = fft_c2c(spectra, {2}, scale, false);
  } else {
    pieces = fft_c2r(onesided ? spectra : narrow(spectra, 2, 0, frames.n_fft / 2 + 1), {2}, scale,
                     frames.n_fft);
  }
  if (frames.window.defined()) pieces = times(pieces, frames.window);
  const Tensor sum = fold_frames(pieces, frames.hop);
  const Tensor envelope = window_envelope(frames, count, self.dtype());
  const int64_t total = sum.sizes()[1];
  const int64_t start = options.center ? frames.n_fft / 2 : 0;
  int64_t end = total;
  if (length)
    end = std::min(total, start + *length);
  else if (options.center)
    end = total - frames.n_fft / 2;
  require(end >= start, ErrorCode::kInvalidArgument, "istft: the signal is too short");
  const Tensor seen = narrow(envelope, 1, start, end - start);
  const Tensor magnitude = contiguous(pointwise({Body::kAbs}, {seen}));
  dispatch_floating(magnitude.dtype(), "istft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < magnitude.numel(); ++i) {
      require(static_cast<double>(magnitude.data<T>()[i]) > 1e-11, ErrorCode::kInvalidArgument,
              "window overlap add min: 1");
    }
  });
  Tensor out =
      pointwise({Body::kDiv, Promote::kFloating}, {narrow(sum, 1, start, end - start), seen});
  if (length && *length > end - start)
    out = constant_pad_nd(out, {0, *length - (end - start)}, Scalar(0));
  return self.dim() == 2 ? squeeze_dim(out, 0) : out;
}

}  // namespace tierup::kernels
