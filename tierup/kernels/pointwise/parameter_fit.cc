#include "tierup/kernels/pointwise/parameter_fit.h"

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

// What one parameter is converted to.
enum class Target : uint8_t {
  kNothing,
  kElement,      // The common dtype.
  kWork,         // That, but float32 for f16 and bf16.
  kWideElement,  // That, but anything goes for f16 and bf16.
};

// Of operand k of a body; tensors that are promoted together with numbers come first.
Target target_of(Body body, size_t k) {
  switch (body) {
    case Body::kElu:
    case Body::kLeakyRelu:
    case Body::kSoftplus:
    case Body::kLerp:
    case Body::kAddcmul:
    case Body::kAddcdiv: return Target::kWork;
    case Body::kThreshold: return k == 1 ? Target::kWork : Target::kElement;
    case Body::kAddScaled:
    case Body::kSubScaled: return k == 2 ? Target::kElement : Target::kNothing;
    case Body::kWhere: return Target::kWideElement;
    case Body::kClamp:
    case Body::kMaximum:
    case Body::kMinimum:
    case Body::kHardshrink:
    case Body::kLogit: return Target::kElement;
    default: return Target::kNothing;
  }
}

void check_parameter(const Scalar& number, ScalarType type, Target target) {
  if (target == Target::kNothing) return;
  if (target == Target::kWideElement && work_type(type) != type) return;
  check_element(number, target == Target::kWork ? work_type(type) : type);
}

}  // namespace

void check_element(const Scalar& number, ScalarType type) {
  dispatch_all(type, "parameter", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kIsComplex<T>) {
      const complex128 value = number.to_complex();
      static_cast<void>(Scalar(value.real()).to<typename T::value_type>());
      static_cast<void>(Scalar(value.imag()).to<typename T::value_type>());
    } else {
      static_cast<void>(number.to<T>());
    }
  });
}

void check_parameters(Body body, ScalarType common, Operands operands) {
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!operands[k].is_tensor()) check_parameter(operands[k].number, common, target_of(body, k));
  }
}

}  // namespace tierup::kernels
