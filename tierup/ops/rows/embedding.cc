// Rows of embedding look-ups.
#include "tierup/kernels/indexing/embedding.h"

#include <array>

#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

using kernels::BagMode;
using kernels::BagResult;

template <bool kForwardOnly>
BagResult raw_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
                  int64_t mode, bool, const Tensor& per_sample_weights, bool include_last_offset,
                  int64_t padding_idx) {
  return kernels::embedding_bag(
      weight, indices, offsets, per_sample_weights,
      {static_cast<BagMode>(mode), include_last_offset, padding_idx, kForwardOnly});
}

// The public form: padding_idx counts from the end if negative, and None means none.
BagResult bag_with_padding(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
                           int64_t mode, bool, const Tensor& per_sample_weights,
                           bool include_last_offset, std::optional<int64_t> padding_idx) {
  int64_t padding = padding_idx.value_or(-1);
  if (padding_idx) {
    require(weight.dim() == 2 && padding >= -weight.size(0) && padding < weight.size(0),
            ErrorCode::kInvalidArgument,
            "padding_idx must be within the number of embeddings, {}, but got {}", weight.size(0),
            padding);
    if (padding < 0) padding += weight.size(0);
  }
  return kernels::embedding_bag(weight, indices, offsets, per_sample_weights,
                                {static_cast<BagMode>(mode), include_last_offset, padding, true});
}

BagResult bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
              int64_t mode, bool, const Tensor& per_sample_weights, bool include_last_offset) {
  return kernels::embedding_bag(weight, indices, offsets, per_sample_weights,
                                {static_cast<BagMode>(mode), include_last_offset, -1, true});
}

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     boxed<&kernels::embedding>, ir::kNoEffect, &shapes::embedding, facts(LookUpKind::kEmbedding)},
    {"aten::embedding.out(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::embedding>},
    {"aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
     "bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
     boxed<&bag>},
    {"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
     "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
     boxed<&bag_with_padding>},
    {"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
     "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     boxed<&raw_bag<false>>},
    {"aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
     "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     boxed<&raw_bag<true>>},
    {"aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> "
     "Tensor(a!)",
     inplace<&kernels::embedding_renorm>},
});

}  // namespace

std::span<const OpRow> embedding_rows() { return kRows; }

}  // namespace tierup::ops
