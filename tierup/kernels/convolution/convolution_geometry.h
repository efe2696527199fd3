// ConvGeometry: the numbers of one convolution, checked, with its sizes as three spatial
// dimensions.
#pragma once

#include <array>
#include <cstdint>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Spatial numbers always stand in the last `rank` of three places; the places before hold those of
// a dimension of size 1, so that one loop nest serves 1, 2 and 3 dimensions.
struct ConvGeometry {
  using Triple = std::array<int64_t, 3>;
  int rank = 2;
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  bool transposed = false;
  Triple in{1, 1, 1};
  Triple out{1, 1, 1};
  Triple kernel{1, 1, 1};
  Triple stride{1, 1, 1};
  Triple padding{0, 0, 0};
  Triple padding_after{0, 0, 0};  // At the end of a dimension; equal to padding but for "same".
  Triple dilation{1, 1, 1};
  Triple output_padding{0, 0, 0};

  int64_t in_points() const { return in[0] * in[1] * in[2]; }
  int64_t out_points() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_points() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t multiplications() const {
    const int64_t points = transposed ? in_points() : out_points();
    return points * batch * weights();
  }
  int64_t weights() const { return out_channels * (in_channels / groups) * kernel_points(); }
  // Of the operands and the result.
  int64_t numbers() const {
    return weights() + batch * (in_channels * in_points() + out_channels * out_points());
  }
};

// Geometry of input [N, C, *] with weight [O, C / groups, *], or [C, O / groups, *] transposed.
// Lists may have one entry for all dimensions. Throws kInvalidArgument in PyTorch's words.
ConvGeometry conv_geometry(IntSpan input, IntSpan weight, IntSpan stride, IntSpan padding,
                           IntSpan dilation, bool transposed, IntSpan output_padding,
                           int64_t groups);
// The same for padding="same": outputs as large as inputs. Throws for strides other than 1.
ConvGeometry conv_geometry_same(IntSpan input, IntSpan weight, IntSpan stride, IntSpan dilation,
                                int64_t groups);

}  // namespace tierup::kernels
