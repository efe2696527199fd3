// Grids of places from affine maps: aten::affine_grid_generator.
#include <algorithm>
#include <array>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/vision/grid_sample.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Coordinates of pixel centres, or of corners, in [-1, 1].
double grid_position(int64_t i, int64_t size, bool align_corners) {
  if (size <= 1) return 0;
  const double position = -1 + 2 * static_cast<double>(i) / static_cast<double>(size - 1);
  return align_corners ? position
                       : position * static_cast<double>(size - 1) / static_cast<double>(size);
}

// Grids of images or volumes of these sizes, from a matrix for each.
template <typename T>
void fill_affine_grid(const T* matrices, const IntVector& sizes, int64_t batch, bool align_corners,
                      T* out) {
  const size_t rank = sizes.size();
  const int64_t width = sizes.back();
  std::vector<std::vector<double>> positions(rank);  // The width's first.
  int64_t lines = 1;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t extent = sizes[rank - 1 - d];
    if (d > 0) lines *= extent;
    for (int64_t i = 0; i < extent; ++i)
      positions[d].push_back(grid_position(i, extent, align_corners));
  }
  const int64_t grain = grain_of(4 * width);
  parallel_for(0, batch * lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const T* m = matrices + line / lines * static_cast<int64_t>(rank * (rank + 1));
      std::array<double, 2> of_line{};  // The positions by height and depth.
      int64_t rest = line % lines;
      for (size_t d = 1; d < rank; ++d) {
        const auto extent = static_cast<int64_t>(positions[d].size());
        of_line[d - 1] = positions[d][static_cast<size_t>(rest % extent)];
        rest /= extent;
      }
      T* to = out + line * width * static_cast<int64_t>(rank);
      for (const double x : positions[0]) {
        for (size_t r = 0; r < rank; ++r) {
          const T* row = m + r * (rank + 1);
          double sum = x * static_cast<double>(row[0]);
          for (size_t d = 1; d < rank; ++d) sum += of_line[d - 1] * static_cast<double>(row[d]);
          *to++ = static_cast<T>(sum + static_cast<double>(row[rank]));
        }
      }
    }
  });
}

}  // namespace

Tensor affine_grid(const Tensor& theta, const IntVector& size, bool align_corners) {
  require(size.size() == 4 || size.size() == 5, kBad,
          "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if (!(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == rank &&
        theta.size(2) == rank + 1)) {
    fail(kBad, "Expected a batch of {}D affine matrices of shape {}x{}x{}, got {}", rank, size[0],
         rank, rank + 1, shape_string(theta.sizes()));
  }
  IntVector sizes{size[0]};
  for (int64_t d = 0; d < rank; ++d) {
    if (!(size[static_cast<size_t>(d + 2)] > 0)) {
      fail(kBad, "affine_grid: expected positive sizes, got {}",
           shape_string({size.data(), size.size()}));
    }
    sizes.push_back(size[static_cast<size_t>(d + 2)]);
  }
  sizes.push_back(rank);
  const ScalarType work = work_type(theta.dtype());
  const Tensor maps = as_work(theta, work);
  const Tensor out = Tensor::empty(sizes, work);
  dispatch_work(work, "affine_grid_generator", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    fill_affine_grid(maps.data<T>(), {size.begin() + 2, size.end()}, size[0], align_corners,
                     out.data<T>());
  });
  return to_dtype(out, theta.dtype());
}

}  // namespace tierup::kernels
