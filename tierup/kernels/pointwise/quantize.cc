#include "tierup/kernels/pointwise/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup::kernels {
namespace {

void check_bounds(int64_t quant_min, int64_t quant_max) {
  require(quant_min <= quant_max, ErrorCode::kInvalidArgument,
          "`quant_min` should be less than or equal to `quant_max`, but found {} and {}", quant_min,
          quant_max);
}

void check_zero_point(int64_t zero_point, int64_t quant_min, int64_t quant_max) {
  require(zero_point >= quant_min && zero_point <= quant_max, ErrorCode::kOutOfRange,
          "`zero_point` must be between `quant_min` and `quant_max`, but found {}, not in [{}, {}]",
          zero_point, quant_min, quant_max);
}

// What is not single precision, or wider, is computed in it: tensors of parameters would lose bits.
Tensor in_work_type(const Tensor& self) {
  const ScalarType dtype = self.dtype();
  const bool is_reduced = dtype == ScalarType::kHalf || dtype == ScalarType::kBFloat16;
  return is_reduced ? to_dtype(self, ScalarType::kFloat) : self;
}

// What bodies ask for, numbers or tensors. Bounds are counted from zero.
struct Steps {
  Operand inverse, scale, lower, upper;
};

Steps steps_of(double scale, int64_t zero_point, int64_t quant_min, int64_t quant_max) {
  const auto single = static_cast<float>(scale);
  const auto zero = static_cast<double>(zero_point);
  const auto from_zero = [&](int64_t bound) { return Scalar(static_cast<double>(bound) - zero); };
  return {Scalar(static_cast<double>(1.0F / single)), Scalar(static_cast<double>(single)),
          from_zero(quant_min), from_zero(quant_max)};
}

PointwiseCall rounded(const Tensor& self, const Steps& s) {
  return describe_call({Body::kFakeQuantize, Promote::kSame, 1}, self, s.inverse, s.scale, s.lower,
                       s.upper);
}
Tensor mask_of(const Tensor& self, const Steps& s) {
  return pointwise({Body::kFakeQuantizeFits, Promote::kSame, 1},
                   {self, s.inverse, s.lower, s.upper});
}
std::tuple<Tensor, Tensor> with_mask(const Tensor& self, const Steps& steps) {
  return {evaluate(rounded(self, steps)), mask_of(self, steps)};
}

Steps steps_of_tensors(const Tensor& scale, const Tensor& zero_point, int64_t quant_min,
                       int64_t quant_max) {
  check_bounds(quant_min, quant_max);
  const double zero = item(zero_point).to_double();
  require(std::abs(zero) < 0x1p62, ErrorCode::kOutOfRange, "there is no zero point {}", zero);
  return steps_of(item(scale).to_double(), static_cast<int64_t>(zero), quant_min, quant_max);
}

// A vector along a dimension of a tensor of that rank, in single precision.
Tensor along(const Tensor& vector, int64_t axis, int64_t rank) {
  const Tensor single = to_dtype(vector, ScalarType::kFloat);
  IntVector sizes(static_cast<size_t>(rank), 1);
  IntVector strides(static_cast<size_t>(rank), 0);
  sizes[static_cast<size_t>(axis)] = vector.numel();
  strides[static_cast<size_t>(axis)] = single.strides()[0];
  return single.as_view(sizes, strides, single.offset());
}

void check_channels(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                    int64_t axis) {
  require(scale.dtype() == ScalarType::kFloat || scale.dtype() == ScalarType::kBFloat16,
          ErrorCode::kTypeError, "Scale must be Float or BFloat16, found {}",
          scalar_type_name(scale.dtype()));
  const ScalarType zero = zero_point.dtype();
  require(zero == ScalarType::kInt || zero == ScalarType::kFloat || zero == ScalarType::kHalf,
          ErrorCode::kTypeError, "Zero-point must be Int32, Float or Half, found {}",
          scalar_type_name(zero));
  require(scale.dim() == 1, ErrorCode::kInvalidArgument, "scale should be a 1-D tensor");
  require(zero_point.dim() == 1, ErrorCode::kInvalidArgument, "zero point should be a 1-D tensor");
  require(scale.numel() == zero_point.numel(), ErrorCode::kInvalidArgument,
          "scale and zero-point need to have the same dimensions, but have {} and {} elements",
          scale.numel(), zero_point.numel());
  require(axis >= 0 && axis < self.dim(), ErrorCode::kOutOfRange,
          "`axis` must be between 0 and number of dimensions of input, but found {} for {}", axis,
          shape_string(self.sizes()));
  require(scale.numel() == self.size(axis), ErrorCode::kInvalidArgument,
          "dimensions of scale and zero-point are not consistent with input tensor: {} elements "
          "for dimension {} of {}",
          scale.numel(), axis, shape_string(self.sizes()));
}

void check_zero_points(const Tensor& zero_point, int64_t quant_min, int64_t quant_max) {
  const Tensor zeros = contiguous(zero_point);
  const int32_t* data = zeros.data<int32_t>();
  for (int64_t c = 0; c < zeros.numel(); ++c) check_zero_point(data[c], quant_min, quant_max);
}

// Zero points that are floats are added before steps are rounded.
Tensor shifted_steps(const Tensor& x, const Tensor& inverse, const Tensor& zero) {
  return pointwise({Body::kRound},
                   {pointwise({Body::kAdd}, {pointwise({Body::kMul}, {x, inverse}), zero})});
}
std::tuple<Tensor, Tensor> by_shifted_steps(const Tensor& x, const Tensor& scale,
                                            const Tensor& inverse, const Tensor& zero,
                                            int64_t quant_min, int64_t quant_max) {
  const Scalar lower(static_cast<double>(quant_min));
  const Scalar upper(static_cast<double>(quant_max));
  const Tensor steps = shifted_steps(x, inverse, zero);
  const Tensor bounded =
      pointwise({Body::kFmin}, {pointwise({Body::kFmax}, {steps, lower}), upper});
  const Tensor mask = pointwise({Body::kBitAnd}, {pointwise({Body::kGe}, {steps, lower}),
                                                  pointwise({Body::kLe}, {steps, upper})});
  return {pointwise({Body::kMul}, {pointwise({Body::kSub}, {bounded, zero}), scale}), mask};
}

// Bounds of integers that steps may be stored as.
void check_stored(int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  std::array<int64_t, 2> held{};
  switch (dtype) {
    case ScalarType::kByte: held = {0, 255}; break;
    case ScalarType::kChar: held = {-128, 127}; break;
    case ScalarType::kShort: held = {-32768, 32767}; break;
    case ScalarType::kUInt16: held = {0, 65535}; break;
    case ScalarType::kInt:
      held = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
      break;
    default: fail(ErrorCode::kUnsupported, "Unsupported dtype: {}", scalar_type_name(dtype));
  }
  require(quant_min >= held[0] && quant_max <= held[1], ErrorCode::kOutOfRange,
          "quant_min and quant_max out of bounds for dtype {}: {} and {}", scalar_type_name(dtype),
          quant_min, quant_max);
}

Tensor stored_steps(const Tensor& self, const Operand& inverse, const Operand& zero,
                    int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  const Tensor x = in_work_type(self);
  require(x.dtype() == ScalarType::kFloat, ErrorCode::kTypeError,
          "Expecting input to have dtype torch.float32, but got dtype: {}",
          scalar_type_name(self.dtype()));
  check_stored(quant_min, quant_max, dtype);
  const PointwiseOp op{Body::kQuantize, Promote::kSame, 1};
  return to_dtype(pointwise(op, {x, inverse, zero, Scalar(static_cast<double>(quant_min)),
                                 Scalar(static_cast<double>(quant_max))}),
                  dtype);
}

Tensor numbers_of(const Tensor& self, const Operand& scale, const Operand& zero, ScalarType dtype,
                  std::optional<ScalarType> out_dtype) {
  require(self.dtype() == dtype, ErrorCode::kTypeError,
          "Expecting input to have dtype: {}, but got dtype: {}", scalar_type_name(dtype),
          scalar_type_name(self.dtype()));
  const PointwiseOp op{Body::kDequantize, Promote::kSame, 0, ScalarType::kFloat};
  return to_dtype(pointwise(op, {self, scale, zero}), out_dtype.value_or(ScalarType::kFloat));
}

// A parameter of each entry of a dimension, which may be counted from the end.
Tensor parameter_along(const Tensor& parameter, const Tensor& self, int64_t axis) {
  const auto d = wrap_dim(axis, self.dim());
  require(parameter.dim() == 1 && parameter.numel() == self.size(d), ErrorCode::kInvalidArgument,
          "expected a vector of {} scales or zero points, but got {}", self.size(d),
          shape_string(parameter.sizes()));
  return along(parameter, d, self.dim());
}

}  // namespace

