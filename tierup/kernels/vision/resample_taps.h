// Which input positions, with which weights, make up each output position along one dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tierup::kernels {

enum class ResampleMode : uint8_t { kNearest, kNearestExact, kLinear, kCubic };

// `count` taps for each output position: position i reads index[i * count + k] with weight[...].
struct ResampleTaps {
  int64_t count = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;
};

struct ResampleDimension {
  int64_t in = 1;
  int64_t out = 1;
  std::optional<double> scale;  // The caller's scale factor, which PyTorch prefers to out / in.
};

// Positions are computed in f32 (or f64 if `in_double`), as PyTorch does for that dtype.
ResampleTaps resample_taps(const ResampleDimension& d, ResampleMode mode, bool align_corners,
                           bool in_double);

enum class FilterKind : uint8_t { kTriangle, kCubic, kLanczos3 };

// Taps of an antialiasing filter: stretched by the scale where the image shrinks, and normalised.
ResampleTaps antialias_taps(const ResampleDimension& d, FilterKind filter, bool align_corners,
                            bool in_double);

// The same in fixed point, as bytes are resampled: weights are multiples of 2^-shift that fit into
// 16 bits, and taps of one position that read the same input are one.
struct FixedTaps {
  int64_t count = 1;
  std::vector<int64_t> index;
  std::vector<int32_t> weight;
  int shift = 0;
};
FixedTaps fixed_taps(const ResampleTaps& taps);

}  // namespace tierup::kernels
