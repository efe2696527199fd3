// Products: aten::prod.
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/dense_folds.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/reduce/sum_reducer.h"

namespace tierup::kernels {
namespace {

template <typename T>
using Factor = std::conditional_t<std::is_integral_v<T>, int64_t, SumType<T>>;

template <typename T>
struct ProductReducer {
  using In = T;
  using Acc = SumType<T>;
  using Out = SumResult<T>;
  static constexpr bool kTiles = true;

  Acc identity() const { return Acc(1); }
  void fold(Acc& into, In value) const { into *= static_cast<Acc>(value); }
  Acc block(const In* p, int64_t count, int64_t stride) const {
    if constexpr (kFoldsDense<T>) {
      if (stride == 1 && count >= 64) return fold_dense(dense_folds<T>().product, p, count);
    }
    return fold_lanes(
        p, count, stride, identity(), [this](Acc& a, In v) { fold(a, v); },
        [](Acc a, Acc b) { return a * b; });
  }
  // A tile of neighbouring outputs, some rows at once.
  void fold_rows(const In* rows, int64_t count, int64_t stride, int64_t width, Acc* tile) const
      requires(kFoldsDense<T>) {
    fold_dense_rows(dense_folds<T>().multiply_rows, rows, count, stride, width, tile);
  }
  Acc merge(Acc a, Acc b) const { return a * b; }
  Out finish(Acc acc) const { return static_cast<Out>(acc); }
};

}  // namespace

Tensor prod(const Tensor& self, const ReduceDims& dims, bool keepdim,
            std::optional<ScalarType> dtype) {
  const Tensor input = dtype ? to_dtype(self, *dtype) : self;
  const Tensor result = dispatch_all(input.dtype(), "prod", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Factor<T>;  // Products exist for the types that they are taken in.
    const Tensor product =
        reduce_tensor(ProductReducer<W>{}, to_dtype(input, kDTypeOf<W>), dims, keepdim);
    return to_dtype(product, kDTypeOf<SumResult<T>>);
  });
  return dtype ? to_dtype(result, *dtype) : result;
}

}  // namespace tierup::kernels
