// tierup.Tensor: what a model gives to a caller who gave neither NumPy's nor PyTorch's arrays. A
// carrier, without arithmetic.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <complex>
#include <cstring>

#include "buffers.h"
#include "carriers.h"
#include "errors.h"
#include "training.h"

namespace tierup::python {
namespace {

nb::tuple as_tuple(std::span<const int64_t> numbers) {
  nb::list items;
  for (const int64_t number : numbers) items.append(number);
  return nb::tuple(items);
}

template <typename T>
nb::object load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return nb::cast(value);
}

nb::object load_complex(double real, double imaginary) {
  return nb::steal(PyComplex_FromDoubles(real, imaginary));
}

nb::object element(const char* at, DType dtype) {
  switch (dtype) {
    case DType::kUInt8: return load<uint8_t>(at);
    case DType::kInt8: return load<int8_t>(at);
    case DType::kInt16: return load<int16_t>(at);
    case DType::kInt32: return load<int32_t>(at);
    case DType::kInt64: return load<int64_t>(at);
    case DType::kUInt16: return load<uint16_t>(at);
    case DType::kUInt32: return load<uint32_t>(at);
    case DType::kUInt64: return load<uint64_t>(at);
    case DType::kFloat32: return load<float>(at);
    case DType::kFloat64: return load<double>(at);
    case DType::kBool: return load<bool>(at);
    case DType::kComplex64: {
      float parts[2];
      std::memcpy(parts, at, sizeof(parts));
      return load_complex(parts[0], parts[1]);
    }
    case DType::kComplex128: {
      double parts[2];
      std::memcpy(parts, at, sizeof(parts));
      return load_complex(parts[0], parts[1]);
    }
    default: throw ArgumentError{true, "no Python number stands for " + dtype_name(dtype)};
  }
}

// Half precision has no Python number of its own; every such value is a float.
Tensor readable(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return is_half ? tensor.to(DType::kFloat32).contiguous() : tensor.contiguous();
}

nb::object nested(const char*& at, const Tensor& tensor, size_t dim) {
  if (dim == tensor.shape().size()) {
    nb::object result = element(at, tensor.dtype());
    at += dtype_size(tensor.dtype());
    return result;
  }
  nb::list items;
  for (int64_t i = 0; i < tensor.shape()[dim]; ++i) items.append(nested(at, tensor, dim + 1));
  return items;
}

nb::object to_list(const Tensor& tensor) {
  const Tensor source = readable(tensor);
  const char* at = source.element_count() == 0 ? nullptr : static_cast<const char*>(source.data());
  return nested(at, source, 0);
}

nb::object item(const Tensor& tensor) {
  if (tensor.element_count() != 1) {
    PyErr_Format(PyExc_ValueError, "item() needs a tensor of one element, not %s",
                 tensor.describe().c_str());
    throw nb::python_error();
  }
  const Tensor source = readable(tensor);
  return element(static_cast<const char*>(source.data()), source.dtype());
}

void free_versioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kVersionedName)) return;  // A consumer took it over.
  auto* managed =
      static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
  managed->deleter(managed);
}

void free_unversioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kUnversionedName)) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kUnversionedName));
  managed->deleter(managed);
}

