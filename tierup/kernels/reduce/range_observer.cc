#include "tierup/kernels/reduce/range_observer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/quantize.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr double kSmallestScale = 6.1e-5;  // That of f16, about.

struct Quantization {
  float scale;
  int32_t zero_point;
};

// The range with zero in it; a symmetric one has as many steps on both sides of zero.
struct Range {
  double smallest;
  double largest;
  bool is_centred;
};
Range range_of(float smallest, float largest, int64_t steps, bool symmetric) {
  const bool is_centred = symmetric && smallest < 0 && largest > 0;
  Range range{std::min(smallest, 0.0F), std::max(largest, 0.0F), is_centred};
  if (!is_centred) return range;
  const auto above = static_cast<double>(steps / 2);
  const double below = above + 1;
  const double scale = std::max(std::abs(range.smallest / below), std::abs(range.largest / above));
  return {-scale * below, scale * above, true};
}

// Steps that cover the range. Zero is one of them; it is counted from the end where that loses
// less.
Quantization quantization_of(float smallest, float largest, int64_t quant_min, int64_t quant_max,
                             bool symmetric) {
  if (std::isnan(smallest) || std::isnan(largest)) {
    return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<int32_t>::min()};
  }
  const int64_t steps = quant_max - quant_min;
  Range range = range_of(smallest, largest, steps, symmetric);
  auto scale = static_cast<float>((range.largest - range.smallest) / static_cast<double>(steps));
  if (scale == 0 || std::isinf(1.0F / scale)) scale = 0.1F;
  if (scale < static_cast<float>(kSmallestScale)) {
    const double growth = kSmallestScale / static_cast<double>(scale);
    scale = static_cast<float>(kSmallestScale);
    range.smallest *= growth;
    range.largest *= growth;
  }
  const auto lower = static_cast<double>(quant_min);
  const auto upper = static_cast<double>(quant_max);
  const double below = range.smallest / static_cast<double>(scale);
  const double above = range.largest / static_cast<double>(scale);
  const bool from_lower = std::abs(lower) + std::abs(below) < std::abs(upper) + std::abs(above);
  double zero = from_lower ? lower - below : upper - above;
  if (range.is_centred) zero = (lower + upper) / 2;
  if (std::isnan(zero)) return {scale, std::numeric_limits<int32_t>::min()};  // Of infinities.
  return {scale, static_cast<int32_t>(std::nearbyint(std::clamp(zero, lower, upper)))};
}

void write(const Tensor& kept, const Tensor& values) {
  check_no_internal_overlap(kept);
  copy_into(kept, values);
  kept.bump_version();
}

void move_average(const Tensor& average, const Tensor& observed, double part) {
  const Tensor old = contiguous(average);
  const Tensor next = Tensor::empty(average.sizes(), ScalarType::kFloat);
  const Tensor found = contiguous(observed);
  for (int64_t c = 0; c < next.numel(); ++c) {
    const float before = old.data<float>()[c];
    const float now = found.data<float>()[c];
    next.data<float>()[c] =
        std::isinf(before) ? now : before + static_cast<float>(part) * (now - before);
  }
  write(average, next);
}

void observe(const Tensor& self, const ObservedRange& range, const ObserverSettings& settings) {
  require(self.dtype() == ScalarType::kFloat, ErrorCode::kUnsupported,
          "expected an observed tensor of scalar type Float but found {}",
          scalar_type_name(self.dtype()));
  require(!settings.per_row || settings.axis == 0, ErrorCode::kUnsupported,
          "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == "
          "0, but found {}",
          settings.axis);
  const auto rows = [&] {
    return reshape(self, IntVector{self.size(0), numel_of(self.sizes().subspan(1))});
  };
  const auto [smallest, largest] =
      settings.per_row ? aminmax(rows(), 1, false) : aminmax(self, std::nullopt, false);
  move_average(range.smallest, smallest, settings.averaging);
  move_average(range.largest, largest, settings.averaging);
}

void choose_quantization(const ObservedRange& range, const ObserverSettings& settings) {
  require(settings.quant_min < settings.quant_max, ErrorCode::kInvalidArgument,
          "`quant_min` should be less than `quant_max`, but found {} and {}", settings.quant_min,
          settings.quant_max);
  const int64_t count = range.smallest.numel();
  const Tensor smallest = contiguous(range.smallest);
  const Tensor largest = contiguous(range.largest);
  const Tensor scales = Tensor::empty(IntVector{count}, ScalarType::kFloat);
  const Tensor zero_points = Tensor::empty(IntVector{count}, ScalarType::kInt);
  for (int64_t c = 0; c < count; ++c) {
    const Quantization chosen =
        quantization_of(smallest.data<float>()[c], largest.data<float>()[c], settings.quant_min,
                        settings.quant_max, settings.symmetric);
    scales.data<float>()[c] = chosen.scale;
    zero_points.data<int32_t>()[c] = chosen.zero_point;
  }
  write(range.scale,
        reshape(scales, IntVector(range.scale.sizes().begin(), range.scale.sizes().end())));
  write(range.zero_point, reshape(zero_points, IntVector(range.zero_point.sizes().begin(),
                                                         range.zero_point.sizes().end())));
}

void check_range(const Tensor& self, const ObservedRange& range, const ObserverSettings& settings) {
  require(!settings.per_row || (settings.axis >= 0 && settings.axis < self.dim()),
          ErrorCode::kOutOfRange, "Error in fused_moving_avg_obs_fake_quant: axis {} of {}",
          settings.axis, shape_string(self.sizes()));
  const int64_t count = settings.per_row ? self.size(settings.axis) : 1;
  for (const Tensor* kept : {&range.smallest, &range.largest, &range.scale, &range.zero_point}) {
    require(kept->numel() == count, ErrorCode::kUnsupported,
            "fused_moving_avg_obs_fake_quant: expected ranges, scales and zero points of {} "
            "elements, but found {}",
            count, kept->numel());
  }
  require(
      range.smallest.dtype() == ScalarType::kFloat && range.largest.dtype() == ScalarType::kFloat,
      ErrorCode::kTypeError, "fused_moving_avg_obs_fake_quant: expected ranges of float32");
}

}  // namespace

std::tuple<Tensor, Tensor> observe_and_quantize(const Tensor& self, const ObservedRange& range,
                                                const ObserverSettings& settings) {
  require(!settings.per_row || self.dim() > 1, ErrorCode::kOutOfRange,
          "fused_moving_avg_obs_fake_quant: expected rows, but found a tensor of {} dimensions",
          self.dim());
  if (settings.observes || settings.quantizes) {
    check_range(self, range, settings);
    if (settings.observes) observe(self, range, settings);
    if (settings.quantizes) {
      choose_quantization(range, settings);
      if (settings.per_row) {
        return fake_quantize_channels_with_mask(self, range.scale, range.zero_point, settings.axis,
                                                settings.quant_min, settings.quant_max);
      }
      return fake_quantize_by_tensors_with_mask(self, range.scale, range.zero_point,
                                                Tensor::scalar(true), settings.quant_min,
                                                settings.quant_max);
    }
  }
  const Tensor everywhere = empty_like(self, ScalarType::kBool);
  fill(everywhere, true);
  return {clone(self), everywhere};
}

}  // namespace tierup::kernels
