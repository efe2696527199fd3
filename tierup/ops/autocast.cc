#include "tierup/ops/autocast.h"

#include <algorithm>
#include <span>

namespace tierup::ops {
namespace {

// Each list in alphabetical order.
constexpr std::string_view kReduced[] = {
    "aten::_addmm_activation",
    "aten::_convolution.deprecated",
    "aten::_native_multi_head_attention",
    "aten::addbmm",
    "aten::addmm",
    "aten::baddbmm",
    "aten::bmm",
    "aten::conv1d",
    "aten::conv1d.padding",
    "aten::conv2d",
    "aten::conv2d.padding",
    "aten::conv3d",
    "aten::conv3d.padding",
    "aten::conv_tbc",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d.input",
    "aten::conv_transpose3d.input",
    "aten::einsum",
    "aten::inner",
    "aten::linalg_vecdot",
    "aten::linear",
    "aten::matmul",
    "aten::mkldnn_rnn_layer",
    "aten::mm",
    "aten::prelu",
    "aten::scaled_dot_product_attention",
    "aten::tensordot",
};

constexpr std::string_view kFull[] = {
    "aten::_grid_sampler_2d_cpu_fallback",
    "aten::_lu_with_info",
    "aten::adaptive_avg_pool3d",
    "aten::adaptive_max_pool3d",
    "aten::avg_pool3d",
    "aten::binary_cross_entropy",
    "aten::binary_cross_entropy_with_logits",
    "aten::cdist",
    "aten::cholesky_inverse",
    "aten::cholesky_solve",
    "aten::cosine_embedding_loss",
    "aten::cross_entropy_loss",
    "aten::ctc_loss.IntList",
    "aten::ctc_loss.Tensor",
    "aten::fake_quantize_per_tensor_affine",
    "aten::fft_fft",
    "aten::fft_fft2",
    "aten::fft_fftn",
    "aten::fft_hfft",
    "aten::fft_ifft",
    "aten::fft_ifft2",
    "aten::fft_ifftn",
    "aten::fft_ihfft",
    "aten::fft_irfft",
    "aten::fft_irfft2",
    "aten::fft_irfftn",
    "aten::fft_rfft",
    "aten::fft_rfft2",
    "aten::fft_rfftn",
    "aten::fractional_max_pool2d",
    "aten::fractional_max_pool3d",
    "aten::geqrf",
    "aten::grid_sampler",
    "aten::grid_sampler_2d",
    "aten::grid_sampler_3d",
    "aten::hinge_embedding_loss",
    "aten::huber_loss",
    "aten::inverse",
    "aten::kl_div",
    "aten::l1_loss",
    "aten::linalg_cholesky",
    "aten::linalg_cholesky_ex",
    "aten::linalg_cond",
    "aten::linalg_cond.p_str",
    "aten::linalg_eig",
    "aten::linalg_eigh",
    "aten::linalg_eigvals",
    "aten::linalg_eigvalsh",
    "aten::linalg_householder_product",
    "aten::linalg_inv",
    "aten::linalg_inv_ex",
    "aten::linalg_lstsq",
    "aten::linalg_matrix_rank",
    "aten::linalg_matrix_rank.atol_rtol_float",
    "aten::linalg_matrix_rank.atol_rtol_tensor",
    "aten::linalg_matrix_rank.tol_tensor",
    "aten::linalg_matrix_sqrth",
    "aten::linalg_qr",
    "aten::linalg_solve",
    "aten::linalg_svd",
    "aten::linalg_svdvals",
    "aten::linalg_tensorinv",
    "aten::linalg_tensorsolve",
    "aten::lu_solve",
    "aten::margin_ranking_loss",
    "aten::max_pool3d",
    "aten::max_unpool2d",
    "aten::max_unpool3d",
    "aten::mse_loss",
    "aten::multi_margin_loss",
    "aten::multilabel_margin_loss",
    "aten::multilabel_margin_loss_forward",
    "aten::nanquantile",
    "aten::nanquantile.scalar",
    "aten::nll_loss",
    "aten::nll_loss2d",
    "aten::orgqr",
    "aten::ormqr",
    "aten::pinverse",
    "aten::poisson_nll_loss",
    "aten::polar",
    "aten::prod",
    "aten::prod.dim_int",
    "aten::quantile",
    "aten::quantile.scalar",
    "aten::reflection_pad1d",
    "aten::reflection_pad2d",
    "aten::replication_pad1d",
    "aten::replication_pad2d",
    "aten::replication_pad3d",
    "aten::smooth_l1_loss",
    "aten::soft_margin_loss",
    "aten::stft",
    "aten::stft.center",
    "aten::svd",
    "aten::trace",
    "aten::triangular_solve",
    "aten::triplet_margin_loss",
    "aten::view_as_complex",
};

constexpr std::string_view kWidest[] = {"aten::cat", "aten::index_copy", "aten::stack"};

constexpr std::string_view kUnsupported[] = {
    "aten::bilinear",       "aten::gru.data",      "aten::gru.input",     "aten::gru_cell",
    "aten::lstm.data",      "aten::lstm.input",    "aten::lstm_cell",     "aten::rnn_relu.data",
    "aten::rnn_relu.input", "aten::rnn_relu_cell", "aten::rnn_tanh.data", "aten::rnn_tanh.input",
    "aten::rnn_tanh_cell",
};

bool contains(std::span<const std::string_view> list, std::string_view name) {
  return std::binary_search(list.begin(), list.end(), name);
}

}  // namespace

CastPolicy autocast_policy(std::string_view qualified_name) {
  if (contains(kReduced, qualified_name)) return CastPolicy::kReduced;
  if (contains(kFull, qualified_name)) return CastPolicy::kFull;
  if (contains(kWidest, qualified_name)) return CastPolicy::kWidest;
  if (qualified_name == "aten::pad") return CastPolicy::kPadding;
  if (contains(kUnsupported, qualified_name)) return CastPolicy::kUnsupported;
  return CastPolicy::kNone;
}

}  // namespace tierup::ops
