#include "tierup/kernels/convolution/im2col.h"

#include <algorithm>
#include <cstring>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Columns whose input position start + x * stride lies inside [0, size): [first, last).
struct Inside {
  int64_t first;
  int64_t last;
};
Inside inside(int64_t start, int64_t stride, int64_t size, int64_t count) {
  const int64_t first = start >= 0 ? 0 : (-start + stride - 1) / stride;
  const int64_t last = start >= size ? 0 : (size - start + stride - 1) / stride;
  return {std::min(first, count), std::clamp(last, std::min(first, count), count)};
}

// Planes one column wide, of which kernels take one column, as lines: then what is read together
// lies along the dimension that the loops go through fastest, and sequences held as [N, C, L, 1]
// are not copied number by number. Nothing moves in memory.
ConvGeometry by_lines(ConvGeometry g) {
  if (g.in[2] != 1 || g.kernel[2] != 1 || g.padding[2] != 0) return g;
  for (auto* sizes : {&g.in, &g.out, &g.kernel, &g.stride, &g.padding, &g.dilation})
    std::rotate(sizes->begin(), sizes->end() - 1, sizes->end());
  return g;
}

// The row of `columns` that belongs to one kernel point of one channel, point by point along
// output lines: body(line of the image or null, start, range inside, line of columns).
template <typename T, typename Body>
void for_each_line(const ConvGeometry& g, int64_t row, T* image, T* columns, const Body& body) {
  const int64_t kx = row % g.kernel[2];
  const int64_t ky = row / g.kernel[2] % g.kernel[1];
  const int64_t kz = row / (g.kernel[2] * g.kernel[1]) % g.kernel[0];
  const int64_t channel = row / g.kernel_points();
  T* plane = image + channel * g.in_points();
  T* line = columns + row * g.out_points();
  const int64_t start = kx * g.dilation[2] - g.padding[2];
  const Inside range = inside(start, g.stride[2], g.in[2], g.out[2]);
  for (int64_t z = 0; z < g.out[0]; ++z) {
    const int64_t iz = z * g.stride[0] + kz * g.dilation[0] - g.padding[0];
    for (int64_t y = 0; y < g.out[1]; ++y, line += g.out[2]) {
      const int64_t iy = y * g.stride[1] + ky * g.dilation[1] - g.padding[1];
      const bool outside = iz < 0 || iz >= g.in[0] || iy < 0 || iy >= g.in[1];
      body(outside ? nullptr : plane + (iz * g.in[1] + iy) * g.in[2], start, range, line);
    }
  }
}

template <typename T>
void gather_columns(const ConvGeometry& geometry, const T* image, int64_t channels, T* columns) {
  const ConvGeometry g = by_lines(geometry);
  const int64_t stride = g.stride[2];
  const int64_t grain = grain_of(g.out_points());
  parallel_for(0, channels * g.kernel_points(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for_each_line(g, row, const_cast<T*>(image), columns,
                    [&](const T* source, int64_t start, Inside range, T* line) {
                      if (source == nullptr) {
                        std::fill(line, line + g.out[2], T{});
                        return;
                      }
                      std::fill(line, line + range.first, T{});
                      if (stride == 1) {
                        std::copy(source + start + range.first, source + start + range.last,
                                  line + range.first);
                      } else {
                        for (int64_t x = range.first; x < range.last; ++x)
                          line[x] = source[start + x * stride];
                      }
                      std::fill(line + range.last, line + g.out[2], T{});
                    });
    }
  });
}

// Channels are independent; within one, rows are added in order, so the result has fixed bits.
template <typename T>
void scatter_columns(const ConvGeometry& geometry, const T* columns, int64_t channels, T* image) {
  const ConvGeometry g = by_lines(geometry);
  const int64_t rows = g.kernel_points();
  const int64_t grain = grain_of(g.out_points() * rows);
  parallel_for(0, channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * rows; row < end * rows; ++row) {
      for_each_line(g, row, image, const_cast<T*>(columns),
                    [&](T* target, int64_t start, Inside range, const T* line) {
                      if (target == nullptr) return;
                      for (int64_t x = range.first; x < range.last; ++x) {
                        T& sum = target[start + x * g.stride[2]];
                        sum = static_cast<T>(sum + line[x]);
                      }
                    });
    }
  });
}

struct Pair {
  int64_t y, x;
};
Pair pair_of(const IntVector& values, const char* name) {
  require(values.size() == 2, kBad, "It is expected {} equals to 2, but got size {}", name,
          values.size());
  return {values[0], values.back()};
}

ConvGeometry patch_geometry(Pair image, const IntVector& kernel_size, const IntVector& dilation,
                            const IntVector& padding, const IntVector& stride) {
  const Pair kernel = pair_of(kernel_size, "kernel_size");
  const Pair spread = pair_of(dilation, "dilation");
  const Pair pad = pair_of(padding, "padding");
  const Pair step = pair_of(stride, "stride");
  require(kernel.y > 0 && kernel.x > 0 && step.y > 0 && step.x > 0 && spread.y > 0 && spread.x > 0,
          kBad, "kernel size, stride and dilation should be greater than zero");
  require(pad.y >= 0 && pad.x >= 0, kBad, "padding should be non-negative");
  ConvGeometry g;
  g.in = {1, image.y, image.x};
  g.kernel = {1, kernel.y, kernel.x};
  g.stride = {1, step.y, step.x};
  g.padding = {0, pad.y, pad.x};
  g.dilation = {1, spread.y, spread.x};
  for (size_t d = 1; d < 3; ++d) {
    const int64_t reach = g.in[d] + 2 * g.padding[d] - g.dilation[d] * (g.kernel[d] - 1) - 1;
    require(
        reach >= 0, kBad,
        "calculated shape of the array of sliding blocks is too small for spatial size ({}, {})",
        image.y, image.x);
    g.out[d] = reach / g.stride[d] + 1;
  }
  return g;
}

