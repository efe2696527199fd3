// The language's tensor constructors: torch.tensor and torch.as_tensor of numbers and lists.
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/creation.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/ops/table/factory_arguments.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// The dtype torch.tensor gives a number: float numbers get the default dtype.
ScalarType literal_dtype(const Scalar& value) { return k::default_dtype_of(value); }

Tensor from_number(const Scalar& value, Dtype dtype, const OptionalDevice& device) {
  const ScalarType literal = literal_dtype(value);
  if (dtype.value_or(literal) == literal) return k::full({}, value, literal, device);
  return k::convert_to(Tensor::scalar(value), {dtype, device, {}, false});
}
Tensor tensor_of(const Scalar& value, Dtype dtype, OptionalDevice device, bool requires_grad) {
  const Tensor result = from_number(value, dtype, device);
  result.set_requires_grad(requires_grad);
  return result;
}
Tensor as_tensor(const Tensor& data, Dtype dtype, OptionalDevice device) {
  return k::convert_to(data, {dtype, device, {}, false});
}
Tensor as_tensor_of(const Scalar& value, Dtype dtype, OptionalDevice device) {
  return from_number(value, dtype, device);
}

// Shape of nested lists, by their first elements.
void read_shape(const IValue& data, IntVector& shape) {
  if (!data.is_list()) return;
  const auto& items = data.to_list().items;
  shape.push_back(static_cast<int64_t>(items.size()));
  if (!items.empty()) read_shape(items.front(), shape);
}

// Appends the numbers in row-major order. Throws kInvalidArgument for ragged lists.
void read_numbers(const IValue& data, IntSpan shape, std::vector<Scalar>& numbers) {
  if (shape.empty()) {
    numbers.push_back(data.to_scalar());
    return;
  }
  const auto& items = data.to_list().items;
  require(static_cast<int64_t>(items.size()) == shape[0], ErrorCode::kInvalidArgument,
          "Expected sequence of length {} at dim, got a sequence of length {}", shape[0],
          items.size());
  for (const IValue& item : items) read_numbers(item, shape.subspan(1), numbers);
}

// The static element type of a list, through nested lists; an empty list still knows it.
ScalarType element_dtype(const IValue& data, const std::vector<Scalar>& numbers) {
  if (!numbers.empty()) {
    const ScalarType dtype = literal_dtype(numbers.front());
    for (const Scalar& number : numbers) {
      require(literal_dtype(number) == dtype, ErrorCode::kTypeError,
              "torch.tensor: expected numbers of one kind, got a mixture");
    }
    return dtype;
  }
  TypePtr type = data.to_list().element;
  while (type && type->is(TypeKind::kList)) type = type->element();
  if (type && type->is(TypeKind::kInt)) return ScalarType::kLong;
  if (type && type->is(TypeKind::kBool)) return ScalarType::kBool;
  if (type && type->is(TypeKind::kComplex)) return ScalarType::kComplexFloat;
  return k::kDefaultDtype;
}

Tensor from_list(const IValue& data, Dtype dtype, const OptionalDevice& device) {
  IntVector shape;
  read_shape(data, shape);
  std::vector<Scalar> numbers;
  read_numbers(data, shape, numbers);
  const ScalarType type = dtype.value_or(element_dtype(data, numbers));
  const Tensor result = Tensor::empty(shape, type);
  dispatch_all(type, "tensor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = result.data<T>();
    for (const Scalar& number : numbers) *out++ = k::convert_number<T>(number);
  });
  return k::convert_to(result, {{}, device, {}, false});
}
Tensor tensor_of_list(const IValue& data, Dtype dtype, OptionalDevice device, bool requires_grad) {
  const Tensor result = from_list(data, dtype, device);
  result.set_requires_grad(requires_grad);
  return result;
}
Tensor as_tensor_of_list(const IValue& data, Dtype dtype, OptionalDevice device) {
  return from_list(data, dtype, device);
}

constexpr OpRow kRows[] = {
    {"aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool "
     "requires_grad=False) -> Tensor",
     boxed<&tensor_of>},
    {"aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool "
     "requires_grad=False) -> Tensor",
     boxed<&tensor_of>},
    {"aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool "
     "requires_grad=False) -> Tensor",
     boxed<&tensor_of>},
    {"aten::tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool "
     "requires_grad=False) -> Tensor",
     boxed<&tensor_of>},
    {"aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool "
     "requires_grad=False) -> Tensor",
     boxed<&tensor_of_list>},
    {"aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
     boxed<&as_tensor_of>},
    {"aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
     boxed<&as_tensor_of>},
    {"aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
     boxed<&as_tensor_of>},
    {"aten::as_tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
     boxed<&as_tensor_of>},
    {"aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> "
     "Tensor(b|a)",
     boxed_lazy<&as_tensor>},
    {"aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
     boxed<&as_tensor_of_list>},
};

}  // namespace

std::span<const OpRow> tensor_literals_rows() { return kRows; }

}  // namespace tierup::ops
