// Dense runs of f32 and f16 numbers, at most a block of them, folded by float_folds().
#pragma once

#include <array>
#include <type_traits>

#include "tierup/kernels/memory/vector_casts.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/reduce.h"

namespace tierup::kernels {

// Of bf16 the compiler makes vectors by itself.
template <typename T>
inline constexpr bool kFoldsDense = std::is_same_v<T, float> || std::is_same_v<T, Half>;

using DenseFold = float (*)(const float* x, int64_t n);

inline float fold_dense(DenseFold fold, const float* x, int64_t n) { return fold(x, n); }
inline float fold_dense(DenseFold fold, const Half* x, int64_t n) {
  std::array<float, reduce_detail::kBlock> wide;
  dense_cast(ScalarType::kFloat, ScalarType::kHalf, instruction_set())(
      reinterpret_cast<char*>(wide.data()), reinterpret_cast<const char*>(x), n);
  return fold(wide.data(), n);
}

}  // namespace tierup::kernels
