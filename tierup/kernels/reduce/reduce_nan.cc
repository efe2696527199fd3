// Sums that pass over NaN, and counts: nansum, nanmean, count_nonzero.
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/nonzero.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/reduce/sum_reducer.h"

namespace tierup::kernels {
namespace {

template <typename T>
struct NonzeroCounter {
  using In = T;
  using Acc = int64_t;
  using Out = int64_t;
  static constexpr bool kTiles = true;
  Nonzero<T> is_nonzero;

  Acc identity() const { return 0; }
  void fold(Acc& into, In value) const { into += is_nonzero(value) ? 1 : 0; }
  Acc block(const In* p, int64_t count, int64_t stride) const {
    return fold_lanes(
        p, count, stride, identity(), [this](Acc& a, In v) { fold(a, v); },
        [](Acc a, Acc b) { return a + b; });
  }
  Acc merge(Acc a, Acc b) const { return a + b; }
  Out finish(Acc acc) const { return acc; }
};

}  // namespace

Tensor nansum(const Tensor& self, const ReduceDims& dims, bool keepdim,
              std::optional<ScalarType> dtype) {
  require(!is_complex(self.dtype()), ErrorCode::kTypeError,
          "nansum does not support complex inputs");
  const Tensor input = dtype ? to_dtype(self, *dtype) : self;
  if (!is_floating(input.dtype())) return sum(input, dims, keepdim, dtype);
  return dispatch_floating(input.dtype(), "nansum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return reduce_tensor(SumReducer<T, true>{}, input, dims, keepdim);
  });
}

Tensor nanmean(const Tensor& self, const ReduceDims& dims, bool keepdim,
               std::optional<ScalarType> dtype) {
  require(is_floating(self.dtype()), ErrorCode::kTypeError,
          "nanmean(): expected input to have floating point dtype but got {}",
          scalar_type_name(self.dtype()));
  const Tensor input = dtype ? to_dtype(self, *dtype) : self;
  Tensor total = nansum(input, dims, keepdim, std::nullopt);
  Tensor valid = Tensor::empty(input.sizes(), ScalarType::kBool);
  const Tensor source = contiguous(input);
  dispatch_floating(input.dtype(), "nanmean", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = source.data<T>();
    bool* ok = valid.data<bool>();
    for (int64_t i = 0; i < source.numel(); ++i) ok[i] = !std::isnan(static_cast<double>(p[i]));
  });
  const Tensor counts = count_nonzero(valid, dims, keepdim);
  const int64_t* n = counts.data<int64_t>();
  dispatch_floating(input.dtype(), "nanmean", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = total.data<T>();
    for (int64_t i = 0; i < total.numel(); ++i) {
      p[i] = static_cast<T>(static_cast<SumType<T>>(p[i]) / static_cast<SumType<T>>(n[i]));
    }
  });
  return total;
}

Tensor count_nonzero(const Tensor& self, const ReduceDims& dims, bool keepdim) {
  return dispatch_nonzero(self, "count_nonzero", [&](auto is_nonzero, const Tensor& words) {
    using Word = typename decltype(is_nonzero)::Word;
    return reduce_tensor(NonzeroCounter<Word>{is_nonzero}, words, dims, keepdim);
  });
}

}  // namespace tierup::kernels
