#include "tierup/kernels/convolution/deformable_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/vision/grid_places.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

struct Shape {
  int64_t batch, channels, height, width;
  int64_t out_channels, kernel_h, kernel_w, out_h, out_w;
  int64_t kernel_points() const { return kernel_h * kernel_w; }
  int64_t out_points() const { return out_h * out_w; }
};

Shape checked_shape(const Tensor& input, const Tensor& weight, const Tensor& offset,
                    const Tensor& mask, const Tensor& bias, const DeformableOptions& o) {
  require(input.dim() == 4 && weight.dim() == 4 && offset.dim() == 4, kBad,
          "deform_conv2d: input, weight and offset must be 4-D");
  Shape s{input.size(0),
          input.size(1),
          input.size(2),
          input.size(3),
          weight.size(0),
          weight.size(2),
          weight.size(3),
          0,
          0};
  require(s.kernel_h > 0 && s.kernel_w > 0, kBad, "weight_h: {} weight_w: {}", s.kernel_h,
          s.kernel_w);
  require(o.stride_h > 0 && o.stride_w > 0, kBad, "stride_h: {} stride_w: {}", o.stride_h,
          o.stride_w);
  require(o.pad_h >= 0 && o.pad_w >= 0, kBad, "pad_h: {} pad_w: {}", o.pad_h, o.pad_w);
  require(o.dilation_h > 0 && o.dilation_w > 0, kBad, "dilation_h: {} dilation_w: {}", o.dilation_h,
          o.dilation_w);
  if (!(o.groups > 0 && o.offset_groups > 0 && weight.size(1) * o.groups == s.channels &&
        s.out_channels % o.groups == 0 && s.channels % o.offset_groups == 0)) {
    fail(kBad, "deform_conv2d: {} channels do not fit weight {} in {} groups and {} offset groups",
         s.channels, shape_string(weight.sizes()), o.groups, o.offset_groups);
  }
  s.out_h = (s.height + 2 * o.pad_h - (o.dilation_h * (s.kernel_h - 1) + 1)) / o.stride_h + 1;
  s.out_w = (s.width + 2 * o.pad_w - (o.dilation_w * (s.kernel_w - 1) + 1)) / o.stride_w + 1;
  require(s.out_h > 0 && s.out_w > 0, kBad,
          "Calculated output size too small - out_h: {} out_w: {}", s.out_h, s.out_w);
  const int64_t planes = o.offset_groups * s.kernel_points();
  const auto fits = [&](const Tensor& t, int64_t channels) {
    return t.dim() == 4 && t.size(0) == s.batch && t.size(1) == channels && t.size(2) == s.out_h &&
           t.size(3) == s.out_w;
  };
  if (!(fits(offset, 2 * planes))) {
    fail(kBad, "offset.shape[1] is not valid: got: {} expected: {}", shape_string(offset.sizes()),
         2 * planes);
  }
  if (!(!o.use_mask || fits(mask, planes))) {
    fail(kBad, "mask.shape[1] is not valid: got: {} expected: {}", shape_string(mask.sizes()),
         planes);
  }
  if (!(bias.dim() == 1 && bias.size(0) == s.out_channels)) {
    fail(kBad, "invalid bias shape: got: {}", shape_string(bias.sizes()));
  }
  return s;
}

template <typename T>
T sample(const T* plane, int64_t height, int64_t width, T y, T x) {
  if (!(y > -1 && y < static_cast<T>(height) && x > -1 && x < static_cast<T>(width))) return 0;
  const auto top = static_cast<int64_t>(std::floor(y));
  const auto left = static_cast<int64_t>(std::floor(x));
  const T ly = y - static_cast<T>(top);
  const T lx = x - static_cast<T>(left);
  const auto at = [&](int64_t r, int64_t c) {
    return r < 0 || r >= height || c < 0 || c >= width ? T{0} : plane[r * width + c];
  };
  return (1 - ly) * (1 - lx) * at(top, left) + (1 - ly) * lx * at(top, left + 1) +
         ly * (1 - lx) * at(top + 1, left) + ly * lx * at(top + 1, left + 1);
}

// What the offsets of one image say: [2 * planes, out points], y before x, and the masks, if there
// are any.
template <typename T>
struct Places {
  const Shape& s;
  const DeformableOptions& o;
  const T* offset;
  const T* mask;
  // Where output point i of a plane, one kernel point of a group of channels, reads an image.
  std::pair<T, T> at(int64_t plane, int64_t i) const {
    const int64_t point = plane % s.kernel_points();
    const T* dy = offset + 2 * plane * s.out_points() + i;
    const int64_t y = i / s.out_w * o.stride_h - o.pad_h + point / s.kernel_w * o.dilation_h;
    const int64_t x = i % s.out_w * o.stride_w - o.pad_w + point % s.kernel_w * o.dilation_w;
    return {static_cast<T>(y) + dy[0], static_cast<T>(x) + dy[s.out_points()]};
  }
};

