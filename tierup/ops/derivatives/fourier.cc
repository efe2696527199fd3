// Fourier transforms: the gradient of one is the transform the other way, with the same
// normalisation. The operators on whole tensors are resized inputs of the three inner ones.
#include <cmath>

#include "tierup/ops/derivatives/dimensions.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

void c2c(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::_fft_c2c", c.ints_of("dim"), c.int_of("normalization"),
                        !c.bool_of("forward"));
  });
}
// Half of the spectrum is all that had a gradient: the rest is zero.
void r2c(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = c.ints_of("dim");
    const int64_t last = wrap_dim(dims.back(), c.rank(0));
    Term g = grad(c);
    const int64_t missing = c.size(0, last) - c.result_shape()[static_cast<size_t>(last)];
    if (c.bool_of("onesided") && missing > 0) {
      IntVector pad(2 * static_cast<size_t>(c.rank(0) - last), 0);
      pad.back() = missing;
      g = g.then("aten::constant_pad_nd", pad, 0);
    }
    return g.then("aten::_fft_c2c", dims, c.int_of("normalization"), false).then("aten::real");
  });
}
// What stands for two conjugate places gets the gradient of both.
void c2r(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = c.ints_of("dim");
    const int64_t last = wrap_dim(dims.back(), c.rank(0));
    const Term g = grad(c).then("aten::_fft_r2c", dims, c.int_of("normalization"), true);
    const int64_t half = c.size(0, last);
    const int64_t doubled = c.result_shape()[static_cast<size_t>(last)] - half;
    if (doubled <= 0) return g;
    const auto part = [&](int64_t start, int64_t length) {
      return g.then("aten::narrow", last, start, length);
    };
    std::vector<GradValue> parts{part(0, 1), part(1, doubled) * 2};
    if (doubled + 1 < half) parts.push_back(part(doubled + 1, half - doubled - 1));
    return call(c, "aten::cat", std::move(parts), last);
  });
}

// --- the operators on whole tensors

enum class Kind : uint8_t { kComplex, kFromReal, kToReal, kHermitian, kFromHermitian };

// As the inner operators count: 0 none, 1 by the root of n, 2 by n.
int64_t normalization(GradContext& c, bool forward) {
  const std::string_view name = c.is_none("norm") ? "backward" : c.string_of("norm");
  if (name == "ortho") return 1;
  return (name == "forward") == forward ? 2 : 0;
}

struct Dimensions {
  IntVector dims;
  IntVector sizes;  // -1: as it is.
};
Dimensions single(GradContext& c) {
  return {{wrap_dim(c.int_of("dim"), c.rank(0))}, {c.int_of("n", -1)}};
}
Dimensions several(GradContext& c) {
  Dimensions d;
  if (!c.is_none("s")) d.sizes = c.ints_of("s");
  if (!c.is_none("dim")) {
    d.dims = c.ints_of("dim");
    for (int64_t& dim : d.dims) dim = wrap_dim(dim, c.rank(0));
  } else {
    const int64_t count = d.sizes.empty() ? c.rank(0) : static_cast<int64_t>(d.sizes.size());
    for (int64_t dim = c.rank(0) - count; dim < c.rank(0); ++dim) d.dims.push_back(dim);
  }
  if (d.sizes.empty()) d.sizes = IntVector(d.dims.size(), -1);
  return d;
}

// Cut or padded with zeros to `size` along `dim`.
Term resized(const Term& x, int64_t dim, int64_t rank, int64_t from, int64_t size) {
  if (size < 0 || size == from) return x;
  if (size < from) return x.then("aten::narrow", dim, 0, size);
  IntVector pad(2 * static_cast<size_t>(rank - dim), 0);
  pad.back() = size - from;
  return x.then("aten::constant_pad_nd", pad, 0);
}
Term as_complex(GradContext& c, const Term& x) {
  if (c.is_complex(0)) return x;
  const bool wide = c.dtype(0) == ScalarType::kDouble;
  return x.then("aten::to.dtype", wide ? ScalarType::kComplexDouble : ScalarType::kComplexFloat);
}
Term as_real(GradContext& c, const Term& x) {
  return is_floating(c.dtype(0)) ? x : x.then("aten::to.dtype", ScalarType::kFloat);
}

