// Resampling and padding, by the operators of their backward passes, whose gradients are the
// forward operators again.
#include <algorithm>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// The factors that a `vec` overload was given, for dimension d.
GradArg factor(GradContext& c, size_t d) {
  if (c.is_none("scale_factors")) return nullptr;
  return c.value_of("scale_factors").to_list().items[d];
}
IntVector output_size(const GradContext& c) {
  const IntSpan spatial = c.result_shape().subspan(2);
  return {spatial.begin(), spatial.end()};
}

// By sizes and the scales of the call, or by a `vec` overload.
struct Scales {
  GradContext& c;
  bool vec;
  GradArg operator()(const char* name, size_t d) const {
    return vec ? factor(c, d) : GradArg(c.value_of(name));
  }
};

#define TIERUP_NEAREST(name)                                                                 \
  template <bool kVec>                                                                       \
  void name##1d(GradContext & c) {                                                           \
    c.give(0, [&] {                                                                          \
      const Scales scale{c, kVec};                                                           \
      return grad(c).then("aten::" #name "1d_backward", output_size(c), c.sizes(0),          \
                          scale("scales", 0));                                               \
    });                                                                                      \
  }                                                                                          \
  template <bool kVec>                                                                       \
  void name##2d(GradContext & c) {                                                           \
    c.give(0, [&] {                                                                          \
      const Scales scale{c, kVec};                                                           \
      return grad(c).then("aten::" #name "2d_backward", output_size(c), c.sizes(0),          \
                          scale("scales_h", 0), scale("scales_w", 1));                       \
    });                                                                                      \
  }                                                                                          \
  template <bool kVec>                                                                       \
  void name##3d(GradContext & c) {                                                           \
    c.give(0, [&] {                                                                          \
      const Scales scale{c, kVec};                                                           \
      return grad(c).then("aten::" #name "3d_backward", output_size(c), c.sizes(0),          \
                          scale("scales_d", 0), scale("scales_h", 1), scale("scales_w", 2)); \
    });                                                                                      \
  }
TIERUP_NEAREST(upsample_nearest)
TIERUP_NEAREST(_upsample_nearest_exact)
#undef TIERUP_NEAREST

template <bool kVec>
void linear1d(GradContext& c) {
  c.give(0, [&] {
    const Scales scale{c, kVec};
    return grad(c).then("aten::upsample_linear1d_backward", output_size(c), c.sizes(0),
                        c.bool_of("align_corners"), scale("scales", 0));
  });
}
template <bool kVec>
void trilinear3d(GradContext& c) {
  c.give(0, [&] {
    const Scales scale{c, kVec};
    return grad(c).then("aten::upsample_trilinear3d_backward", output_size(c), c.sizes(0),
                        c.bool_of("align_corners"), scale("scales_d", 0), scale("scales_h", 1),
                        scale("scales_w", 2));
  });
}
#define TIERUP_ALIGNED(name, row)                                                                  \
  template <bool kVec>                                                                             \
  void name(GradContext& c) {                                                                      \
    c.give(0, [&] {                                                                                \
      const Scales scale{c, kVec};                                                                 \
      return grad(c).then("aten::" row "_backward", output_size(c), c.sizes(0),                    \
                          c.bool_of("align_corners"), scale("scales_h", 0), scale("scales_w", 1)); \
    });                                                                                            \
  }
TIERUP_ALIGNED(bilinear2d, "upsample_bilinear2d")
TIERUP_ALIGNED(bicubic2d, "upsample_bicubic2d")
TIERUP_ALIGNED(bilinear2d_aa, "_upsample_bilinear2d_aa")
TIERUP_ALIGNED(bicubic2d_aa, "_upsample_bicubic2d_aa")
TIERUP_ALIGNED(lanczos2d_aa, "_upsample_lanczos2d_aa")
#undef TIERUP_ALIGNED

