// Embedding look-ups. Indices are int64 or int32; one outside of the table throws kOutOfRange
// ("index out of range in self").
#pragma once

#include <optional>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::embedding: rows of weight [V, D] (any dtype) for indices [*], to [*, D]. The other
// arguments matter to gradients only.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx,
                 bool scale_grad_by_freq, bool sparse);

enum class BagMode : int64_t { kSum = 0, kMean = 1, kMax = 2 };
struct BagOptions {
  BagMode mode = BagMode::kSum;
  bool include_last_offset = false;
  int64_t padding_idx = -1;  // Rows of this index do not count; negative: none.
  bool forward_only = false;
};
// Output [bags, D], the bag of each index, sizes of the bags, and the index each maximum came from.
using BagResult = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// aten::_embedding_bag: rows of weight [V, D] summed, averaged or maximised over bags, which start
// at `offsets` in the vector of indices. `per_sample_weights` (sum only) may be undefined. The
// extra results have the shapes and contents PyTorch gives them in each mode.
BagResult embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                        const Tensor& per_sample_weights, const BagOptions& options);

// aten::embedding_renorm_: scales rows that are named in indices and whose norm exceeds max_norm.
Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm,
                        double norm_type);

}  // namespace tierup::kernels