template <Kind kKind, bool kForward, Dimensions (*kDimensions)(GradContext&)>
void transform(GradContext& c) {
  constexpr bool kRealResult = kKind == Kind::kToReal || kKind == Kind::kHermitian;
  constexpr bool kRealInput = kKind == Kind::kFromReal || kKind == Kind::kFromHermitian;
  const Dimensions d = kDimensions(c);
  const int64_t norm = normalization(c, kForward);
  if (d.dims.empty()) return c.set_result(0, as_complex(c, arg(c, 0)).then("aten::clone"));
  Term x = kRealInput ? as_real(c, arg(c, 0)) : as_complex(c, arg(c, 0));
  const size_t last = d.dims.size() - 1;
  const auto size_of = [&](size_t i) { return c.size(0, d.dims[i]); };
  const int64_t whole = d.sizes[last] >= 0 ? d.sizes[last] : 2 * (size_of(last) - 1);
  for (size_t i = 0; i < d.dims.size(); ++i) {
    const bool is_half = kRealResult && i == last;
    x = resized(x, d.dims[i], c.rank(0), size_of(i), is_half ? whole / 2 + 1 : d.sizes[i]);
  }
  const IntVector tail{d.dims[last]};
  const IntVector head(d.dims.begin(), d.dims.end() - 1);
  if constexpr (kKind == Kind::kComplex) {
    x = x.then("aten::_fft_c2c", d.dims, norm, kForward);
  } else if constexpr (kKind == Kind::kFromReal) {
    x = x.then("aten::_fft_r2c", d.dims, norm, true);
  } else if constexpr (kKind == Kind::kToReal) {
    x = x.then("aten::_fft_c2r", d.dims, norm, whole);
  } else if constexpr (kKind == Kind::kHermitian) {
    if (!head.empty()) x = x.then("aten::_fft_c2c", head, norm, true);
    x = x.conj().then("aten::_fft_c2r", tail, norm, whole);
  } else {
    x = x.then("aten::_fft_r2c", tail, norm, true).then("aten::_conj").then("aten::resolve_conj");
    if (!head.empty()) x = x.then("aten::_fft_c2c", head, norm, false);
  }
  c.set_result(0, x);
}

// --- short times

