// The code of window_maxima.h; each including file is compiled for one instruction set and names
// the function. Everything here has internal linkage, so that no variant is merged with another.
#include <limits>

#include "tierup/kernels/pooling/window_maxima.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

typedef int32_t PlaceVector __attribute__((vector_size(kVectorBytes)));

inline FloatVector gather(const float* from, PlaceVector places) {
#if defined(__AVX512F__)
  return _mm512_i32gather_ps(reinterpret_cast<__m512i>(places), from, sizeof(float));
#elif defined(__AVX2__)
  return _mm256_i32gather_ps(from, reinterpret_cast<__m256i>(places), sizeof(float));
#else
  FloatVector result;
  for (int i = 0; i < kVectorFloats; ++i) result[i] = from[places[i]];
  return result;
#endif
}

// Without branches: which element is larger nobody can foresee.
void find_window_maxima(const float* plane, const int32_t* corners, int64_t count,
                        std::span<const int32_t> taps, float* best, int32_t* places) {
  static_assert(kWindowLanes % kVectorFloats == 0);
  for (int64_t i = 0; i < count; i += kVectorFloats) {
    PlaceVector corner;
    std::memcpy(&corner, corners + i, sizeof(corner));
    FloatVector largest = FloatVector{} - std::numeric_limits<float>::infinity();
    PlaceVector found = corner;
    for (const int32_t tap : taps) {
      const PlaceVector place = corner + tap;
      const FloatVector value = gather(plane, place);
      const PlaceVector is_larger = (value > largest) | (value != value);
      largest = is_larger ? value : largest;
      found = is_larger ? place : found;
    }
    store_vector(best + i, largest);
    std::memcpy(places + i, &found, sizeof(found));
  }
}

}  // namespace
}  // namespace tierup::kernels
