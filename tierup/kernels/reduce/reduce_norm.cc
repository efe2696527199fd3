// Vector norms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/reduce.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Norms of narrow floats are taken in float.
template <typename T>
using NormType =
    std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, complex128>, double, float>;
template <typename T>
using NormResult = std::conditional_t<kIsComplex<T>, NormType<T>, T>;

enum class Norm : uint8_t { kMax, kMin, kCount, kSum, kEuclidean, kPower };

template <typename T, Norm kKind>
struct NormReducer {
  using In = T;
  using Acc = NormType<T>;
  using Out = NormResult<T>;
  static constexpr bool kTiles = true;
  double order = 2;

  Acc identity() const {
    return kKind == Norm::kMin ? std::numeric_limits<Acc>::infinity() : Acc(0);
  }
  Acc magnitude(In value) const {
    if constexpr (kIsComplex<T>)
      return std::abs(value);
    else
      return std::abs(static_cast<Acc>(value));
  }
  void fold(Acc& into, In value) const {
    if constexpr (kKind == Norm::kEuclidean) {
      if constexpr (kIsComplex<T>)
        into += value.real() * value.real() + value.imag() * value.imag();
      else
        into += static_cast<Acc>(value) * static_cast<Acc>(value);
      return;
    }
    const Acc x = magnitude(value);
    if constexpr (kKind == Norm::kMax || kKind == Norm::kMin)
      into = merge(into, x);
    else if constexpr (kKind == Norm::kCount)
      into += x != 0 ? Acc(1) : Acc(0);
    else if constexpr (kKind == Norm::kSum)
      into += x;
    else
      into += std::pow(x, static_cast<Acc>(order));
  }
  Acc merge(Acc a, Acc b) const {
    if constexpr (kKind == Norm::kMax)
      return a > b || a != a ? a : b;
    else if constexpr (kKind == Norm::kMin)
      return a < b || a != a ? a : b;
    else
      return a + b;
  }
  static constexpr bool kVectorised =
      std::is_same_v<T, float> && (kKind == Norm::kEuclidean || kKind == Norm::kSum);
  Acc block(const In* p, int64_t count, int64_t stride) const {
    if constexpr (kVectorised) {
      const FloatFolds& folds = float_folds();
      if (stride == 1 && count >= 64)
        return (kKind == Norm::kEuclidean ? folds.squares : folds.magnitudes)(p, count);
    }
    return fold_lanes(
        p, count, stride, identity(), [this](Acc& a, In v) { fold(a, v); },
        [this](Acc a, Acc b) { return merge(a, b); });
  }
  // A tile of neighbouring outputs, some rows at once.
  void fold_rows(const float* rows, int64_t count, int64_t stride, int64_t width, float* tile) const
      requires(kVectorised) {
    const FloatFolds& folds = float_folds();
    (kKind == Norm::kEuclidean ? folds.add_square_rows : folds.add_magnitude_rows)(
        rows, count, stride, width, tile);
  }
  Out finish(Acc acc) const {
    if constexpr (kKind == Norm::kEuclidean)
      return static_cast<Out>(std::sqrt(acc));
    else if constexpr (kKind == Norm::kPower)
      return static_cast<Out>(std::pow(acc, static_cast<Acc>(1 / order)));
    else
      return static_cast<Out>(acc);
  }
};

template <typename T, Norm kKind>
Tensor norm_of_kind(const Tensor& self, double order, const ReduceDims& dims, bool keepdim) {
  constexpr bool kWide = std::is_same_v<T, NormType<T>>;
  constexpr bool kOften = kKind == Norm::kEuclidean || kKind == Norm::kSum;
  if constexpr (kWide || kOften) {
    return reduce_tensor(NormReducer<T, kKind>{order}, self, dims, keepdim);
  } else {
    // The rarer ones exist for the types that they are taken in.
    const Tensor wide =
        kIsComplex<T> ? pointwise({Body::kAbs}, {self}) : to_dtype(self, kDTypeOf<NormType<T>>);
    return to_dtype(norm_of_kind<NormType<T>, kKind>(wide, order, dims, keepdim),
                    kDTypeOf<NormResult<T>>);
  }
}

template <typename T>
Tensor norm_of(const Tensor& self, double order, const ReduceDims& dims, bool keepdim) {
  if (std::isinf(order)) {
    return order > 0 ? norm_of_kind<T, Norm::kMax>(self, order, dims, keepdim)
                     : norm_of_kind<T, Norm::kMin>(self, order, dims, keepdim);
  }
  if (order == 0) return norm_of_kind<T, Norm::kCount>(self, order, dims, keepdim);
  if (order == 1) return norm_of_kind<T, Norm::kSum>(self, order, dims, keepdim);
  if (order == 2) return norm_of_kind<T, Norm::kEuclidean>(self, order, dims, keepdim);
  return norm_of_kind<T, Norm::kPower>(self, order, dims, keepdim);
}

void check_identity(const Tensor& self, double order, const ReduceDims& dims) {
  if (self.numel() != 0 || (order >= 0 && !std::isinf(order))) return;
  const uint64_t mask = reduce_mask(dims, self.dim());
  bool empty = !dims || dims->empty();
  for (int64_t d = 0; d < self.dim(); ++d) {
    empty = empty || (((mask >> d) & 1U) != 0 && self.sizes()[d] == 0);
  }
  require(!empty, ErrorCode::kInvalidArgument,
          "linalg.vector_norm cannot compute the {} norm on an empty tensor because the operation "
          "does not have an identity",
          order);
}

// Whether a norm over these dimensions is of single elements: then no power of them is taken, which
// could overflow.
bool reduces_nothing(const Tensor& self, const ReduceDims& dims) {
  const uint64_t mask = reduce_mask(dims, self.dim());
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (((mask >> d) & 1U) != 0 && self.sizes()[d] != 1) return false;
  }
  return true;
}

}  // namespace

Tensor vector_norm(const Tensor& self, const Scalar& ord, const ReduceDims& dims, bool keepdim,
                   std::optional<ScalarType> dtype) {
  require(is_floating(self.dtype()) || is_complex(self.dtype()), ErrorCode::kTypeError,
          "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
          scalar_type_name(self.dtype()));
  require(!ord.is_complex(), ErrorCode::kTypeError,
          "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  require(!dtype || is_complex(*dtype) == is_complex(self.dtype()), ErrorCode::kTypeError,
          "linalg.vector_norm: dtype {} does not suit input of {}",
          scalar_type_name(dtype.value_or(self.dtype())), scalar_type_name(self.dtype()));
  const double order = ord.to_double();
  check_identity(self, order, dims);
  const Tensor input = dtype ? to_dtype(self, *dtype) : self;
  if (order != 0 && reduces_nothing(self, dims)) {
    const Tensor magnitude = pointwise({Body::kAbs}, {input});
    if (keepdim) return magnitude;
    return dims && !dims->empty() ? squeeze_dims(magnitude, *dims) : squeeze(magnitude);
  }
  const auto run = [&](auto tag) {
    return norm_of<typename decltype(tag)::type>(input, order, dims, keepdim);
  };
  if (is_complex(input.dtype())) return dispatch_complex(input.dtype(), "linalg_vector_norm", run);
  return dispatch_floating(input.dtype(), "linalg_vector_norm", run);
}

}  // namespace tierup::kernels