// The window at the transform's length, in the middle; ones where there is none.
Term window_of(GradContext& c, int64_t n_fft, int64_t length, ScalarType dtype) {
  Term window =
      c.is_tensor("window") ? arg(c, "window") : call(c, "aten::ones", IntVector{length}, dtype);
  if (length == n_fft) return window;
  const int64_t left = (n_fft - length) / 2;
  return window.then("aten::constant_pad_nd", IntVector{left, n_fft - length - left}, 0);
}
void short_time(GradContext& c, bool centered) {
  const int64_t n = c.int_of("n_fft");
  const int64_t hop = c.int_of("hop_length", n / 4);
  const int64_t length = c.int_of("win_length", n);
  const bool complex_input = c.is_complex(0);
  const bool onesided = c.is_none("onesided") ? !complex_input : c.bool_of("onesided");
  const bool batched = c.rank(0) == 2;
  Term x = batched ? arg(c, 0) : unsqueeze(arg(c, 0), 0);
  if (centered) {
    const IntVector pad{n / 2, n / 2};
    x = c.string_of("pad_mode") == "constant" ? x.then("aten::constant_pad_nd", pad, 0)
                                              : x.then("aten::pad", pad, c.value_of("pad_mode"));
  }
  Term frames = x.then("aten::unfold", -1, n, hop);
  if (c.is_tensor("window") || length < n) frames = frames * window_of(c, n, length, c.dtype(0));
  const int64_t norm = c.bool_of("normalized") ? 1 : 0;
  Term made = complex_input ? frames.then("aten::_fft_c2c", IntVector{2}, norm, true)
                            : frames.then("aten::_fft_r2c", IntVector{2}, norm, onesided);
  made = transpose(made, 1, 2);
  if (!batched) made = squeeze(made, 0);
  const bool as_complex_numbers = !c.is_none("return_complex") && c.bool_of("return_complex");
  c.set_result(0, as_complex_numbers ? made : made.then("aten::view_as_real"));
}
void stft(GradContext& c) { short_time(c, false); }
void stft_center(GradContext& c) { short_time(c, c.bool_of("center")); }
// Frames are added up where they overlap and divided by what the windows add up to.
void istft(GradContext& c) {
  const int64_t n = c.int_of("n_fft");
  const int64_t hop = c.int_of("hop_length", n / 4);
  const int64_t length = c.int_of("win_length", n);
  const bool batched = c.rank(0) == 3;
  const Term spectrum = batched ? arg(c, 0) : unsqueeze(arg(c, 0), 0);
  const int64_t frames = c.size(0, -1);
  const bool onesided = c.is_none("onesided") ? c.size(0, -2) != n : c.bool_of("onesided");
  const int64_t norm = c.bool_of("normalized") ? 1 : 2;
  const bool as_complex_numbers = c.bool_of("return_complex");
  const Term turned_round = transpose(spectrum, 1, 2);
  Term parts;
  if (as_complex_numbers) {
    parts = turned_round.then("aten::_fft_c2c", IntVector{2}, norm, false);
  } else {
    const Term half = onesided ? turned_round : turned_round.then("aten::narrow", -1, 0, n / 2 + 1);
    parts = half.then("aten::_fft_c2r", IntVector{2}, norm, n);
  }
  const ScalarType real =
      c.dtype(0) == ScalarType::kComplexDouble ? ScalarType::kDouble : ScalarType::kFloat;
  const Term window = window_of(c, n, length, real);
  const int64_t total_length = n + hop * (frames - 1);
  const int64_t batch = batched ? c.size(0, 0) : 1;
  const Term sum =
      (parts * window).then("aten::unfold_backward", IntVector{batch, total_length}, 1, n, hop);
  const Term weight = expand(square(window), IntVector{frames, n})
                          .then("aten::unfold_backward", IntVector{total_length}, 0, n, hop);
  const bool center = c.bool_of("center");
  const int64_t start = center ? n / 2 : 0;
  int64_t end = center ? total_length - n / 2 : total_length;
  if (!c.is_none("length")) end = start + c.int_of("length");
  const int64_t there = std::min(end, total_length);
  const auto cut = [&](const Term& t, int64_t dim) {
    return t.then("aten::narrow", dim, start, there - start);
  };
  Term y = cut(sum, 1) / cut(weight, 0);
  if (end > there) y = y.then("aten::constant_pad_nd", IntVector{0, end - there}, 0);
  c.set_result(0, batched ? y : squeeze(y, 0));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::_fft_c2c", &c2c},
    {"aten::_fft_r2c", &r2c},
    {"aten::_fft_c2r", &c2r},
    {"aten::fft_fft", kDecomposed, &transform<Kind::kComplex, true, &single>},
    {"aten::fft_ifft", kDecomposed, &transform<Kind::kComplex, false, &single>},
    {"aten::fft_rfft", kDecomposed, &transform<Kind::kFromReal, true, &single>},
    {"aten::fft_irfft", kDecomposed, &transform<Kind::kToReal, false, &single>},
    {"aten::fft_hfft", kDecomposed, &transform<Kind::kHermitian, true, &single>},
    {"aten::fft_ihfft", kDecomposed, &transform<Kind::kFromHermitian, false, &single>},
    {"aten::fft_fft2", kDecomposed, &transform<Kind::kComplex, true, &several>},
    {"aten::fft_fftn", kDecomposed, &transform<Kind::kComplex, true, &several>},
    {"aten::fft_ifft2", kDecomposed, &transform<Kind::kComplex, false, &several>},
    {"aten::fft_ifftn", kDecomposed, &transform<Kind::kComplex, false, &several>},
    {"aten::fft_rfft2", kDecomposed, &transform<Kind::kFromReal, true, &several>},
    {"aten::fft_rfftn", kDecomposed, &transform<Kind::kFromReal, true, &several>},
    {"aten::fft_irfft2", kDecomposed, &transform<Kind::kToReal, false, &several>},
    {"aten::fft_irfftn", kDecomposed, &transform<Kind::kToReal, false, &several>},
    {"aten::fft_hfft2", kDecomposed, &transform<Kind::kHermitian, true, &several>},
    {"aten::fft_hfftn", kDecomposed, &transform<Kind::kHermitian, true, &several>},
    {"aten::fft_ihfft2", kDecomposed, &transform<Kind::kFromHermitian, false, &several>},
    {"aten::fft_ihfftn", kDecomposed, &transform<Kind::kFromHermitian, false, &several>},
    {"aten::stft", kDecomposed, &stft},
    {"aten::stft.center", kDecomposed, &stft_center},
    {"aten::istft", kDecomposed, &istft},
};

}  // namespace

std::span<const DerivativeRow> fourier_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
