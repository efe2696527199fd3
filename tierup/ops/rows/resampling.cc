// Rows of resampling. A Spec names the interpolation and the number of spatial dimensions; the
// functions below bring the many signatures to the two of kernels/vision/upsample.h.
#include <array>

#include "tierup/kernels/vision/grid_sample.h"
#include "tierup/kernels/vision/upsample.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

using kernels::FilterKind;
using kernels::ResampleMode;
using kernels::ResampleOptions;
using Scale = std::optional<double>;

template <ResampleMode kMode, int64_t kSpatial>
struct ModeSpec {
  static constexpr int64_t kRank = kSpatial;
  static ResampleOptions options(bool align_corners) {
    return {kMode, std::nullopt, align_corners};
  }
};

template <FilterKind kFilter, int64_t kSpatial>
struct AntialiasSpec {
  static constexpr int64_t kRank = kSpatial;
  static ResampleOptions options(bool align_corners) {
    return {ResampleMode::kLinear, kFilter, align_corners};
  }
};

template <typename Spec>
Tensor sized(const Tensor& self, const IntVector& output_size, bool align_corners,
             const kernels::Scales& scales) {
  require(output_size.size() == static_cast<size_t>(Spec::kRank), ErrorCode::kInvalidArgument,
          "It is expected output_size equals to {}, but got size {}", Spec::kRank,
          output_size.size());
  return kernels::resample(self, output_size, scales, Spec::options(align_corners));
}

