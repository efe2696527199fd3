// Truth over dimensions: any and all.
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/reduce/nonzero.h"
#include "tierup/kernels/reduce/reduce.h"
#include "tierup/kernels/reduce/reduce_extremum.h"

namespace tierup::kernels {
namespace {

template <typename T, bool kAll>
struct TruthReducer {
  using In = T;
  using Acc = uint8_t;
  using Out = bool;
  static constexpr bool kTiles = true;
  Nonzero<T> is_true;

  Acc identity() const { return kAll ? 1 : 0; }
  Acc merge(Acc a, Acc b) const { return static_cast<Acc>(kAll ? a & b : a | b); }
  void fold(Acc& into, In value) const { into = merge(into, is_true(value) ? 1 : 0); }
  // One answer settles the block, so it is looked at in short stretches.
  Acc block(const In* p, int64_t count, int64_t stride) const {
    constexpr int64_t kStretch = 128;
    for (int64_t start = 0; start < count; start += kStretch) {
      const int64_t end = std::min(count, start + kStretch);
      Acc acc = identity();
      for (int64_t i = start; i < end; ++i) fold(acc, p[i * stride]);
      if (acc != identity()) return acc;
    }
    return identity();
  }
  Out finish(Acc acc) const { return acc != 0; }
};

Tensor as_truth(const Tensor& self) {
  Tensor out = Tensor::empty(self.sizes(), ScalarType::kBool);
  dispatch_nonzero(self, "any", [&](auto is_true, const Tensor& words) {
    map_elements<bool, typename decltype(is_true)::Word>(out, is_true, words);
  });
  return out;
}

template <bool kAll>
Tensor truth(const Tensor& self, const ReduceDims& dims, bool keepdim) {
  Tensor result;
  if (dims && dims->empty()) {
    result = as_truth(self);
  } else {
    result = dispatch_nonzero(self, kAll ? "all" : "any", [&](auto is_true, const Tensor& words) {
      using Word = typename decltype(is_true)::Word;
      return reduce_tensor(TruthReducer<Word, kAll>{is_true}, words, dims, keepdim);
    });
  }
  return self.dtype() == ScalarType::kByte ? to_dtype(result, ScalarType::kByte) : result;
}

}  // namespace

Tensor any(const Tensor& self) { return truth<false>(self, std::nullopt, false); }
Tensor all(const Tensor& self) { return truth<true>(self, std::nullopt, false); }
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return truth<false>(self, IntVector{dim}, keepdim);
}
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return truth<true>(self, IntVector{dim}, keepdim);
}
Tensor any_dims(const Tensor& self, const ReduceDims& dims, bool keepdim) {
  return truth<false>(self, dims, keepdim);
}
Tensor all_dims(const Tensor& self, const ReduceDims& dims, bool keepdim) {
  return truth<true>(self, dims, keepdim);
}

}  // namespace tierup::kernels