// (grad, output size, input size, align corners?, scales...): the forward operator of that.
#define TIERUP_RESAMPLE_BACKWARD(name, row, ...)                                      \
  void name(GradContext& c) {                                                         \
    c.give(0, [&] { return grad(c).then("aten::" row, c.ints_of(1), __VA_ARGS__); }); \
  }
TIERUP_RESAMPLE_BACKWARD(nearest1d_back, "upsample_nearest1d", c.value_of(3))
TIERUP_RESAMPLE_BACKWARD(nearest2d_back, "upsample_nearest2d", c.value_of(3), c.value_of(4))
TIERUP_RESAMPLE_BACKWARD(nearest3d_back, "upsample_nearest3d", c.value_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(exact1d_back, "_upsample_nearest_exact1d", c.value_of(3))
TIERUP_RESAMPLE_BACKWARD(exact2d_back, "_upsample_nearest_exact2d", c.value_of(3), c.value_of(4))
TIERUP_RESAMPLE_BACKWARD(exact3d_back, "_upsample_nearest_exact3d", c.value_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(linear1d_back, "upsample_linear1d", c.bool_of(3), c.value_of(4))
TIERUP_RESAMPLE_BACKWARD(bilinear2d_back, "upsample_bilinear2d", c.bool_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(bicubic2d_back, "upsample_bicubic2d", c.bool_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(bilinear2d_aa_back, "_upsample_bilinear2d_aa", c.bool_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(bicubic2d_aa_back, "_upsample_bicubic2d_aa", c.bool_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(lanczos2d_aa_back, "_upsample_lanczos2d_aa", c.bool_of(3), c.value_of(4),
                         c.value_of(5))
TIERUP_RESAMPLE_BACKWARD(trilinear3d_back, "upsample_trilinear3d", c.bool_of(3), c.value_of(4),
                         c.value_of(5), c.value_of(6))
#undef TIERUP_RESAMPLE_BACKWARD

// Linear in theta: the gradient times the grid of the identity, with a column of ones.
void affine_grid(GradContext& c) {
  c.give(0, [&] {
    const IntVector size = c.ints_of("size");
    const auto rank = static_cast<int64_t>(size.size()) - 2;
    const Term unit = call(c, "aten::eye.m", rank, rank + 1, c.dtype(0));
    const Term thetas = expand(unit, IntVector{size[0], rank, rank + 1});
    const Term points =
        reshape(thetas.then("aten::affine_grid_generator", size, c.bool_of("align_corners")),
                IntVector{size[0], -1, rank});
    const Term ones = ones_like(points.then("aten::narrow", -1, 0, 1));
    const Term base = call(c, "aten::cat", std::vector<GradValue>{points, ones}, -1);
    return matmul(turned(reshape(grad(c), IntVector{size[0], -1, rank})), base);
  });
}

void grid_sampler_by(GradContext& c, OpName backward) {
  const std::vector<GradValue> made =
      c.ops(2, backward, c.grad(), c.arg(0), c.arg(1), c.int_of(2), c.int_of(3), c.bool_of(4),
            flags({c.wants(0), c.wants(1)}));
  c.give(0, [&] { return made[0]; });
  c.give(1, [&] { return made[1]; });
}
void grid_sampler_2d(GradContext& c) { grid_sampler_by(c, "aten::grid_sampler_2d_backward"); }
void grid_sampler_3d(GradContext& c) { grid_sampler_by(c, "aten::grid_sampler_3d_backward"); }
void grid_sampler(GradContext& c) { c.rank(0) == 4 ? grid_sampler_2d(c) : grid_sampler_3d(c); }

// --- padding

void constant_pad(GradContext& c) {
  c.give(0, [&] {
    IntVector pad = c.ints_of(1);
    for (int64_t& width : pad) width = -width;
    return grad(c).then("aten::constant_pad_nd", pad, 0);
  });
}
#define TIERUP_PAD(name)                                                                          \
  void name(GradContext& c) {                                                                     \
    c.give(0, [&] { return grad(c).then("aten::" #name "_backward", arg(c, 0), c.ints_of(1)); }); \
  }                                                                                               \
  void name##_back(GradContext& c) {                                                              \
    c.give(0, [&] { return grad(c).then("aten::" #name, c.ints_of(2)); });                        \
    c.give_zeros(1);                                                                              \
  }
TIERUP_PAD(reflection_pad1d)
TIERUP_PAD(reflection_pad2d)
TIERUP_PAD(reflection_pad3d)
TIERUP_PAD(replication_pad1d)
TIERUP_PAD(replication_pad2d)
TIERUP_PAD(replication_pad3d)
#undef TIERUP_PAD

// Wrapped around: both ends of each dimension are joined to its other ends.
Term wrapped_around(const Term& x, const IntVector& pad, IntSpan shape) {
  Term padded = x;
  const auto rank = static_cast<int64_t>(shape.size());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = rank - 1 - static_cast<int64_t>(i);
    const int64_t cut_before = std::max<int64_t>(0, -pad[2 * i]);
    const int64_t cut_after = std::max<int64_t>(0, -pad[2 * i + 1]);
    const int64_t left = shape[static_cast<size_t>(dim)] - cut_before - cut_after;
    const int64_t before = std::max<int64_t>(0, pad[2 * i]);
    const int64_t after = std::max<int64_t>(0, pad[2 * i + 1]);
    const Term middle = padded.then("aten::narrow", dim, cut_before, left);
    std::vector<GradValue> parts;
    if (before > 0) parts.push_back(middle.then("aten::narrow", dim, left - before, before));
    parts.push_back(middle);
    if (after > 0) parts.push_back(middle.then("aten::narrow", dim, 0, after));
    padded = parts.size() == 1 ? middle : call(x.context(), "aten::cat", std::move(parts), dim);
  }
  return padded;
}
void pad_circular(GradContext& c) {
  c.set_result(0, wrapped_around(arg(c, 0), c.ints_of(1), c.shape(0)));
}
Term padded_by(const Term& x, const IntVector& pad, bool reflects) {
  const size_t dims = pad.size() / 2;
  if (reflects) {
    if (dims == 1) return x.then("aten::reflection_pad1d", pad);
    return dims == 2 ? x.then("aten::reflection_pad2d", pad)
                     : x.then("aten::reflection_pad3d", pad);
  }
  if (dims == 1) return x.then("aten::replication_pad1d", pad);
  return dims == 2 ? x.then("aten::replication_pad2d", pad)
                   : x.then("aten::replication_pad3d", pad);
}
void pad_by_mode(GradContext& c) {
  const IntVector pad = c.ints_of(1);
  const bool named = c.row().schema().arguments[2].name == "mode" && c.value_of(2).is_str();
  static constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  const std::string_view mode =
      named ? c.string_of(2) : kModes[static_cast<size_t>(c.int_of(2)) % 4];
  const Term x = arg(c, 0);
  if (mode == "constant") {
    c.set_result(0, x.then("aten::constant_pad_nd", pad, c.float_of(3, 0.0)));
  } else if (mode == "circular") {
    c.set_result(0, wrapped_around(x, pad, c.shape(0)));
  } else {
    c.set_result(0, padded_by(x, pad, mode == "reflect"));
  }
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::upsample_nearest1d", &upsample_nearest1d<false>},
    {"aten::upsample_nearest1d.vec", &upsample_nearest1d<true>},
    {"aten::upsample_nearest2d", &upsample_nearest2d<false>},
    {"aten::upsample_nearest2d.vec", &upsample_nearest2d<true>},
    {"aten::upsample_nearest3d", &upsample_nearest3d<false>},
    {"aten::upsample_nearest3d.vec", &upsample_nearest3d<true>},
    {"aten::_upsample_nearest_exact1d", &_upsample_nearest_exact1d<false>},
    {"aten::_upsample_nearest_exact1d.vec", &_upsample_nearest_exact1d<true>},
    {"aten::_upsample_nearest_exact2d", &_upsample_nearest_exact2d<false>},
    {"aten::_upsample_nearest_exact2d.vec", &_upsample_nearest_exact2d<true>},
    {"aten::_upsample_nearest_exact3d", &_upsample_nearest_exact3d<false>},
    {"aten::_upsample_nearest_exact3d.vec", &_upsample_nearest_exact3d<true>},
    {"aten::upsample_linear1d", &linear1d<false>},
    {"aten::upsample_linear1d.vec", &linear1d<true>},
    {"aten::upsample_bilinear2d", &bilinear2d<false>},
    {"aten::upsample_bilinear2d.vec", &bilinear2d<true>},
    {"aten::upsample_bicubic2d", &bicubic2d<false>},
    {"aten::upsample_bicubic2d.vec", &bicubic2d<true>},
    {"aten::upsample_trilinear3d", &trilinear3d<false>},
    {"aten::upsample_trilinear3d.vec", &trilinear3d<true>},
    {"aten::_upsample_bilinear2d_aa", &bilinear2d_aa<false>},
    {"aten::_upsample_bilinear2d_aa.vec", &bilinear2d_aa<true>},
    {"aten::_upsample_bicubic2d_aa", &bicubic2d_aa<false>},
    {"aten::_upsample_bicubic2d_aa.vec", &bicubic2d_aa<true>},
    {"aten::_upsample_lanczos2d_aa", &lanczos2d_aa<false>},
    {"aten::_upsample_lanczos2d_aa.vec", &lanczos2d_aa<true>},
    {"aten::upsample_nearest1d_backward", &nearest1d_back},
    {"aten::upsample_nearest2d_backward", &nearest2d_back},
    {"aten::upsample_nearest3d_backward", &nearest3d_back},
    {"aten::_upsample_nearest_exact1d_backward", &exact1d_back},
    {"aten::_upsample_nearest_exact2d_backward", &exact2d_back},
    {"aten::_upsample_nearest_exact3d_backward", &exact3d_back},
    {"aten::upsample_linear1d_backward", &linear1d_back},
    {"aten::upsample_bilinear2d_backward", &bilinear2d_back},
    {"aten::upsample_bicubic2d_backward", &bicubic2d_back},
    {"aten::_upsample_bilinear2d_aa_backward", &bilinear2d_aa_back},
    {"aten::_upsample_bicubic2d_aa_backward", &bicubic2d_aa_back},
    {"aten::_upsample_lanczos2d_aa_backward", &lanczos2d_aa_back},
    {"aten::upsample_trilinear3d_backward", &trilinear3d_back},
    {"aten::affine_grid_generator", &affine_grid},
    {"aten::grid_sampler", &grid_sampler},
    {"aten::grid_sampler_2d", &grid_sampler_2d},
    {"aten::grid_sampler_3d", &grid_sampler_3d},
    {"aten::constant_pad_nd", &constant_pad},
    {"aten::reflection_pad1d", &reflection_pad1d},
    {"aten::reflection_pad2d", &reflection_pad2d},
    {"aten::reflection_pad3d", &reflection_pad3d},
    {"aten::replication_pad1d", &replication_pad1d},
    {"aten::replication_pad2d", &replication_pad2d},
    {"aten::replication_pad3d", &replication_pad3d},
    {"aten::reflection_pad1d_backward", &reflection_pad1d_back},
    {"aten::reflection_pad2d_backward", &reflection_pad2d_back},
    {"aten::reflection_pad3d_backward", &reflection_pad3d_back},
    {"aten::replication_pad1d_backward", &replication_pad1d_back},
    {"aten::replication_pad2d_backward", &replication_pad2d_back},
    {"aten::replication_pad3d_backward", &replication_pad3d_back},
    {"aten::_pad_circular", kDecomposed, &pad_circular},
    {"aten::pad", kDecomposed, &pad_by_mode},
    {"aten::_pad_enum", kDecomposed, &pad_by_mode},
};

}  // namespace

std::span<const DerivativeRow> resampling_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
