// Gradients of look-ups: the operators that their backward passes call.
#include "tierup/kernels/indexing/embedding_backward.h"

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// `sparse` gives a dense gradient.
Tensor bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                    const Tensor& offset2bag, const Tensor& bag_size, const Tensor& maximum_indices,
                    int64_t num_weights, bool scale_grad_by_freq, int64_t mode, bool /*sparse*/,
                    const Tensor& per_sample_weights, int64_t padding_idx) {
  return k::embedding_bag_backward(grad, {indices, offsets, offset2bag, bag_size, maximum_indices},
                                   num_weights, scale_grad_by_freq, static_cast<k::BagMode>(mode),
                                   per_sample_weights, padding_idx);
}

Tensor bag_dense_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                          const Tensor& bag_size, const Tensor& maximum_indices,
                          int64_t num_weights, bool scale_grad_by_freq, int64_t mode,
                          const Tensor& per_sample_weights, int64_t padding_idx) {
  return k::embedding_bag_backward(
      grad, {indices, offset2bag, offset2bag, bag_size, maximum_indices}, num_weights,
      scale_grad_by_freq, static_cast<k::BagMode>(mode), per_sample_weights, padding_idx);
}

Tensor factors_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                        const Tensor& offsets, const Tensor& offset2bag, int64_t mode,
                        int64_t padding_idx) {
  require(mode == 0, ErrorCode::kInvalidArgument,
          "embedding_bag: per_sample_weights only supported with mode='sum'");
  return k::embedding_bag_factors_backward(grad, weight, {indices, offsets, offset2bag, {}, {}},
                                           padding_idx);
}

constexpr OpRow kRows[] = {
    {"aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
     "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
     boxed<&k::embedding_dense_backward>},
    {"aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor "
     "offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool "
     "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) "
     "-> Tensor",
     boxed<&bag_backward>},
    {"aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor "
     "bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, "
     "Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
     boxed<&bag_dense_backward>},
    {"aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor "
     "indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
     boxed<&factors_backward>},
};

}  // namespace

std::span<const OpRow> embedding_backward_rows() { return kRows; }

}  // namespace tierup::ops