template <typename Body>
void dispatch_summable(ScalarType dtype, const char* what, const Body& body) {
  require(dtype != ScalarType::kBool, kBad, "\"{}\" not implemented for 'Bool'", what);
  dispatch_all(dtype, what, [&]<typename Tag>(Tag) {
    if constexpr (!std::is_same_v<typename Tag::type, bool>) body(Tag{});
  });
}

}  // namespace

void image_to_columns(const ConvGeometry& g, ScalarType dtype, const void* image, int64_t channels,
                      void* columns) {
  // Only moves elements: any type of the same width will do, except for the value of zero, which
  // is all bits clear in each.
  switch (item_size(dtype)) {
    case 1:
      return gather_columns(g, static_cast<const uint8_t*>(image), channels,
                            static_cast<uint8_t*>(columns));
    case 2:
      return gather_columns(g, static_cast<const uint16_t*>(image), channels,
                            static_cast<uint16_t*>(columns));
    case 4:
      return gather_columns(g, static_cast<const uint32_t*>(image), channels,
                            static_cast<uint32_t*>(columns));
    case 8:
      return gather_columns(g, static_cast<const uint64_t*>(image), channels,
                            static_cast<uint64_t*>(columns));
    default:
      return gather_columns(g, static_cast<const complex128*>(image), channels,
                            static_cast<complex128*>(columns));
  }
}

void columns_to_image(const ConvGeometry& g, ScalarType dtype, const void* columns,
                      int64_t channels, void* image) {
  dispatch_summable(dtype, "col2im", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    scatter_columns(g, static_cast<const T*>(columns), channels, static_cast<T*>(image));
  });
}

Tensor im2col(const Tensor& self, const IntVector& kernel_size, const IntVector& dilation,
              const IntVector& padding, const IntVector& stride) {
  const bool batched = self.dim() == 4;
  if (!(batched || self.dim() == 3)) {
    fail(kBad,
         "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and non-zero dimensions "
         "for input, but got: {}",
         shape_string(self.sizes()));
  }
  const ConvGeometry g =
      patch_geometry({self.size(-2), self.size(-1)}, kernel_size, dilation, padding, stride);
  const int64_t batch = batched ? self.size(0) : 1;
  const int64_t channels = self.size(-3);
  const Tensor input = contiguous(self);
  IntVector sizes{channels * g.kernel_points(), g.out_points()};
  if (batched) sizes.insert(sizes.begin(), batch);
  Tensor out = Tensor::empty(sizes, self.dtype());
  const size_t in_bytes = static_cast<size_t>(channels * g.in_points()) * self.item_size();
  const size_t out_bytes =
      static_cast<size_t>(channels * g.kernel_points() * g.out_points()) * self.item_size();
  for (int64_t n = 0; n < batch; ++n) {
    image_to_columns(g, self.dtype(),
                     static_cast<const char*>(input.raw()) + static_cast<size_t>(n) * in_bytes,
                     channels, static_cast<char*>(out.raw()) + static_cast<size_t>(n) * out_bytes);
  }
  return out;
}

Tensor col2im(const Tensor& self, const IntVector& output_size, const IntVector& kernel_size,
              const IntVector& dilation, const IntVector& padding, const IntVector& stride) {
  const bool batched = self.dim() == 3;
  if (!(batched || self.dim() == 2)) {
    fail(kBad,
         "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
         "dimensions for input, but got: {}",
         shape_string(self.sizes()));
  }
  const Pair image = pair_of(output_size, "output_size");
  require(image.y > 0 && image.x > 0, kBad, "output_size should be greater than zero");
  const ConvGeometry g = patch_geometry(image, kernel_size, dilation, padding, stride);
  const int64_t batch = batched ? self.size(0) : 1;
  const int64_t rows = self.size(-2);
  require(
      rows % g.kernel_points() == 0, kBad,
      "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
      "input.size(1)={}",
      rows);
  require(self.size(-1) == g.out_points(), kBad,
          "Given output_size=({}, {}), expected input's size at the last dimension to match the "
          "calculated number of sliding blocks {}, but got {}",
          image.y, image.x, g.out_points(), self.size(-1));
  const int64_t channels = rows / g.kernel_points();
  const Tensor input = contiguous(self);
  IntVector sizes{channels, image.y, image.x};
  if (batched) sizes.insert(sizes.begin(), batch);
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  std::memset(out.raw(), 0, out.bytes());
  const size_t in_bytes = static_cast<size_t>(rows * g.out_points()) * self.item_size();
  const size_t out_bytes = static_cast<size_t>(channels * g.in_points()) * self.item_size();
  for (int64_t n = 0; n < batch; ++n) {
    columns_to_image(g, self.dtype(),
                     static_cast<const char*>(input.raw()) + static_cast<size_t>(n) * in_bytes,
                     channels, static_cast<char*>(out.raw()) + static_cast<size_t>(n) * out_bytes);
  }
  return out;
}

}  // namespace tierup::kernels