PointwiseCall fake_quantize(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                            int64_t quant_max) {
  check_bounds(quant_min, quant_max);
  check_zero_point(zero_point, quant_min, quant_max);
  return rounded(self, steps_of(scale, zero_point, quant_min, quant_max));
}

Tensor fake_quantize_by_tensors(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                int64_t quant_min, int64_t quant_max) {
  return evaluate(rounded(self, steps_of_tensors(scale, zero_point, quant_min, quant_max)));
}

Tensor fake_quantize_channels(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                              int64_t axis, int64_t quant_min, int64_t quant_max) {
  return std::get<0>(
      fake_quantize_channels_with_mask(self, scale, zero_point, axis, quant_min, quant_max));
}

std::tuple<Tensor, Tensor> fake_quantize_with_mask(const Tensor& self, double scale,
                                                   int64_t zero_point, int64_t quant_min,
                                                   int64_t quant_max) {
  check_bounds(quant_min, quant_max);
  check_zero_point(zero_point, quant_min, quant_max);
  return with_mask(self, steps_of(scale, zero_point, quant_min, quant_max));
}

std::tuple<Tensor, Tensor> fake_quantize_by_tensors_with_mask(
    const Tensor& self, const Tensor& scale, const Tensor& zero_point, const Tensor& enabled,
    int64_t quant_min, int64_t quant_max) {
  const Steps steps = steps_of_tensors(scale, zero_point, quant_min, quant_max);
  if (item(enabled).to_double() != 0) return with_mask(self, steps);
  const Tensor everywhere = empty_like(self, ScalarType::kBool);
  fill(everywhere, true);
  return {clone(self), everywhere};
}

