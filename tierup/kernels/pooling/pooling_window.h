// The windows of a pooling operator over one to three spatial dimensions.
#pragma once

#include <array>
#include <cstdint>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// As in ConvGeometry, spatial numbers stand in the last `rank` of three places. `planes` is
// batch times channels.
struct PoolWindow {
  using Triple = std::array<int64_t, 3>;
  int rank = 2;
  int64_t planes = 1;
  Triple in{1, 1, 1};
  Triple out{1, 1, 1};
  Triple kernel{1, 1, 1};
  Triple stride{1, 1, 1};
  Triple padding{0, 0, 0};
  Triple dilation{1, 1, 1};

  int64_t in_points() const { return in[0] * in[1] * in[2]; }
  int64_t out_points() const { return out[0] * out[1] * out[2]; }
};

// Windows over an input [N, C, *] or [C, *] with `rank` spatial dimensions. An empty stride means
// the kernel size; lists may have one entry for all dimensions. Throws kInvalidArgument in
// PyTorch's words for padding above half the kernel, empty outputs and the like.
PoolWindow pool_window(const Tensor& input, int rank, IntSpan kernel, IntSpan stride,
                       IntSpan padding, IntSpan dilation, bool ceil_mode);

// Whether whole lines of windows are worked on; lines that are mostly padding are not worth (nor
// safe) to lay out.
bool is_lined(const PoolWindow& window);

// Which dimensions of an input must not be of size 0: those after the first, or the spatial ones.
enum class NonZero : uint8_t { kAfterFirst, kSpatial };

// For adaptive pooling and unpooling: sizes alone, the output's given.
PoolWindow resize_window(const Tensor& input, int rank, IntSpan output_size,
                         NonZero wanted = NonZero::kAfterFirst);

// Sizes of the output: those of the input with its spatial sizes replaced.
IntVector pooled_sizes(const Tensor& input, const PoolWindow& window);

}  // namespace tierup::kernels
