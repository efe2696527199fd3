// Gradients of resampling and of padding: the operators that their backward passes call.
#include "tierup/kernels/vision/grid_sample_backward.h"
#include "tierup/kernels/vision/resample_backward.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

using k::FilterKind;
using k::ResampleMode;
using Scale = std::optional<double>;

constexpr k::ResampleOptions plain(ResampleMode mode, bool align_corners) {
  return {mode, std::nullopt, align_corners};
}

template <ResampleMode kMode>
Tensor backward1(const Tensor& grad, const IntVector& out, const IntVector& in, Scale w) {
  return k::resample_backward(grad, out, in, {w}, plain(kMode, false));
}
template <ResampleMode kMode>
Tensor backward2(const Tensor& grad, const IntVector& out, const IntVector& in, Scale h, Scale w) {
  return k::resample_backward(grad, out, in, {h, w}, plain(kMode, false));
}
template <ResampleMode kMode>
Tensor backward3(const Tensor& grad, const IntVector& out, const IntVector& in, Scale d, Scale h,
                 Scale w) {
  return k::resample_backward(grad, out, in, {d, h, w}, plain(kMode, false));
}
Tensor linear1(const Tensor& grad, const IntVector& out, const IntVector& in, bool align_corners,
               Scale w) {
  return k::resample_backward(grad, out, in, {w}, plain(ResampleMode::kLinear, align_corners));
}
template <ResampleMode kMode>
Tensor aligned2(const Tensor& grad, const IntVector& out, const IntVector& in, bool align_corners,
                Scale h, Scale w) {
  return k::resample_backward(grad, out, in, {h, w}, plain(kMode, align_corners));
}
Tensor linear3(const Tensor& grad, const IntVector& out, const IntVector& in, bool align_corners,
               Scale d, Scale h, Scale w) {
  return k::resample_backward(grad, out, in, {d, h, w},
                              plain(ResampleMode::kLinear, align_corners));
}
template <FilterKind kFilter>
Tensor antialias2(const Tensor& grad, const IntVector& out, const IntVector& in, bool align_corners,
                  Scale h, Scale w) {
  return k::resample_backward(grad, out, in, {h, w},
                              {ResampleMode::kLinear, kFilter, align_corners});
}

template <k::PadBorder kBorder>
Tensor pad_backward(const Tensor& grad, const Tensor& self, const IntVector& padding) {
  return k::border_pad_backward(grad, self, padding, kBorder);
}

#define TIERUP_PAD_BACKWARD(name, rank, pads, border)                                    \
  {                                                                                      \
    "aten::" name "_pad" rank "d_backward(Tensor grad_output, Tensor self, SymInt[" pads \
    "] padding) -> Tensor",                                                              \
        boxed<&pad_backward<k::PadBorder::border>>                                       \
  }
#define TIERUP_NEAREST_BACKWARD(name, mode)                                                    \
  {"aten::" name                                                                               \
   "1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, "             \
   "float? scales=None) -> Tensor",                                                            \
   boxed<&backward1<ResampleMode::mode>>},                                                     \
      {"aten::" name                                                                           \
       "2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "                     \
       "input_size, float? scales_h=None, float? scales_w=None) -> Tensor",                    \
       boxed<&backward2<ResampleMode::mode>>},                                                 \
  {                                                                                            \
    "aten::" name                                                                              \
    "3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "                        \
    "input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", \
        boxed<&backward3<ResampleMode::mode>>                                                  \
  }
#define TIERUP_ALIGNED_BACKWARD(name, kernel)                                                \
  {                                                                                          \
    "aten::" name                                                                            \
    "2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "                      \
    "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", \
        boxed<&kernel>                                                                       \
  }

constexpr OpRow kRows[] = {
    TIERUP_NEAREST_BACKWARD("upsample_nearest", kNearest),
    TIERUP_NEAREST_BACKWARD("_upsample_nearest_exact", kNearestExact),
    {"aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] "
     "input_size, bool align_corners, float? scales=None) -> Tensor",
     boxed<&linear1>},
    TIERUP_ALIGNED_BACKWARD("upsample_bilinear", aligned2<ResampleMode::kLinear>),
    TIERUP_ALIGNED_BACKWARD("upsample_bicubic", aligned2<ResampleMode::kCubic>),
    {"aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&antialias2<FilterKind::kTriangle>>},
    {"aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&antialias2<FilterKind::kCubic>>},
    {"aten::_upsample_lanczos2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
     "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     boxed<&antialias2<FilterKind::kLanczos3>>},
    {"aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "
     "input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     boxed<&linear3>},
    TIERUP_PAD_BACKWARD("reflection", "1", "2", kReflect),
    TIERUP_PAD_BACKWARD("reflection", "2", "4", kReflect),
    TIERUP_PAD_BACKWARD("reflection", "3", "6", kReflect),
    TIERUP_PAD_BACKWARD("replication", "1", "2", kReplicate),
    TIERUP_PAD_BACKWARD("replication", "2", "4", kReplicate),
    TIERUP_PAD_BACKWARD("replication", "3", "6", kReplicate),
    {"aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int "
     "interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, "
     "Tensor)",
     boxed<&k::grid_sampler_backward>},
    {"aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int "
     "interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, "
     "Tensor)",
     boxed<&k::grid_sampler_backward>},
};

}  // namespace

std::span<const OpRow> resampling_backward_rows() { return kRows; }

}  // namespace tierup::ops
