#include "numpy_api.h"

#include <array>
#include <utility>

namespace tierup::python {

namespace nb = nanobind;

namespace {

using NewArray = PyObject* (*)(PyTypeObject* type, int rank, const Py_ssize_t* shape, int number,
                               const Py_ssize_t* strides, void* data, int item_bytes, int flags,
                               PyObject* like);
using SetBase = int (*)(PyObject* array, PyObject* base);

struct Table {
  PyTypeObject* type = nullptr;
  NewArray new_array = nullptr;
  SetBase set_base = nullptr;
};

constexpr size_t kType = 2;
constexpr size_t kNewArray = 93;
constexpr size_t kSetBase = 282;
constexpr int kAligned = 0x100;
constexpr int kWritable = 0x400;

Table find_table() {
  for (const char* module : {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"}) {
    try {
      const nb::object capsule = nb::module_::import_(module).attr("_ARRAY_API");
      auto** functions = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
      if (functions == nullptr) throw nb::python_error();
      return {static_cast<PyTypeObject*>(functions[kType]),
              reinterpret_cast<NewArray>(functions[kNewArray]),
              reinterpret_cast<SetBase>(functions[kSetBase])};
    } catch (nb::python_error&) {  // Of another version.
    }
  }
  return {};
}

// NumPy's numbers of dtypes; `long` has 64 bits wherever tierup runs, and `long long` is another.
constexpr std::pair<int, DType> kNumbers[] = {
    {0, DType::kBool},     {1, DType::kInt8},       {2, DType::kUInt8},       {3, DType::kInt16},
    {4, DType::kUInt16},   {5, DType::kInt32},      {6, DType::kUInt32},      {7, DType::kInt64},
    {8, DType::kUInt64},   {9, DType::kInt64},      {10, DType::kUInt64},     {11, DType::kFloat32},
    {12, DType::kFloat64}, {14, DType::kComplex64}, {15, DType::kComplex128}, {23, DType::kFloat16},
};

// By dtype; -1 if NumPy has none.
constexpr std::array<int8_t, 256> kNumberOf = [] {
  std::array<int8_t, 256> numbers{};
  numbers.fill(-1);
  for (const auto& [number, dtype] : kNumbers) {
    int8_t& place = numbers[static_cast<uint8_t>(dtype)];
    if (place < 0) place = static_cast<int8_t>(number);
  }
  return numbers;
}();

// By number; without a value if tierup has none.
constexpr std::array<std::optional<DType>, 24> kDtypeOf = [] {
  std::array<std::optional<DType>, 24> dtypes{};
  for (const auto& [number, dtype] : kNumbers) dtypes[static_cast<size_t>(number)] = dtype;
  return dtypes;
}();

struct ArrayFields {
  PyObject head;
  void* data;
  int rank;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
};

struct DtypeFields {
  PyObject head;
  PyTypeObject* scalar;
  char kind;
  char letter;
  char byte_order;
  char unused;
  int number;
};

}  // namespace

std::optional<NumpyView> numpy_view(PyObject* array) {
  const auto* fields = reinterpret_cast<const ArrayFields*>(array);
  const auto* dtype = reinterpret_cast<const DtypeFields*>(fields->dtype);
  if (dtype->byte_order != '=' && dtype->byte_order != '|') return std::nullopt;
  const auto number = static_cast<size_t>(dtype->number);
  if (number >= kDtypeOf.size() || !kDtypeOf[number]) return std::nullopt;
  return NumpyView{fields->data,
                   *kDtypeOf[number],
                   fields->rank,
                   fields->shape,
                   fields->strides,
                   (fields->flags & kAligned) != 0,
                   (fields->flags & kWritable) != 0};
}

nb::object numpy_array_over(const Tensor& tensor, const nb::object& owner) {
  static const Table table = find_table();
  const int number = kNumberOf[static_cast<uint8_t>(tensor.dtype())];
  constexpr size_t kMaxRank = 32;
  const size_t rank = tensor.shape().size();
  if (table.new_array == nullptr || number < 0 || rank > kMaxRank) return {};
  Py_ssize_t shape[kMaxRank];
  Py_ssize_t strides[kMaxRank];
  const auto bytes = static_cast<Py_ssize_t>(dtype_size(tensor.dtype()));
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = tensor.shape()[i];
    strides[i] = tensor.strides()[i] * bytes;
  }
  // Without memory NumPy makes its own: of no elements.
  void* const data = tensor.element_count() == 0 ? nullptr : tensor.data();
  nb::object array =
      nb::steal(table.new_array(table.type, static_cast<int>(rank), shape, number,
                                data == nullptr ? nullptr : strides, data, 0, kWritable, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  if (data == nullptr) return array;
  if (table.set_base(array.ptr(), nb::borrow(owner).release().ptr()) != 0) {
    throw nb::python_error();
  }
  return array;
}

}  // namespace tierup::python
