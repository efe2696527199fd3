#include "tierup/ops/table/boxing.h"

#include "tierup/kernels/memory/copy.h"

namespace tierup::ops::detail {
namespace {

// The tensor as its numbers, without lazy bits.
Tensor with_data(Tensor tensor) {
  require(!tensor.is_meta(), ErrorCode::kUnsupported,
          "tensors on the meta device have no data to compute with");
  if (tensor.impl()->conjugate || tensor.impl()->negative) {
    return kernels::resolve_lazy_bits(tensor);
  }
  return tensor;
}

}  // namespace

IntVector unbox_ints(const IValue& value) {
  IntVector result;
  if (!value.is_list()) {
    result.push_back(value.to_scalar().to_int());
    return result;
  }
  for (const IValue& item : value.to_list().items) {
    result.push_back(item.is_int() ? item.to_int() : item.to_scalar().to_int());
  }
  return result;
}

std::vector<double> unbox_doubles(const IValue& value) {
  std::vector<double> result;
  for (const IValue& item : value.to_list().items) result.push_back(item.to_scalar().to_double());
  return result;
}

std::vector<bool> unbox_bools(const IValue& value) {
  std::vector<bool> result;
  for (const IValue& item : value.to_list().items) result.push_back(item.to_scalar().to_bool());
  return result;
}

std::vector<Tensor> unbox_tensors(const IValue& value) {
  std::vector<Tensor> result;
  const ListValue& list = value.to_list();
  result.reserve(list.items.size());
  for (const IValue& item : list.items) {
    Tensor tensor = item.to_tensor();
    result.push_back(tensor.defined() ? with_data(std::move(tensor)) : std::move(tensor));
  }
  return result;
}

std::vector<Scalar> unbox_scalars(const IValue& value) {
  std::vector<Scalar> result;
  for (const IValue& item : value.to_list().items) result.push_back(item.to_scalar());
  return result;
}

Tensor unbox_lazy_tensor(IValue& value) {
  if (value.is_number()) {
    Tensor wrapped = Tensor::scalar(value.to_scalar());
    wrapped.impl()->wrapped_number = true;
    return wrapped;
  }
  return std::move(value).to_tensor();
}

Tensor unbox_tensor(IValue& value) {
  Tensor tensor = unbox_lazy_tensor(value);
  if (!tensor.defined()) return tensor;
  return with_data(std::move(tensor));
}

IValue box_ints(const IntVector& values) { return make_int_list({values.data(), values.size()}); }

IValue box_tensors(std::vector<Tensor> values) { return make_tensor_list(std::move(values)); }

}  // namespace tierup::ops::detail
