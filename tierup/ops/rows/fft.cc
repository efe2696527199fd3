// Fourier transforms.
#include "tierup/kernels/spectral/fft.h"
#include "tierup/kernels/spectral/fourier.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// fft2 and its kin name their two dims always.
template <auto Fn>
Tensor over_plane(const Tensor& self, const k::FftList& s, const IntVector& dims, k::FftNorm norm) {
  return Fn(self, s, dims, norm);
}

// The factories' layout, device and pin_memory change nothing on a CPU.
template <auto Fn>
Tensor spaced(int64_t n, double d, std::optional<ScalarType> dtype,
              std::optional<int64_t> /*layout*/, std::optional<Device> /*device*/,
              std::optional<bool> /*pin_memory*/) {
  return Fn(n, d, dtype.value_or(ScalarType::kFloat));
}
template <auto Fn>
Tensor spaced_plain(int64_t n, double d) {
  return Fn(n, d, ScalarType::kFloat);
}

using Length = std::optional<int64_t>;
using Flag = std::optional<bool>;

Tensor stft(const Tensor& self, int64_t n_fft, Length hop_length, Length win_length,
            const Tensor& window, bool normalized, Flag onesided, Flag return_complex,
            Flag /*align_to_window*/) {
  const k::FrameOptions options{n_fft, hop_length, win_length, window,
                                false, "reflect",  normalized, onesided};
  return k::stft(self, options, return_complex);
}
Tensor stft_center(const Tensor& self, int64_t n_fft, Length hop_length, Length win_length,
                   const Tensor& window, bool center, std::string_view pad_mode, bool normalized,
                   Flag onesided, Flag return_complex, Flag /*align_to_window*/) {
  const k::FrameOptions options{n_fft,  hop_length, win_length, window,
                                center, pad_mode,   normalized, onesided};
  return k::stft(self, options, return_complex);
}
Tensor istft(const Tensor& self, int64_t n_fft, Length hop_length, Length win_length,
             const Tensor& window, bool center, bool normalized, Flag onesided, Length length,
             bool return_complex) {
  const k::FrameOptions options{n_fft,  hop_length, win_length, window,
                                center, "reflect",  normalized, onesided};
  return k::istft(self, options, length, return_complex);
}

constexpr OpRow kRows[] = {
    {"aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     boxed<&k::fft_c2c>},
    {"aten::_fft_c2c.out(Tensor self, SymInt[] dim, int normalization, bool forward, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_c2c>},
    {"aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     boxed<&k::fft_r2c>},
    {"aten::_fft_r2c.out(Tensor self, int[] dim, int normalization, bool onesided, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_r2c>},
    {"aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     boxed<&k::fft_c2r>},
    {"aten::_fft_c2r.out(Tensor self, int[] dim, int normalization, SymInt last_dim_size, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_c2r>},
    {"aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     boxed<&k::fft_fft>},
    {"aten::fft_fft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_fft>},
    {"aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     boxed<&k::fft_ifft>},
    {"aten::fft_ifft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_ifft>},
    {"aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     boxed<&k::fft_rfft>},
    {"aten::fft_rfft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_rfft>},
    {"aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     boxed<&k::fft_irfft>},
    {"aten::fft_irfft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_irfft>},
    {"aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     boxed<&k::fft_hfft>},
    {"aten::fft_hfft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_hfft>},
    {"aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     boxed<&k::fft_ihfft>},
    {"aten::fft_ihfft.out(Tensor self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::fft_ihfft>},
    {"aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
     "Tensor",
     boxed<&over_plane<&k::fft_fftn>>},
    {"aten::fft_fft2.out(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&over_plane<&k::fft_fftn>>},
    {"aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     boxed<&k::fft_fftn>},
    {"aten::fft_fftn.out(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_fftn>},
    {"aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
     "Tensor",
     boxed<&over_plane<&k::fft_ifftn>>},
    {"aten::fft_ifft2.out(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&over_plane<&k::fft_ifftn>>},
    {"aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     boxed<&k::fft_ifftn>},
    {"aten::fft_ifftn.out(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_ifftn>},
    {"aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
     "Tensor",
     boxed<&over_plane<&k::fft_rfftn>>},
    {"aten::fft_rfft2.out(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&over_plane<&k::fft_rfftn>>},
    {"aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     boxed<&k::fft_rfftn>},
    {"aten::fft_rfftn.out(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_rfftn>},
    {"aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
     "Tensor",
     boxed<&over_plane<&k::fft_irfftn>>},
    {"aten::fft_irfft2.out(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&over_plane<&k::fft_irfftn>>},
    {"aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     boxed<&k::fft_irfftn>},
    {"aten::fft_irfftn.out(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_irfftn>},
    {"aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
     "Tensor",
     boxed<&over_plane<&k::fft_hfftn>>},
    {"aten::fft_hfft2.out(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&over_plane<&k::fft_hfftn>>},
    {"aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     boxed<&k::fft_hfftn>},
    {"aten::fft_hfftn.out(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_hfftn>},
    {"aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
     "Tensor",
     boxed<&over_plane<&k::fft_ihfftn>>},
    {"aten::fft_ihfft2.out(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&over_plane<&k::fft_ihfftn>>},
    {"aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     boxed<&k::fft_ihfftn>},
    {"aten::fft_ihfftn.out(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::fft_ihfftn>},
    {"aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", boxed<&k::fft_fftshift>},
    {"aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", boxed<&k::fft_ifftshift>},
    {"aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&spaced<&k::fft_fftfreq>>},
    {"aten::fft_fftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&spaced_plain<&k::fft_fftfreq>>},
    {"aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&spaced<&k::fft_rfftfreq>>},
    {"aten::fft_rfftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&spaced_plain<&k::fft_rfftfreq>>},
    {"aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
     "window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? "
     "align_to_window=None) -> Tensor",
     boxed<&stft>},
    {"aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, "
     "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
     boxed<&stft_center>},
    {"aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
     "window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, "
     "bool return_complex=False) -> Tensor",
     boxed<&istft>},
};

}  // namespace

std::span<const OpRow> fft_rows() { return kRows; }

}  // namespace tierup::ops
