// Tensors in and out of Python, each way without copying where the memory allows.
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "buffers.h"
#include "carriers.h"
#include "errors.h"
#include "numpy_api.h"
#include "pending.h"

namespace tierup::python {
namespace {

// What NumPy's `__array_struct__` capsules hold.
struct ArrayStruct {
  int two;
  int rank;
  char kind;
  int item_bytes;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // In bytes.
  void* data;
  PyObject* description;
};
constexpr int kAligned = 0x100;
constexpr int kNativeOrder = 0x200;
constexpr int kWritable = 0x400;

std::optional<DType> dtype_of_array(char kind, int bytes) {
  const auto pick = [&](std::initializer_list<DType> dtypes) -> std::optional<DType> {
    for (const DType dtype : dtypes) {
      if (static_cast<int>(dtype_size(dtype)) == bytes) return dtype;
    }
    return std::nullopt;
  };
  switch (kind) {
    case 'b': return DType::kBool;
    case 'i': return pick({DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64});
    case 'u': return pick({DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64});
    case 'f': return pick({DType::kFloat16, DType::kFloat32, DType::kFloat64});
    case 'c': return pick({DType::kComplex64, DType::kComplex128});
    default: return std::nullopt;
  }
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

// Kinds without a meaning of their own, such as ml_dtypes' bfloat16, are told apart by name.
DType dtype_of_array(PyObject* array, const ArrayStruct& view) {
  if (const auto dtype = dtype_of_array(view.kind, view.item_bytes)) return *dtype;
  const std::string name = text_of(nb::handle(array).attr("dtype"));
  if (name == "bfloat16") return DType::kBFloat16;
  throw ArgumentError{
      true, "arrays of the dtype " + name + " are no tensors: only numbers and bools are"};
}

Tensor read_array(PyObject* array, Use use) {
  static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
  nb::object capsule = nb::steal(PyObject_GetAttr(array, name));
  if (!capsule.is_valid()) throw nb::python_error();
  auto* view = static_cast<ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (view == nullptr || view->two != 2) throw ArgumentError{true, "its array struct is none"};
  const DType dtype = dtype_of_array(array, *view);
  if ((view->flags & kNativeOrder) == 0 && view->item_bytes > 1) {
    throw ArgumentError{false,
                        "the array is big-endian: convert it by "
                        "x.astype(x.dtype.newbyteorder('='))"};
  }
  const bool must_copy = (view->flags & kWritable) == 0 || (view->flags & kAligned) == 0;
  return tensor_over(view->data, dtype, view->rank, view->shape, view->strides, must_copy, use,
                     capsule.release().ptr());
}

Tensor read_numpy(PyObject* array, Use use) {
  const std::optional<NumpyView> view = numpy_view(array);
  if (!view) return read_array(array, use);  // Which says what is wrong, if anything.
  return tensor_over(view->data, view->dtype, view->rank, view->shape, view->strides,
                     !view->is_writable || !view->is_aligned, use,
                     nb::borrow(array).release().ptr());
}

Tensor adopt(DLManagedTensorVersioned* managed) {
  try {
    return Tensor::from_dlpack(managed);
  } catch (...) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    throw;
  }
}

bool is_true(PyObject* method, PyObject* object) {
  const nb::object result = nb::steal(PyObject_CallFunctionObjArgs(method, object, nullptr));
  if (!result.is_valid()) throw nb::python_error();
  return result.ptr() == Py_True;
}

// The table exports such a tensor as the memory it lies in, without a word.
nb::object resolved(PyObject* object, const CarrierType& type) {
  nb::object result = nb::borrow(object);
  if (type.is_negative == nullptr) return result;
  if (is_true(type.is_negative, object)) result = result.attr("resolve_neg")();
  if (type.is_conjugate != nullptr && is_true(type.is_conjugate, result.ptr())) {
    result = result.attr("resolve_conj")();
  }
  return result;
}

// Nothing here records gradients: answering would cut them off silently.
void check_gradients(PyObject* object, const CarrierType& type) {
  if (type.is_negative == nullptr) return;
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  const nb::object wanted = nb::steal(PyObject_GetAttr(object, name));
  if (!wanted.is_valid()) throw nb::python_error();
  if (wanted.ptr() != Py_True) return;
  if (!nb::cast<bool>(nb::module_::import_("torch").attr("is_grad_enabled")())) return;
  throw ArgumentError{false,
                      "the tensor requires gradients, which this call would not record: give "
                      "x.detach(), or call under torch.no_grad()"};
}

// `said`: by whom the memory was asked for.
[[noreturn]] void refuse_memory(PyObject* object, const std::string& said) {
  const nb::object why = nb::module_::import_("tierup._values").attr("unreadable");
  throw ArgumentError{false, text_of(why(nb::handle(object), said))};
}

Tensor read_exchange(PyObject* object, const CarrierType& type) {
  try {
    check_gradients(object, type);
    const nb::object source = resolved(object, type);
    DLManagedTensorVersioned* managed = nullptr;
    if (type.table->managed_from_object(source.ptr(), &managed) != 0) throw nb::python_error();
    const int32_t device = managed->dl_tensor.device.device_type;
    if (device != 1 && device != 3) {
      if (managed->deleter != nullptr) managed->deleter(managed);
      refuse_memory(object, "it is on another device");
    }
    return adopt(managed);
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) throw;
    refuse_memory(object, text_of(error.value()));
  } catch (const Error& error) {
    refuse_memory(object, error.message());
  }
}

Tensor adopt_capsule(const nb::object& capsule) {
  PyObject* const handle = capsule.ptr();
  if (PyCapsule_IsValid(handle, kVersionedName)) {
    auto* managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(handle, kVersionedName));
    PyCapsule_SetName(handle, kUsedVersionedName);
    return adopt(managed);
  }
  if (!PyCapsule_IsValid(handle, kUnversionedName)) {
    throw ArgumentError{true, "its __dlpack__() gives no DLPack capsule"};
  }
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(handle, kUnversionedName));
  Tensor result = Tensor::from_dlpack(managed);  // On an error the capsule still owns it.
  PyCapsule_SetName(handle, kUsedUnversionedName);
  return result;
}