template <typename Spec>
Tensor sized1(const Tensor& self, const IntVector& output_size, Scale w) {
  return sized<Spec>(self, output_size, false, {w});
}
template <typename Spec>
Tensor sized2(const Tensor& self, const IntVector& output_size, Scale h, Scale w) {
  return sized<Spec>(self, output_size, false, {h, w});
}
template <typename Spec>
Tensor sized3(const Tensor& self, const IntVector& output_size, Scale d, Scale h, Scale w) {
  return sized<Spec>(self, output_size, false, {d, h, w});
}
template <typename Spec>
Tensor sized1_aligned(const Tensor& self, const IntVector& output_size, bool align_corners,
                      Scale w) {
  return sized<Spec>(self, output_size, align_corners, {w});
}
template <typename Spec>
Tensor sized2_aligned(const Tensor& self, const IntVector& output_size, bool align_corners, Scale h,
                      Scale w) {
  return sized<Spec>(self, output_size, align_corners, {h, w});
}
template <typename Spec>
Tensor sized3_aligned(const Tensor& self, const IntVector& output_size, bool align_corners, Scale d,
                      Scale h, Scale w) {
  return sized<Spec>(self, output_size, align_corners, {d, h, w});
}
template <typename Spec>
Tensor by_factors(const Tensor& input, std::optional<IntVector> output_size,
                  std::optional<std::vector<double>> factors) {
  return kernels::resample_by(input, output_size, factors, Spec::kRank, Spec::options(false));
}
template <typename Spec>
Tensor by_factors_aligned(const Tensor& input, std::optional<IntVector> output_size,
                          bool align_corners, std::optional<std::vector<double>> factors) {
  return kernels::resample_by(input, output_size, factors, Spec::kRank,
                              Spec::options(align_corners));
}

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     boxed<&sized1<ModeSpec<ResampleMode::kNearest, 1>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kNearestSized)},
    {"aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
     "Tensor",
     boxed<&by_factors<ModeSpec<ResampleMode::kNearest, 1>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kNearest)},
    {"aten::upsample_nearest1d.out(Tensor self, SymInt[1] output_size, float? scales=None, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized1<ModeSpec<ResampleMode::kNearest, 1>>>},
    {"aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> "
     "Tensor",
     boxed<&sized1<ModeSpec<ResampleMode::kNearestExact, 1>>>},
    {"aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors) -> Tensor",
     boxed<&by_factors<ModeSpec<ResampleMode::kNearestExact, 1>>>},
    {"aten::_upsample_nearest_exact1d.out(Tensor self, SymInt[1] output_size, float? scales=None, "
     "*, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized1<ModeSpec<ResampleMode::kNearestExact, 1>>>},
    {"aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     boxed<&sized2<ModeSpec<ResampleMode::kNearest, 2>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kNearestSized)},
    {"aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
     "Tensor",
     boxed<&by_factors<ModeSpec<ResampleMode::kNearest, 2>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kNearest)},
    {"aten::upsample_nearest2d.out(Tensor self, SymInt[2] output_size, float? scales_h=None, "
     "float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2<ModeSpec<ResampleMode::kNearest, 2>>>},
    {"aten::upsample_nearest2d.vec_out(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&by_factors<ModeSpec<ResampleMode::kNearest, 2>>>},
    {"aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
     "float? scales_w=None) -> Tensor",
     boxed<&sized2<ModeSpec<ResampleMode::kNearestExact, 2>>>},
    {"aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors) -> Tensor",
     boxed<&by_factors<ModeSpec<ResampleMode::kNearestExact, 2>>>},
    {"aten::_upsample_nearest_exact2d.out(Tensor self, SymInt[2] output_size, float? "
     "scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2<ModeSpec<ResampleMode::kNearestExact, 2>>>},
    {"aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized3<ModeSpec<ResampleMode::kNearest, 3>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kNearestSized)},
    {"aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
     "Tensor",
     boxed<&by_factors<ModeSpec<ResampleMode::kNearest, 3>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kNearest)},
    {"aten::upsample_nearest3d.out(Tensor self, SymInt[3] output_size, float? scales_d=None, "
     "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized3<ModeSpec<ResampleMode::kNearest, 3>>>},
    {"aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, "
     "float? scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized3<ModeSpec<ResampleMode::kNearestExact, 3>>>},
    {"aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors) -> Tensor",
     boxed<&by_factors<ModeSpec<ResampleMode::kNearestExact, 3>>>},
    {"aten::_upsample_nearest_exact3d.out(Tensor self, SymInt[3] output_size, float? "
     "scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized3<ModeSpec<ResampleMode::kNearestExact, 3>>>},
    {"aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? "
     "scales=None) -> Tensor",
     boxed<&sized1_aligned<ModeSpec<ResampleMode::kLinear, 1>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kLinearSized)},
    {"aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<ModeSpec<ResampleMode::kLinear, 1>>>, ir::kNoEffect,
     &shapes::resample, facts(OpKind::kLinearResample)},
    {"aten::upsample_linear1d.out(Tensor self, SymInt[1] output_size, bool align_corners, float? "
     "scales=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized1_aligned<ModeSpec<ResampleMode::kLinear, 1>>>},
    {"aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized2_aligned<ModeSpec<ResampleMode::kLinear, 2>>>, ir::kNoEffect, &shapes::resample,
     facts(OpKind::kLinearSized)},
    {"aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<ModeSpec<ResampleMode::kLinear, 2>>>, ir::kNoEffect,
     &shapes::resample, facts(OpKind::kLinearResample)},
    {"aten::upsample_bilinear2d.out(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2_aligned<ModeSpec<ResampleMode::kLinear, 2>>>},
    {"aten::upsample_bilinear2d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&by_factors_aligned<ModeSpec<ResampleMode::kLinear, 2>>>},
    {"aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
     "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized3_aligned<ModeSpec<ResampleMode::kLinear, 3>>>, ir::kNoEffect, &shapes::resample},
    {"aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<ModeSpec<ResampleMode::kLinear, 3>>>, ir::kNoEffect,
     &shapes::resample},
    {"aten::upsample_trilinear3d.out(Tensor self, SymInt[3] output_size, bool align_corners, "
     "float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&sized3_aligned<ModeSpec<ResampleMode::kLinear, 3>>>},
    {"aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized2_aligned<ModeSpec<ResampleMode::kCubic, 2>>>, ir::kNoEffect, &shapes::resample},
    {"aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<ModeSpec<ResampleMode::kCubic, 2>>>, ir::kNoEffect,
     &shapes::resample},
    {"aten::upsample_bicubic2d.out(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2_aligned<ModeSpec<ResampleMode::kCubic, 2>>>},
    {"aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized2_aligned<AntialiasSpec<FilterKind::kTriangle, 2>>>},
    {"aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<AntialiasSpec<FilterKind::kTriangle, 2>>>},
    {"aten::_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, "
     "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2_aligned<AntialiasSpec<FilterKind::kTriangle, 2>>>},
    {"aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized2_aligned<AntialiasSpec<FilterKind::kCubic, 2>>>},
    {"aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<AntialiasSpec<FilterKind::kCubic, 2>>>},
    {"aten::_upsample_bicubic2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, "
     "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2_aligned<AntialiasSpec<FilterKind::kCubic, 2>>>},
    {"aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&sized2_aligned<AntialiasSpec<FilterKind::kLanczos3, 2>>>},
    {"aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     boxed<&by_factors_aligned<AntialiasSpec<FilterKind::kLanczos3, 2>>>},
    {"aten::_upsample_lanczos2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, "
     "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sized2_aligned<AntialiasSpec<FilterKind::kLanczos3, 2>>>},
    {"aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
     "align_corners) -> Tensor",
     boxed<&kernels::grid_sampler>},
    {"aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor",
     boxed<&kernels::grid_sampler>},
    {"aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
     "bool align_corners) -> Tensor",
     boxed<&kernels::grid_sampler>},
    {"aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
     boxed<&kernels::affine_grid>},
    {"aten::affine_grid_generator.out(Tensor theta, SymInt[] size, bool align_corners, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::affine_grid>},
});

}  // namespace

std::span<const OpRow> resampling_rows() { return kRows; }

}  // namespace tierup::ops
