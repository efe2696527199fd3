// See input_form.h.
#include "tierup/ops/regions/input_form.h"

#include <algorithm>
#include <bit>

namespace tierup::ops {

bool same_constant(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag()) return false;
  const auto same_bits = [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  };
  switch (a.tag()) {
    case IValue::Tag::kFloat: return same_bits(a.to_float(), b.to_float());
    case IValue::Tag::kComplex:
      return same_bits(a.to_complex().real(), b.to_complex().real()) &&
             same_bits(a.to_complex().imag(), b.to_complex().imag());
    case IValue::Tag::kTuple:
      return std::ranges::equal(a.to_tuple().items, b.to_tuple().items, same_constant);
    case IValue::Tag::kList:
      return std::ranges::equal(a.to_list().items, b.to_list().items, same_constant);
    default: return a.is_same(b);
  }
}

InputForm::InputForm(const TensorImpl& tensor)
    : is_tensor(true),
      is_contiguous(tensor.contiguous),
      dtype(tensor.dtype),
      sizes(tensor.sizes),
      strides(tensor.strides) {}

InputForm::InputForm(const IValue& value) {
  if (const TensorImpl* tensor = value.tensor_impl()) {
    *this = InputForm(*tensor);
  } else {
    constant = deep_copy(value);
  }
}

bool InputForm::holds(const IValue& value) const {
  const TensorImpl* tensor = value.tensor_impl();
  return tensor != nullptr ? holds(*tensor) : !is_tensor && same_constant(constant, value);
}

bool InputForm::holds(const TensorImpl& tensor) const {
  return is_tensor && tensor.dtype == dtype && std::ranges::equal(tensor.sizes, sizes) &&
         ((is_contiguous && tensor.contiguous) || std::ranges::equal(tensor.strides, strides)) &&
         is_plain(tensor);
}

IValue InputForm::stand_in() const {
  return is_tensor ? IValue(Tensor::empty_strided(sizes, strides, dtype)) : constant;
}

}  // namespace tierup::ops
