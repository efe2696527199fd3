// The policies as PyTorch documents them for the CPU, sorted by name.
#include "tierup/ops/autocast.h"

#include <algorithm>
#include <array>

namespace tierup::ops {
namespace {

constexpr auto kReduced = std::to_array<std::string_view>({
    "aten::_convolution",
    "aten::_native_multi_head_attention",
    "aten::addbmm",
    "aten::addmm",
    "aten::baddbmm",
    "aten::bmm",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_tbc",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::linalg_vecdot",
    "aten::linear",
    "aten::matmul",
    "aten::mm",
    "aten::prelu",
    "aten::scaled_dot_product_attention",
});
static_assert(std::is_sorted(kReduced.begin(), kReduced.end()));

constexpr auto kFull = std::to_array<std::string_view>({
    "aten::adaptive_avg_pool3d",
    "aten::avg_pool3d",
    "aten::binary_cross_entropy",
    "aten::binary_cross_entropy_with_logits",
    "aten::cdist",
    "aten::cholesky",
    "aten::cholesky_inverse",
    "aten::cholesky_solve",
    "aten::cosine_embedding_loss",
    "aten::cross_entropy_loss",
    "aten::ctc_loss",
    "aten::grid_sampler",
    "aten::grid_sampler_2d",
    "aten::grid_sampler_3d",
    "aten::hinge_embedding_loss",
    "aten::huber_loss",
    "aten::inverse",
    "aten::kl_div",
    "aten::l1_loss",
    "aten::lu_solve",
    "aten::margin_ranking_loss",
    "aten::max_pool3d",
    "aten::max_unpool2d",
    "aten::max_unpool3d",
    "aten::mse_loss",
    "aten::multi_margin_loss",
    "aten::multilabel_margin_loss",
    "aten::nanquantile",
    "aten::nll_loss",
    "aten::nll_loss2d",
    "aten::orgqr",
    "aten::ormqr",
    "aten::pinverse",
    "aten::poisson_nll_loss",
    "aten::polar",
    "aten::prod",
    "aten::quantile",
    "aten::reflection_pad1d",
    "aten::reflection_pad2d",
    "aten::replication_pad1d",
    "aten::replication_pad2d",
    "aten::replication_pad3d",
    "aten::smooth_l1_loss",
    "aten::soft_margin_loss",
    "aten::stft",
    "aten::trace",
    "aten::triplet_margin_loss",
    "aten::view_as_complex",
});
static_assert(std::is_sorted(kFull.begin(), kFull.end()));

}  // namespace

AutocastPolicy autocast_policy(std::string_view name) {
  if (std::binary_search(kReduced.begin(), kReduced.end(), name)) return AutocastPolicy::kReduced;
  const bool full = std::binary_search(kFull.begin(), kFull.end(), name) ||
                    name.starts_with("aten::fft_") || name.starts_with("aten::linalg_");
  return full ? AutocastPolicy::kFull : AutocastPolicy::kNone;
}

}  // namespace tierup::ops