// Columns [C * kernel points, out points] of one image, some points of a plane at once:
// read(places, plane, first, count) gives what says what an image's channel is there.
template <typename T, typename Read>
void gather(const Places<T>& places, const T* image, T* columns, const Read& read) {
  constexpr int64_t kTile = 256;
  const Shape& s = places.s;
  const int64_t planes = places.o.offset_groups * s.kernel_points();
  const int64_t per_group = s.channels / places.o.offset_groups;
  const int64_t tiles = (s.out_points() + kTile - 1) / kTile;
  parallel_for(0, planes * tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t plane = unit / tiles;
      const int64_t first = unit % tiles * kTile;
      const int64_t count = std::min(kTile, s.out_points() - first);
      const auto sample_at = read(places, plane, first, count);
      const T* mask =
          places.mask == nullptr ? nullptr : places.mask + plane * s.out_points() + first;
      const int64_t channel = plane / s.kernel_points() * per_group;
      for (int64_t c = channel; c < channel + per_group; ++c) {
        T* out =
            columns + (c * s.kernel_points() + plane % s.kernel_points()) * s.out_points() + first;
        sample_at(image + c * s.height * s.width, count, out);
        for (int64_t i = 0; mask != nullptr && i < count; ++i) out[i] *= mask[i];
      }
    }
  });
}

// Point by point.
template <typename T>
auto read_by_point(const Places<T>& places, int64_t plane, int64_t first, int64_t /*count*/) {
  return [&places, plane, first](const T* image, int64_t count, T* out) {
    for (int64_t i = 0; i < count; ++i) {
      const auto [y, x] = places.at(plane, first + i);
      out[i] = sample(image, places.s.height, places.s.width, y, x);
    }
  };
}

// By vectors: what the places have in common for all channels is worked out once, in the thread's
// scratch memory.
auto read_by_vectors(const Places<float>& places, int64_t plane, int64_t first, int64_t count) {
  const GridLoops loops = grid_loops().linear;
  const GridImage image{places.s.width, places.s.height, GridPadding::kZeros, false, true};
  const int64_t groups = (count + loops.group_points - 1) / loops.group_points;
  // Groups first, which are to be aligned; then the pairs of x and y.
  const auto group_bytes = static_cast<size_t>(groups * loops.group_bytes);
  void* found = thread_scratch(group_bytes + static_cast<size_t>(2 * count) * sizeof(float));
  auto* grid = reinterpret_cast<float*>(static_cast<std::byte*>(found) + group_bytes);
  for (int64_t i = 0; i < count; ++i) {
    const auto [y, x] = places.at(plane, first + i);
    grid[2 * i] = x;
    grid[2 * i + 1] = y;
  }
  loops.find(image, grid, count, found);
  return [=](const float* pixels, int64_t points, float* out) {
    loops.sample(image, pixels, found, points, out);
  };
}

template <typename T>
void gather(const Places<T>& places, const T* image, T* columns) {
  if constexpr (std::is_same_v<T, float>) {
    const int64_t pixels = places.s.height * places.s.width;
    if (pixels > 0 && pixels <= std::numeric_limits<int32_t>::max())
      return gather(places, image, columns, read_by_vectors);
  }
  gather(places, image, columns, read_by_point<T>);
}

}  // namespace

Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                     const Tensor& mask, const Tensor& bias, const DeformableOptions& o) {
  const Shape s = checked_shape(input, weight, offset, mask, bias, o);
  const ScalarType work = work_type(input.dtype());
  const Tensor x = as_work(input, work);
  const Tensor w = as_work(weight, work);
  const Tensor shifts = as_work(offset, work);
  const Tensor factors = o.use_mask ? as_work(mask, work) : Tensor();
  const Tensor out = Tensor::empty(IntVector{s.batch, s.out_channels, s.out_h, s.out_w}, work);
  copy_into(out, reshape(to_dtype(bias, work), IntVector{1, s.out_channels, 1, 1}));
  const int64_t depth = s.channels / o.groups * s.kernel_points();
  const int64_t rows = s.out_channels / o.groups;
  const Tensor columns =
      Tensor::empty(IntVector{s.channels * s.kernel_points(), s.out_points()}, work);
  dispatch_work(work, "deform_conv2d", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t n = 0; n < s.batch; ++n) {
      const Places<T> places{
          s, o, shifts.data<T>() + n * offset.size(1) * s.out_points(),
          factors.defined() ? factors.data<T>() + n * mask.size(1) * s.out_points() : nullptr};
      gather(places, x.data<T>() + n * s.channels * s.height * s.width, columns.data<T>());
      for (int64_t g = 0; g < o.groups; ++g) {
        GemmProblem p;
        p.dtype = work;
        p.m = rows;
        p.n = s.out_points();
        p.k = depth;
        p.a = {w.data<T>() + g * rows * depth, 0, depth, 1};
        p.b = {columns.data<T>() + g * depth * p.n, 0, p.n, 1};
        p.c = out.data<T>() + (n * s.out_channels + g * rows) * p.n;
        p.c_row_stride = p.n;
        p.beta = 1;
        gemm(p);
      }
    }
  });
  return to_dtype(out, input.dtype());
}

}  // namespace tierup::kernels
