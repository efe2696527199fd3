// The largest elements of many windows of one f32 plane, compiled for each instruction set.
#pragma once

#include <cstdint>
#include <span>

namespace tierup::kernels {

// How many windows are looked at together, whatever the instruction set.
constexpr int64_t kWindowLanes = 16;

// best[i] is the largest of plane[corners[i] + tap] over all taps, in their order, and places[i]
// where the first of the largest is; a NaN is larger than anything, and a later one than an
// earlier. The first tap is 0, and taps and corners rise, corners may repeat at the end; `count` is
// a multiple of kWindowLanes. `readable`: how many numbers from `plane` on there are, in this plane
// and those behind it.
using WindowMaxima = void (*)(const float* plane, int64_t readable, const int32_t* corners,
                              int64_t count, std::span<const int32_t> taps, float* best,
                              int64_t* places);

void window_maxima_base(const float* plane, int64_t readable, const int32_t* corners, int64_t count,
                        std::span<const int32_t> taps, float* best, int64_t* places);
void window_maxima_avx2(const float* plane, int64_t readable, const int32_t* corners, int64_t count,
                        std::span<const int32_t> taps, float* best, int64_t* places);
void window_maxima_avx512(const float* plane, int64_t readable, const int32_t* corners,
                          int64_t count, std::span<const int32_t> taps, float* best,
                          int64_t* places);

// The variant for this processor.
WindowMaxima window_maxima();

}  // namespace tierup::kernels