Tensor read_dlpack(PyObject* object) {
  const nb::object method = nb::handle(object).attr("__dlpack__");
  try {
    return adopt_capsule(method(nb::arg("max_version") = nb::make_tuple(1, 1)));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // Producers from before DLPack 1.0 take none.
  }
  return adopt_capsule(method());
}

nb::object make_exchanged(const Tensor& tensor, const DLPackExchangeAPI& table) {
  DLManagedTensorVersioned* managed = plain_tensor(tensor).to_dlpack_versioned();
  void* result = nullptr;
  if (table.managed_to_object(managed, &result) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(result));
}

// NumPy has no such dtype of its own: the caller gets tierup's.
bool numpy_has(DType dtype) { return dtype != DType::kBFloat16; }

nb::object make_numpy(const Tensor& tensor) {
  if (!numpy_has(tensor.dtype())) return wrap_tensor(tensor);
  const Tensor shown = plain_tensor(tensor);
  const nb::object own = wrap_tensor(shown);
  nb::object result = numpy_array_over(shown, own);
  if (result.is_valid()) return result;
  static PyObject* const from_dlpack =
      nb::object(nb::module_::import_("numpy").attr("from_dlpack")).release().ptr();
  result = nb::steal(PyObject_CallFunctionObjArgs(from_dlpack, own.ptr(), nullptr));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

nb::object make_torch(const Tensor& tensor) {
  const nb::object torch = nb::module_::import_("torch");
  const nb::object type = torch.attr("Tensor");
  static const DLPackExchangeAPI* const table = carrier_of(torch.attr("empty")(0).ptr()).table;
  if (table != nullptr) return make_exchanged(tensor, *table);
  return torch.attr("from_dlpack")(wrap_tensor(tensor));
}

}  // namespace

Tensor plain_tensor(const Tensor& tensor) {
  try {
    static_cast<void>(tensor.element_count() > 0 ? tensor.data() : nullptr);
    return tensor;
  } catch (const Error&) {
    return tensor.clone();
  }
}

namespace {

Tensor read_carrier(PyObject* object, const CarrierType& type, Use use) {
  switch (type.carrier) {
    case Carrier::kOwn: return *nb::inst_ptr<Tensor>(object);
    case Carrier::kExchange: return read_exchange(object, type);
    case Carrier::kArray: return type.is_numpy ? read_numpy(object, use) : read_array(object, use);
    case Carrier::kDlpack: return read_dlpack(object);
    case Carrier::kBuffer: return read_buffer(object, use);
    default:
      throw ArgumentError{
          true,
          "expected a tensor, an array or a buffer, not '" +
              text_of(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__")) +
              "'"};
  }
}

}  // namespace

Tensor read_tensor(PyObject* object, const CarrierType& type, Use use) {
  try {
    return read_carrier(object, type, use);
  } catch (const Error& error) {
    throw ArgumentError{error.code() == ErrorCode::kTypeError, error.message()};
  }
}

nb::object make_tensor(const Tensor& tensor, ResultKind kind, const CarrierType* like) {
  switch (kind) {
    case ResultKind::kOwn: return wrap_tensor(tensor);
    case ResultKind::kNumpy: return make_numpy(tensor);
    case ResultKind::kTorch: return make_torch(tensor);
    case ResultKind::kAutomatic: break;
  }
  if (like != nullptr && like->carrier == Carrier::kExchange) {
    return make_exchanged(tensor, *like->table);
  }
  if (like != nullptr && like->carrier == Carrier::kArray) return make_numpy(tensor);
  return wrap_tensor(tensor);
}

nb::object wrap_tensor(Tensor tensor) { return nb::cast(std::move(tensor)); }

}  // namespace tierup::python
