#include "tierup/kernels/shape/view_scatter.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

void replace(const Tensor& target, const Tensor& src, const char* what) {
  if (!(std::equal(target.sizes().begin(), target.sizes().end(), src.sizes().begin(),
                   src.sizes().end()))) {
    fail(ErrorCode::kInvalidArgument,
         "expected src to have a size equal to the {} of self. src size = {}, {} size = {}", what,
         shape_string(src.sizes()), what, shape_string(target.sizes()));
  }
  copy_into(target, src);
}

// A copy that as_strided can address as it could the original: same strides, same offset.
Tensor clone_storage(const Tensor& self) {
  const auto width = static_cast<int64_t>(self.item_size());
  const int64_t count = static_cast<int64_t>(self.storage()->bytes()) / width;
  Tensor all = Tensor::empty(IntVector{count}, self.dtype());
  copy_into(all,
            Tensor::from_storage(self.storage(), self.dtype(), IntVector{count}, IntVector{1}, 0));
  return all.as_view(self.sizes(), self.strides(), self.offset());
}

// Sizes of an empty tensor have no bound.
int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  require(!__builtin_mul_overflow(a, b, &result), ErrorCode::kInvalidArgument,
          "sizes {} and {} have no product of 64 bits", a, b);
  return result;
}

// Of the dimensions before the last three.
int64_t batch_of(const Tensor& images) {
  int64_t batch = 1;
  for (int64_t d = 0; d + 3 < images.dim(); ++d) batch = product(batch, images.sizes()[d]);
  return batch;
}

// Lines of `count` elements, `planes` of them `apart`, element by element in turn.
template <typename U>
void weave_lines(const U* from, int64_t apart, int64_t planes, int64_t count, U* to) {
  if (planes == 2) {
    const U* second = from + apart;
    for (int64_t i = 0; i < count; ++i) {
      to[2 * i] = from[i];
      to[2 * i + 1] = second[i];
    }
    return;
  }
  for (int64_t k = 0; k < planes; ++k) {
    const U* line = from + k * apart;
    for (int64_t i = 0; i < count; ++i) to[i * planes + k] = line[i];
  }
}

// From [images, r, r, height, width] to [images, height, r, width, r].
template <typename U>
void weave_pixels(const Tensor& self, int64_t r, const Tensor& out) {
  const int64_t height = self.size(-2);
  const int64_t width = self.size(-1);
  const auto* from = static_cast<const U*>(self.raw());
  auto* to = static_cast<U*>(out.raw());
  parallel_for(0, out.numel() / (width * r), grain_of(width * r), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t image = line / (height * r);
      const int64_t y = line / r % height;
      const U* first = from + ((image * r + line % r) * r * height + y) * width;
      weave_lines(first, height * width, r, width, to + line * width * r);
    }
  });
}

}  // namespace

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  Tensor result = clone(self);
  replace(select(result, dim, index), src, "slice");
  return result;
}

Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  Tensor result = clone(self);
  replace(slice(result, dim, start, end, step), src, "slice");
  return result;
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  Tensor result = clone(self);
  replace(diagonal(result, offset, dim1, dim2), src, "slice");
  return result;
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, const IntVector& sizes,
                          const IntVector& strides, std::optional<int64_t> offset) {
  Tensor result = clone_storage(self);
  replace(as_strided(result, sizes, strides, offset), src, "slice");
  return result;
}

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  require(self.dim() >= 3, ErrorCode::kInvalidArgument,
          "pixel_shuffle expects input to have at least 3 dimensions, but got input with {} "
          "dimension(s)",
          self.dim());
  require(upscale_factor > 0, ErrorCode::kInvalidArgument,
          "pixel_shuffle expects a positive upscale_factor, but got {}", upscale_factor);
  const int64_t r = upscale_factor;
  const int64_t channels = self.size(-3);
  require(r <= 65536, ErrorCode::kInvalidArgument,
          "pixel_shuffle expects an upscale_factor of at most 65536, but got {}", r);
  require(channels % (r * r) == 0, ErrorCode::kInvalidArgument,
          "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
          "upscale_factor, but input.size(-3)={} is not divisible by {}",
          channels, r * r);
  const int64_t height = self.size(-2);
  const int64_t width = self.size(-1);
  const int64_t out_channels = channels / (r * r);
  IntVector sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.insert(sizes.end(), {out_channels, product(height, r), product(width, r)});
  batch_of(self);  // Refused where it is none of 64 bits.
  const Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  const Tensor planes = contiguous(self);
  dispatch_width(self.item_size(),
                 [&](auto tag) { weave_pixels<typename decltype(tag)::type>(planes, r, out); });
  return out;
}

Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  require(self.dim() >= 3, ErrorCode::kInvalidArgument,
          "pixel_unshuffle expects input to have at least 3 dimensions, but got input with {} "
          "dimension(s)",
          self.dim());
  const int64_t r = downscale_factor;
  require(r > 0 && r <= 65536, ErrorCode::kInvalidArgument,
          "pixel_unshuffle expects a positive downscale_factor, but got {}", r);
  const int64_t channels = self.size(-3);
  const int64_t height = self.size(-2);
  const int64_t width = self.size(-1);
  if (!(height % r == 0 && width % r == 0)) {
    fail(ErrorCode::kInvalidArgument,
         "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
         "input of size {} is not divisible by {}",
         shape_string(self.sizes()), r);
  }
  const Tensor parts = reshape(self, {batch_of(self), channels, height / r, r, width / r, r});
  IntVector sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.insert(sizes.end(), {product(channels, r * r), height / r, width / r});
  return reshape(contiguous(permute(parts, {0, 1, 3, 5, 2, 4})), sizes);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  if (self.dim() <= 2) {
    fail(ErrorCode::kInvalidArgument,
         "channel_shuffle expects input with > 2 dims, but got input with sizes {}",
         shape_string(self.sizes()));
  }
  const int64_t channels = self.sizes()[1];
  require(groups > 0, ErrorCode::kInvalidArgument,
          "Number of groups to divide channels in must be positive. Value of groups:{}", groups);
  require(channels % groups == 0, ErrorCode::kInvalidArgument,
          "Number of channels must be divisible by groups. Got {} channels and {} groups.",
          channels, groups);
  if (self.numel() == 0) return alias(self);
  const IntVector sizes(self.sizes().begin(), self.sizes().end());
  const int64_t inner = self.numel() / (sizes[0] * channels);
  const Tensor parts = reshape(self, {sizes[0], groups, channels / groups, inner});
  return reshape(contiguous(permute(parts, {0, 2, 1, 3})), sizes);
}

}  // namespace tierup::kernels