std::tuple<Tensor, Tensor> fake_quantize_channels_with_mask(const Tensor& self, const Tensor& scale,
                                                            const Tensor& zero_point, int64_t axis,
                                                            int64_t quant_min, int64_t quant_max) {
  check_channels(self, scale, zero_point, axis);
  check_bounds(quant_min, quant_max);
  const bool is_whole = zero_point.dtype() == ScalarType::kInt;
  if (is_whole) check_zero_points(zero_point, quant_min, quant_max);
  const Tensor x = in_work_type(self);
  const Tensor steps = along(scale, axis, self.dim());
  const Tensor inverse = pointwise({Body::kReciprocal}, {steps});
  const Tensor zero = along(zero_point, axis, self.dim());
  const auto from_zero = [&](int64_t bound) {
    return pointwise({Body::kSub}, {Scalar(static_cast<double>(bound)), zero});
  };
  auto [out, mask] =
      is_whole ? with_mask(x, {inverse, steps, from_zero(quant_min), from_zero(quant_max)})
               : by_shifted_steps(x, steps, inverse, zero, quant_min, quant_max);
  return {to_dtype(out, self.dtype()), mask};
}

PointwiseCall fake_quantize_backward(const Tensor& grad, const Tensor& mask) {
  require(mask.dtype() == ScalarType::kBool, ErrorCode::kTypeError,
          "expected a bool mask, but got {}", scalar_type_name(mask.dtype()));
  require(mask.numel() == grad.numel(), ErrorCode::kInvalidArgument,
          "expected a mask of {} elements, but got {}", grad.numel(), mask.numel());
  return {{Body::kMul}, {grad, mask}};
}

Tensor quantize(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                int64_t quant_max, ScalarType dtype) {
  return stored_steps(self, Scalar(1.0 / scale), Scalar(static_cast<double>(zero_point)), quant_min,
                      quant_max, dtype);
}

Tensor quantize_channels(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                         int64_t axis, int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  const Tensor scale = parameter_along(scales, self, axis);
  return stored_steps(self, pointwise({Body::kReciprocal}, {scale}),
                      parameter_along(zero_points, self, axis), quant_min, quant_max, dtype);
}

Tensor dequantize(const Tensor& self, double scale, int64_t zero_point, int64_t /*quant_min*/,
                  int64_t /*quant_max*/, ScalarType dtype, std::optional<ScalarType> out_dtype) {
  return numbers_of(self, Scalar(scale), Scalar(static_cast<double>(zero_point)), dtype, out_dtype);
}

Tensor dequantize_channels(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                           int64_t axis, int64_t /*quant_min*/, int64_t /*quant_max*/,
                           ScalarType dtype, std::optional<ScalarType> out_dtype) {
  const Operand zero =
      zero_points.defined() ? Operand(parameter_along(zero_points, self, axis)) : Scalar(0.0);
  return numbers_of(self, parameter_along(scales, self, axis), zero, dtype, out_dtype);
}

}  // namespace tierup::kernels
