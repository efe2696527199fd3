#include "tierup/kernels/memory/type_promotion.h"

namespace tierup::kernels {
namespace {

using Category = std::optional<ScalarType>;

Category combine(Category high, Category low) {
  if (!high || !low) return high ? high : low;
  if (is_complex(*high)) return high;
  if (is_floating(*high)) return is_complex(*low) ? complex_type_of(*high) : high;
  if (*high == ScalarType::kBool || is_floating(*low) || is_complex(*low)) {
    return promote_types(*high, *low);
  }
  return high;
}

}  // namespace

void TypePromotion::widen(Category& category, ScalarType type) {
  category = category ? promote_types(*category, type) : type;
}

TypePromotion& TypePromotion::add(const Tensor& tensor) {
  if (!tensor.defined()) return *this;
  if (tensor.dim() > 0) {
    widen(dimensioned_, tensor.dtype());
  } else if (!tensor.impl()->wrapped_number) {
    widen(zero_dim_, tensor.dtype());
  } else if (is_complex(tensor.dtype())) {
    widen(number_, ScalarType::kComplexFloat);
  } else {
    widen(number_, is_floating(tensor.dtype()) ? kDefaultDtype : tensor.dtype());
  }
  return *this;
}

TypePromotion& TypePromotion::add(const Scalar& number) {
  widen(number_, default_dtype_of(number));
  return *this;
}

ScalarType TypePromotion::result() const {
  const Category all = combine(dimensioned_, combine(zero_dim_, number_));
  TIERUP_CHECK(all.has_value());
  return *all;
}

ScalarType default_dtype_of(const Scalar& number) {
  if (number.is_complex()) return ScalarType::kComplexFloat;
  return number.is_float() ? kDefaultDtype : number.dtype();
}

}  // namespace tierup::kernels
