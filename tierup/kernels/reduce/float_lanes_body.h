// Numbers in as many vectors as registers make of them, for float_folds_body.h and
// float_places_body.h. Everything here has internal linkage, so that no variant is merged with
// another.
//
// Lanes are 32 on every processor, in as many vectors as that takes: the order of sums is the same,
// and no vector is wider than a register, which the compiler would take apart number by number.
#pragma once

#include <cstring>

#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kFoldLanes = 32;

// kCount numbers, in vectors of registers.
template <int kCount>
struct Floats {
  static constexpr int kWidth = kCount < kVectorFloats ? kCount : kVectorFloats;
  static constexpr int kParts = kCount / kWidth;
  // An alias would lose the attribute here, whose size depends on a parameter.
  typedef float Part __attribute__((vector_size(kWidth * sizeof(float))));
  static_assert(sizeof(Part) == kWidth * sizeof(float));
  Part part[kParts];

  static TIERUP_INLINED Floats load(const float* p) {
    Floats result;
    for_each<kParts>(
        [&](auto i) TIERUP_INLINED { std::memcpy(&result.part[i], p + i * kWidth, sizeof(Part)); });
    return result;
  }
  static TIERUP_INLINED Floats all(float value) {
    Floats result;
    for_each<kParts>([&](auto i) TIERUP_INLINED { result.part[i] = Part{} + value; });
    return result;
  }
  TIERUP_INLINED void store(float* p) const {
    for_each<kParts>([&](auto i)
                         TIERUP_INLINED { std::memcpy(p + i * kWidth, &part[i], sizeof(Part)); });
  }
  template <typename Op>
  TIERUP_INLINED void merge(const Floats& other) {
    for_each<kParts>(
        [&](auto i) TIERUP_INLINED { part[i] = Op::merge(part[i], Op::value(other.part[i])); });
  }
  template <typename Op>
  TIERUP_INLINED void merge_numbers(const Floats& other) {
    for_each<kParts>([&](auto i)
                         TIERUP_INLINED { part[i] = Op::merge_numbers(part[i], other.part[i]); });
  }
};

TIERUP_INLINE bool has_nan(FloatVector x) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0;
#else
  return _mm_movemask_ps(_mm_cmpunord_ps(x, x)) != 0;
#endif
}

// Whether one of many numbers was NaN, for some operations less than a comparison for each.
template <int kCount>
class NanWatch {
 public:
  TIERUP_INLINED void look_at(const Floats<kCount>& x) {
    for_each<Floats<kCount>::kParts>([&](auto i) TIERUP_INLINED {
      // Of magnitudes' bits, NaN's are the largest.
      const Bits bits = (Bits)x.part[i] & 0x7FFFFFFF;  // NOLINT
      most_[i] = most_[i] > bits ? most_[i] : bits;
    });
  }
  TIERUP_INLINED bool found() const {
    static_assert(Floats<kCount>::kWidth == kVectorFloats);
    bool result = false;
    for_each<Floats<kCount>::kParts>(
        [&](auto i) TIERUP_INLINED { result |= has_nan((FloatVector)most_[i]); });  // NOLINT
    return result;
  }

 private:
  typedef int32_t Bits __attribute__((vector_size(Floats<kCount>::kWidth * sizeof(int32_t))));
  static_assert(sizeof(Bits) == sizeof(typename Floats<kCount>::Part));
  Bits most_[Floats<kCount>::kParts]{};
};

}  // namespace
}  // namespace tierup::kernels
