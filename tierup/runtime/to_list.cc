#include "tierup/runtime/to_list.h"

#include "tierup/base/error.h"

namespace tierup::runtime {
namespace {

bool holds(TypeKind kind, ScalarType dtype) {
  switch (kind) {
    case TypeKind::kInt: return dtype == ScalarType::kLong;
    case TypeKind::kFloat: return is_floating(dtype);
    case TypeKind::kBool: return dtype == ScalarType::kBool;
    case TypeKind::kComplex: return is_complex(dtype);
    default: return false;
  }
}

// The dtype that a number's type stands for in the words of an error.
std::string_view dtype_word(TypeKind kind) {
  switch (kind) {
    case TypeKind::kInt: return scalar_type_name(ScalarType::kLong);
    case TypeKind::kFloat: return scalar_type_name(ScalarType::kFloat);
    case TypeKind::kBool: return scalar_type_name(ScalarType::kBool);
    case TypeKind::kComplex: return scalar_type_name(ScalarType::kComplexFloat);
    default: return "no number";
  }
}

template <typename T>
IValue element(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return complex128(value);
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
IValue nested(const Tensor& tensor, const T* data, size_t dim, const TypePtr& type) {
  if (dim == tensor.sizes().size()) return element(*data);
  std::vector<IValue> items;
  items.reserve(static_cast<size_t>(tensor.sizes()[dim]));
  for (int64_t i = 0; i < tensor.sizes()[dim]; ++i) {
    items.push_back(nested(tensor, data + i * tensor.strides()[dim], dim + 1, type->element()));
  }
  return make_ref<ListValue>(type->element(), std::move(items));
}

}  // namespace

IValue tensor_to_list(const Tensor& tensor, const TypePtr& type) {
  TypePtr inner = type;
  int64_t depth = 0;
  for (; inner->is(TypeKind::kList); inner = inner->element()) ++depth;
  require(depth == tensor.dim(), ErrorCode::kTypeError,
          "Output annotation list dimension and runtime tensor dimension must match for tolist(): "
          "{} and {}",
          depth, tensor.dim());
  if (!(holds(inner->kind(), tensor.dtype()))) {
    fail(ErrorCode::kTypeError,
         "Output annotation element type and runtime tensor element type must match for "
         "tolist(): {} vs {}",
         dtype_word(inner->kind()), scalar_type_name(tensor.dtype()));
  }
  return dispatch_all(tensor.dtype(), "tolist", [&](auto tag) -> IValue {
    using T = typename decltype(tag)::type;
    return nested<T>(tensor, tensor.data<T>(), 0, type);
  });
}

}  // namespace tierup::runtime
