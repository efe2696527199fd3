// Type promotion (torch.result_type): which dtype an operator on mixed arguments computes in.
//
// Arguments fall in three categories: tensors with dimensions, 0-dim tensors, and Python numbers
// (Scalars, and tensors wrapped from numbers). A lower category only counts if its kind of number
// (bool < integer < floating < complex) is above that of the higher category.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// torch.get_default_dtype().
inline constexpr ScalarType kDefaultDtype = ScalarType::kFloat;

class TypePromotion {
 public:
  // An undefined tensor does not count.
  TypePromotion& add(const Tensor& tensor);
  TypePromotion& add(const Scalar& number);
  // The promoted dtype. There must be at least one argument.
  ScalarType result() const;

 private:
  using Category = std::optional<ScalarType>;
  static void widen(Category& category, ScalarType type);
  Category dimensioned_;
  Category zero_dim_;
  Category number_;
};

template <typename... Arguments>
ScalarType result_type(const Arguments&... arguments) {
  TypePromotion promotion;
  (promotion.add(arguments), ...);
  return promotion.result();
}

// The dtype of a number as a tensor: bool, int64, and the default dtypes for float and complex.
ScalarType default_dtype_of(const Scalar& number);

// Integers and bool become the default dtype; floating and complex types stay. What operators
// such as sin, exp and true division compute in.
inline ScalarType to_floating(ScalarType type) {
  return is_integral(type, true) ? kDefaultDtype : type;
}

}  // namespace tierup::kernels
