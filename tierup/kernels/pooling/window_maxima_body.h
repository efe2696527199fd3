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

// Lanes of one or two vectors side by side, `lanes` from the first's first on.
inline FloatVector permute(FloatVector vector, PlaceVector lanes) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(lanes), vector);
#elif defined(__AVX2__)
  return _mm256_permutevar8x32_ps(vector, reinterpret_cast<__m256i>(lanes));
#else
  return __builtin_shuffle(vector, lanes);
#endif
}

inline FloatVector permute(FloatVector first, FloatVector second, PlaceVector lanes) {
#if defined(__AVX512F__)
  return _mm512_permutex2var_ps(first, reinterpret_cast<__m512i>(lanes), second);
#else
  const PlaceVector is_second = (lanes & kVectorFloats) != 0;
  return is_second ? permute(second, lanes) : permute(first, lanes);
#endif
}

inline void store_wide(PlaceVector vector, int64_t* to) {
#if defined(__AVX512F__)
  const auto numbers = reinterpret_cast<__m512i>(vector);
  _mm512_storeu_si512(to, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(numbers)));
  _mm512_storeu_si512(to + 8, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(numbers, 1)));
#else
  for (int i = 0; i < kVectorFloats; ++i) to[i] = vector[i];
#endif
}

// How a vector of windows is read: where its corners lie within so many vectors side by side, by
// registers (a gather takes a load for each lane), otherwise, 0, by gathers.
constexpr int kMostVectors = 4;

inline int vectors_of(const int32_t* corners) {
  const int32_t reach = corners[kVectorFloats - 1] - corners[0];
  for (int vectors = 1; vectors <= kMostVectors; vectors *= 2) {
    if (reach < vectors * kVectorFloats) return vectors;
  }
  return 0;
}

template <int kVectors>
struct Reader {
  const float* from;  // The first corner.
  PlaceVector lanes;  // Of the corners, from there.

  FloatVector operator()(int32_t tap) const {
    if constexpr (kVectors == 0) return gather(from + tap, lanes);
    const float* at = from + tap;
    const FloatVector first = load_vector(at);
    if constexpr (kVectors == 1) return permute(first, lanes);
    const FloatVector pair = permute(first, load_vector(at + kVectorFloats), lanes);
    if constexpr (kVectors == 2) return pair;
    const PlaceVector is_later = (lanes & (2 * kVectorFloats)) != 0;
    const FloatVector later =
        permute(load_vector(at + 2 * kVectorFloats), load_vector(at + 3 * kVectorFloats), lanes);
    return is_later ? later : pair;
  }
};

// Without branches: which element is larger nobody can foresee.
template <int kVectors>
inline void find_maxima(const float* plane, PlaceVector corner, std::span<const int32_t> taps,
                        float* best, int64_t* places) {
  const Reader<kVectors> read{plane + corner[0], corner - corner[0]};
  FloatVector largest = FloatVector{} - std::numeric_limits<float>::infinity();
  PlaceVector found = corner;
  for (const int32_t tap : taps) {
    const FloatVector value = read(tap);
    const PlaceVector is_larger = (value > largest) | (value != value);
    largest = is_larger ? value : largest;
    found = is_larger ? corner + tap : found;
  }
  store_vector(best, largest);
  store_wide(found, places);
}

void find_window_maxima(const float* plane, int64_t readable, const int32_t* corners, int64_t count,
                        std::span<const int32_t> taps, float* best, int64_t* places) {
  static_assert(kWindowLanes % kVectorFloats == 0);
  for (int64_t i = 0; i < count; i += kVectorFloats) {
    PlaceVector corner;
    std::memcpy(&corner, corners + i, sizeof(corner));
    const int vectors = vectors_of(corners + i);
    // At the end of the memory a lane at a time.
    const bool may_read = corner[0] + taps.back() + vectors * kVectorFloats <= readable;
    switch (may_read ? vectors : 0) {
      case 1: find_maxima<1>(plane, corner, taps, best + i, places + i); break;
      case 2: find_maxima<2>(plane, corner, taps, best + i, places + i); break;
      case 4: find_maxima<4>(plane, corner, taps, best + i, places + i); break;
      default: find_maxima<0>(plane, corner, taps, best + i, places + i); break;
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
