#include "tierup/kernels/pooling/pooling_window.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;
constexpr int64_t kLimit = int64_t{1} << 31;

PoolWindow::Triple spread(IntSpan values, int rank, int64_t missing, const char* name) {
  require(values.size() == 1 || values.size() == static_cast<size_t>(rank), kBad,
          "pool{}d: {} must either be a single int, or a tuple of {} ints", rank, name, rank);
  PoolWindow::Triple result{missing, missing, missing};
  for (int i = 0; i < rank; ++i) {
    result[static_cast<size_t>(3 - rank + i)] =
        values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
  }
  return result;
}

// `checked`: the first dimension that must not be of size 0.
PoolWindow input_window(const Tensor& input, int rank, int64_t checked) {
  if (!(input.dim() == rank + 1 || input.dim() == rank + 2)) {
    fail(kBad, "pool{}d: Expected {}D or {}D (batch mode) tensor, but got input with sizes: {}",
         rank, rank + 1, rank + 2, shape_string(input.sizes()));
  }
  PoolWindow w;
  w.rank = rank;
  const auto first = static_cast<size_t>(input.dim() - rank);
  w.planes = numel_of(input.sizes().first(first));
  for (int i = 0; i < rank; ++i) {
    w.in[static_cast<size_t>(3 - rank + i)] = input.sizes()[first + static_cast<size_t>(i)];
  }
  for (auto d = static_cast<size_t>(checked); d < static_cast<size_t>(input.dim()); ++d) {
    if (!(input.sizes()[d] > 0)) {
      fail(kBad,
           "pool{}d: Expected input to have non-zero size for non-batch dimensions, but got {}",
           rank, shape_string(input.sizes()));
    }
  }
  return w;
}

int64_t pooled_size(const PoolWindow& w, size_t d, bool ceil_mode) {
  const int64_t reach = w.in[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
  const int64_t rounded = reach + (ceil_mode ? w.stride[d] - 1 : 0);
  // Rounds towards minus infinity, so that a kernel that does not fit gives no output.
  int64_t size = (rounded >= 0 ? rounded / w.stride[d] : -1) + 1;
  // The last window must start inside the input or its left padding.
  if (ceil_mode && (size - 1) * w.stride[d] >= w.in[d] + w.padding[d]) --size;
  return size;
}

}  // namespace

PoolWindow pool_window(const Tensor& input, int rank, IntSpan kernel, IntSpan stride,
                       IntSpan padding, IntSpan dilation, bool ceil_mode) {
  PoolWindow w = input_window(input, rank, input.dim() - rank - 1);
  w.kernel = spread(kernel, rank, 1, "kernel_size");
  w.stride = stride.empty() ? w.kernel : spread(stride, rank, 1, "stride");
  w.padding = spread(padding, rank, 0, "padding");
  w.dilation = spread(dilation, rank, 1, "dilation");
  for (size_t d = 0; d < 3; ++d) {
    require(w.kernel[d] > 0 && w.kernel[d] < kLimit, kBad,
            "kernel size should be greater than zero, but got {}", w.kernel[d]);
    require(w.stride[d] > 0 && w.stride[d] < kLimit, kBad,
            "stride should be greater than zero, but got {}", w.stride[d]);
    require(w.dilation[d] > 0 && w.dilation[d] < kLimit, kBad,
            "dilation should be greater than zero, but got {}", w.dilation[d]);
    require(w.padding[d] >= 0, kBad, "pad must be non-negative, but got pad: {}", w.padding[d]);
    require(w.padding[d] <= ((w.kernel[d] - 1) * w.dilation[d] + 1) / 2, kBad,
            "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} "
            "and dilation={}",
            w.padding[d], w.kernel[d], w.dilation[d]);
    w.out[d] = pooled_size(w, d, ceil_mode);
    if (!(w.out[d] > 0)) {
      fail(kBad, "Given input size: {}. Calculated output size: {}. Output size is too small",
           shape_string(input.sizes()), w.out[d]);
    }
  }
  return w;
}

PoolWindow resize_window(const Tensor& input, int rank, IntSpan output_size, NonZero wanted) {
  const int64_t spatial = input.dim() - rank;
  PoolWindow w = input_window(input, rank, wanted == NonZero::kSpatial ? spatial : 1);
  require(output_size.size() == static_cast<size_t>(rank), kBad,
          "pool{}d: output_size must be {} ints, got {}", rank, rank, output_size.size());
  w.out = spread(output_size, rank, 1, "output_size");
  for (const int64_t size : w.out) {
    require(size >= 0, kBad,
            "elements of output_size must be greater than or equal to 0, but got {}", size);
  }
  return w;
}

bool is_lined(const PoolWindow& window) {
  constexpr int64_t kLongestLine = int64_t{1} << 20;
  return window.in[2] + 2 * window.padding[2] <= kLongestLine;
}

IntVector pooled_sizes(const Tensor& input, const PoolWindow& window) {
  IntVector sizes(input.sizes().begin(), input.sizes().end());
  for (int i = 0; i < window.rank; ++i) {
    sizes[sizes.size() - static_cast<size_t>(window.rank - i)] =
        window.out[static_cast<size_t>(3 - window.rank + i)];
  }
  return sizes;
}

}  // namespace tierup::kernels
