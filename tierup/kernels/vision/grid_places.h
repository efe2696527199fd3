// Where the points of a grid lie in an image of floats, and what the image is there, by vectors;
// compiled for each instruction set.
#pragma once

#include <cstdint>

namespace tierup::kernels {

enum class GridPadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct GridImage {
  int64_t width;
  int64_t height;  // width * height: what 32 bits count.
  GridPadding padding;
  bool align_corners;
  bool in_pixels = false;  // Coordinates count pixels, 0 the middle of the first one.
};

// Points are found group by group. What is known of a group is opaque: `group_bytes` of it, aligned
// to 64 bytes.
struct GridLoops {
  int64_t group_points;
  int64_t group_bytes;
  // `grid`: `count` pairs of x and y.
  void (*find)(const GridImage& image, const float* grid, int64_t count, void* groups);
  // What one plane of the image is at the points that were found.
  void (*sample)(const GridImage& image, const float* plane, const void* groups, int64_t count,
                 float* out);
};
struct GridLoopsByMode {
  GridLoops linear;
  GridLoops nearest;
  GridLoops cubic;
};
GridLoopsByMode grid_loops_base();
GridLoopsByMode grid_loops_avx2();
GridLoopsByMode grid_loops_avx512();

// Those of this processor.
GridLoopsByMode grid_loops();

}  // namespace tierup::kernels
