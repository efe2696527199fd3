#include "tierup/kernels/reduce/segment.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

enum class Segment : uint8_t { kSum, kMean, kProd, kMax, kMin };

Segment parse_mode(std::string_view reduce) {
  if (reduce == "sum") return Segment::kSum;
  if (reduce == "mean") return Segment::kMean;
  if (reduce == "prod") return Segment::kProd;
  if (reduce == "max") return Segment::kMax;
  if (reduce == "min") return Segment::kMin;
  fail(ErrorCode::kInvalidArgument, "segment_reduce: unknown reduction {}", reduce);
}

template <typename T>
T start_of(Segment mode, const std::optional<Scalar>& initial) {
  if (initial) return initial->to<T>();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  switch (mode) {
    case Segment::kProd: return 1;
    case Segment::kMax: return -kInfinity;
    case Segment::kMin: return kInfinity;
    default: return 0;
  }
}

template <typename T>
T combine(Segment mode, T a, T b) {
  switch (mode) {
    case Segment::kProd: return a * b;
    case Segment::kMax: return std::isnan(b) || b > a ? b : a;
    case Segment::kMin: return std::isnan(b) || b < a ? b : a;
    default: return a + b;
  }
}

// Lengths of the segments as a contiguous int64 tensor.
Tensor segment_lengths(const Tensor& lengths, const Tensor& offsets) {
  if (lengths.defined()) return contiguous(to_dtype(lengths, ScalarType::kLong));
  require(offsets.defined() && offsets.dim() > 0 && offsets.size(-1) > 0,
          ErrorCode::kInvalidArgument,
          "segment_reduce(): Either lengths or offsets must be defined.");
  const int64_t count = offsets.size(-1) - 1;
  const Tensor wide = to_dtype(offsets, ScalarType::kLong);
  return contiguous(
      pointwise({Body::kSub}, {narrow(wide, -1, 1, count), narrow(wide, -1, 0, count)}));
}

template <typename T>
void reduce_segments(const Tensor& data, const Tensor& lengths, int64_t axis, Segment mode,
                     const std::optional<Scalar>& initial, const Tensor& out) {
  const int64_t size = data.sizes()[axis];
  const int64_t segments = lengths.size(-1);
  int64_t outer = 1;
  int64_t inner = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= data.sizes()[d];
  for (int64_t d = axis + 1; d < data.dim(); ++d) inner *= data.sizes()[d];
  const T* from = data.data<T>();
  T* to = out.data<T>();
  for (int64_t o = 0; o < outer; ++o) {
    int64_t at = 0;
    for (int64_t s = 0; s < segments; ++s, to += inner) {
      const int64_t length = lengths.data<int64_t>()[o * segments + s];
      require(
          length >= 0 && length <= size - at, ErrorCode::kInvalidArgument,
          "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(axis)");
      for (int64_t i = 0; i < inner; ++i) {
        T acc = start_of<T>(mode, initial);
        for (int64_t j = 0; j < length; ++j) {
          acc = combine(mode, acc, from[(o * size + at + j) * inner + i]);
        }
        const bool undefined = mode == Segment::kMean && length == 0 && !initial;
        if (mode == Segment::kMean && length > 0) acc /= static_cast<T>(length);
        to[i] = undefined ? std::numeric_limits<T>::quiet_NaN() : acc;
      }
      at += length;
    }
  }
}

}  // namespace

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis, bool /*unsafe*/,
                      const std::optional<Scalar>& initial) {
  require(!indices.defined(), ErrorCode::kUnsupported,
          "segment_reduce(): indices based reduction is not supported yet.");
  require(data.numel() > 0, ErrorCode::kInvalidArgument,
          "segment_reduce(): data must not be empty");
  const int64_t d = wrap_dim(axis, data.dim());
  const Segment mode = parse_mode(reduce);
  const Tensor runs = segment_lengths(lengths, offsets);
  bool fits = runs.dim() == d + 1;
  for (int64_t i = 0; fits && i < d; ++i) fits = runs.sizes()[i] == data.sizes()[i];
  if (!fits) {
    fail(ErrorCode::kInvalidArgument,
         "segment_reduce(): Expected lengths of shape {} to match data {} up to axis {}",
         shape_string(runs.sizes()), shape_string(data.sizes()), d);
  }
  const bool narrow_float =
      data.dtype() == ScalarType::kHalf || data.dtype() == ScalarType::kBFloat16;
  const Tensor source = contiguous(narrow_float ? to_dtype(data, ScalarType::kFloat) : data);
  IntVector sizes(data.sizes().begin(), data.sizes().end());
  sizes[d] = runs.size(-1);
  Tensor out = Tensor::empty(sizes, source.dtype());
  dispatch_floating(source.dtype(), "segment_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      reduce_segments<T>(source, runs, d, mode, initial, out);
    }
  });
  return to_dtype(out, data.dtype());
}

Tensor unfold_backward(const Tensor& grad, const IntVector& input_sizes, int64_t dim, int64_t size,
                       int64_t step) {
  const auto rank = static_cast<int64_t>(input_sizes.size());
  const int64_t d = wrap_dim(dim, rank);
  require(step > 0 && size >= 0, ErrorCode::kInvalidArgument,
          "unfold_backward: size {} must not be negative and step {} must be positive", size, step);
  Tensor out = Tensor::empty(input_sizes, grad.dtype());
  fill(out, Scalar(0));
  if (rank == 0) {
    if (size > 0) copy_into(out, select(grad, 0, 0));
    return out;
  }
  const Tensor windows = unfold(out, d, size, step);
  const IntSpan sizes = windows.sizes();
  const auto is_spread = [](int64_t size, int64_t given) { return given == size || given == 1; };
  if (!std::equal(sizes.begin(), sizes.end(), grad.sizes().begin(), grad.sizes().end(),
                  is_spread)) {
    fail(ErrorCode::kInvalidArgument, "unfold_backward: expected a gradient of shape {}, got {}",
         shape_string(sizes), shape_string(grad.sizes()));
  }
  const Tensor given = broadcast_to(grad, IntVector(sizes.begin(), sizes.end()));
  for (int64_t i = 0; i < sizes[d]; ++i) {
    const Tensor target = select(windows, d, i);
    pointwise_into(target, {Body::kAdd}, {target, select(given, d, i)});
  }
  return out;
}

}  // namespace tierup::kernels