// As the array API's standard has it; `stream` has no meaning on the CPU.
nb::object to_capsule(const Tensor& tensor, nb::object /*stream*/, nb::object max_version,
                      nb::object dl_device, nb::object copy) {
  if (!dl_device.is_none() && nb::cast<int>(dl_device[0]) != 1) {
    PyErr_SetString(PyExc_BufferError, "the tensor is in CPU memory, and stays there");
    throw nb::python_error();
  }
  const bool wants_copy = !copy.is_none() && nb::cast<bool>(copy);
  const Tensor source = wants_copy ? tensor.clone() : plain_tensor(tensor);
  const bool is_versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  PyObject* capsule = nullptr;
  if (is_versioned) {
    DLManagedTensorVersioned* managed = source.to_dlpack_versioned();
    constexpr uint64_t kIsCopied = 2;
    if (wants_copy) managed->flags |= kIsCopied;
    capsule = PyCapsule_New(managed, kVersionedName, free_versioned);
  } else {
    capsule = PyCapsule_New(source.to_dlpack(), kUnversionedName, free_unversioned);
  }
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

// ---- The exchange table, for consumers that know it ----

template <typename Body>
int with_python_error(Body&& body) {
  try {
    body();
    return 0;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  return -1;
}

int managed_from_object(void* object, DLManagedTensorVersioned** out) {
  return with_python_error([&] {
    *out =
        plain_tensor(*nb::inst_ptr<Tensor>(static_cast<PyObject*>(object))).to_dlpack_versioned();
  });
}

int managed_to_object(DLManagedTensorVersioned* managed, void** out) {
  return with_python_error(
      [&] { *out = wrap_tensor(Tensor::from_dlpack(managed)).release().ptr(); });
}

int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
             void (*set_error)(void*, const char*, const char*)) {
  try {
    constexpr std::pair<DLDataType, DType> kTypes[] = {
        {{0, 8, 1}, DType::kInt8},       {{0, 16, 1}, DType::kInt16},
        {{0, 32, 1}, DType::kInt32},     {{0, 64, 1}, DType::kInt64},
        {{1, 8, 1}, DType::kUInt8},      {{1, 16, 1}, DType::kUInt16},
        {{1, 32, 1}, DType::kUInt32},    {{1, 64, 1}, DType::kUInt64},
        {{2, 16, 1}, DType::kFloat16},   {{2, 32, 1}, DType::kFloat32},
        {{2, 64, 1}, DType::kFloat64},   {{4, 16, 1}, DType::kBFloat16},
        {{5, 64, 1}, DType::kComplex64}, {{5, 128, 1}, DType::kComplex128},
        {{6, 8, 1}, DType::kBool}};
    for (const auto& [code, dtype] : kTypes) {
      if (code.code != prototype->dtype.code || code.bits != prototype->dtype.bits) continue;
      const std::span<const int64_t> shape(prototype->shape, static_cast<size_t>(prototype->ndim));
      *out = Tensor::empty(shape, dtype).to_dlpack_versioned();
      return 0;
    }
    set_error(context, "TypeError", "tierup has no such element type");
  } catch (const std::exception& error) {
    set_error(context, "RuntimeError", error.what());
  }
  return -1;
}

int current_stream(int32_t, int32_t, void** out) {
  *out = nullptr;
  return 0;
}

nb::object exchange_capsule() {
  static const DLPackExchangeAPI table = {{kDlpackMajor, 3},   nullptr,           allocate,
                                          managed_from_object, managed_to_object, nullptr,
                                          current_stream};
  return nb::steal(PyCapsule_New(const_cast<DLPackExchangeAPI*>(&table), kExchangeName, nullptr));
}

DType dtype_named(const std::string& name) {
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 27, 28, 29}) {
    if (dtype_name(static_cast<DType>(code)) == name) return static_cast<DType>(code);
  }
  throw ArgumentError{false, "there is no dtype '" + name + "'"};
}

Tensor tensor_of(nb::handle object) { return read_tensor(object.ptr(), carrier_of(object.ptr())); }

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor> type(module, "Tensor", nb::type_slots(tensor_buffer_slots()),
                          "An array in tierup's memory. A carrier: hand it to NumPy, PyTorch or "
                          "any other library by DLPack or as a buffer.");
  type.def_prop_ro(
      "shape", [](const Tensor& t) { return as_tuple(t.shape()); }, "Sizes, as a tuple.");
  type.def_prop_ro(
      "strides", [](const Tensor& t) { return as_tuple(t.strides()); },
      "Strides in elements, as a tuple.");
  type.def_prop_ro(
      "dtype", [](const Tensor& t) { return dtype_name(t.dtype()); },
      "The element type's name: 'float32', 'int64'...");
  type.def_prop_ro(
      "ndim", [](const Tensor& t) { return t.shape().size(); }, "The number of dimensions.");
  type.def_prop_ro("size", &Tensor::element_count, "The number of elements.");
  type.def("tolist", &to_list, "The elements as nested lists of Python numbers.");
  type.def("item", &item, "The one element as a Python number.");
  type.def(
      "to", [](const Tensor& t, const std::string& name) { return t.to(dtype_named(name)); },
      nb::arg("dtype"), "The same with another element type.");
  type.def("contiguous", &Tensor::contiguous,
           "Itself if row-major without gaps, else such a copy.");
  type.def("clone", &Tensor::clone, "A row-major copy.");
  type.def(
      "numpy", [](const Tensor& t) { return make_tensor(t, ResultKind::kNumpy, nullptr); },
      "A NumPy array over the same memory.");
  type.def(
      "torch", [](const Tensor& t) { return make_tensor(t, ResultKind::kTorch, nullptr); },
      "A PyTorch tensor over the same memory.");
  type.def("mark_written", &Tensor::mark_written,
           "To be called after writing, through NumPy or PyTorch, to a weight of a model.");
  type.def("__dlpack__", &to_capsule, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(), "A DLPack capsule over the same memory.");
  type.def(
      "__dlpack_device__", [](const Tensor&) { return nb::make_tuple(1, 0); },
      "DLPack's device: the CPU.");
  type.def("__len__", [](const Tensor& t) { return t.shape().empty() ? 0 : t.size(0); });
  type.def("__repr__", [](const Tensor& t) { return "tierup.Tensor(" + t.describe() + ")"; });
  bind_tensor_gradients(type);
  type.attr("__dlpack_c_exchange_api__") = exchange_capsule();
  module.def("tensor", &tensor_of, nb::arg("array"),
             "A Tensor over the memory of any array: NumPy's, PyTorch's, a buffer, or one that "
             "speaks DLPack. Read-only memory is copied.");
}

}  // namespace tierup::python
