// What a type offers, found once per type.
#include <nanobind/stl/string.h>

#include "carriers.h"

#include <deque>
#include <string_view>

namespace tierup::python {
namespace {

nb::object attribute_or_null(PyObject* object, const char* name) {
  PyObject* found = PyObject_GetAttrString(object, name);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

bool offers(PyTypeObject* type, const char* name) {
  return attribute_or_null(reinterpret_cast<PyObject*>(type), name).is_valid();
}

const DLPackExchangeAPI* exchange_table(PyTypeObject* type) {
  const nb::object capsule =
      attribute_or_null(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), kExchangeName)) return nullptr;
  const auto* table =
      static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule.ptr(), kExchangeName));
  // Newer tables are linked to older ones of another major version.
  while (table != nullptr && table->version.major != kDlpackMajor) table = table->previous;
  return table;
}

bool has_base(PyTypeObject* type, std::string_view text) {
  const nb::object bases = attribute_or_null(reinterpret_cast<PyObject*>(type), "__mro__");
  if (!bases.is_valid()) return false;
  for (const nb::handle base : nb::borrow<nb::tuple>(bases)) {
    if (nb::cast<std::string>(nb::str(base)) == text) return true;
  }
  return false;
}

bool is_enum(PyTypeObject* type) { return offers(type, "__members__"); }

Carrier plain_carrier(PyTypeObject* type, PyObject* object) {
  if (object == Py_None) return Carrier::kNone;
  if (type == &PyBool_Type) return Carrier::kBool;
  if (is_enum(type)) return Carrier::kEnum;
  if (PyLong_Check(object)) return Carrier::kInt;
  if (PyFloat_Check(object)) return Carrier::kFloat;
  if (PyComplex_Check(object)) return Carrier::kComplex;
  if (PyUnicode_Check(object)) return Carrier::kText;
  if (PyList_Check(object)) return Carrier::kList;
  if (PyTuple_Check(object)) return Carrier::kTuple;
  if (PyDict_Check(object)) return Carrier::kDict;
  return Carrier::kOther;
}

bool has_buffer(PyTypeObject* type) {
  const std::string name =
      nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(type))));
  if (name == "<class 'bytes'>" || name == "<class 'bytearray'>") return false;
  return PyType_GetSlot(type, 1 /* Py_bf_getbuffer, named by newer headers */) != nullptr;
}

CarrierType examine(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  CarrierType entry{.type = type, .carrier = plain_carrier(type, object)};
  if (entry.carrier != Carrier::kOther) return entry;
  if (nb::isinstance<Tensor>(object)) {
    entry.carrier = Carrier::kOwn;
  } else if ((entry.table = exchange_table(type)) != nullptr) {
    entry.carrier = Carrier::kExchange;
    auto* handle = reinterpret_cast<PyObject*>(type);
    entry.is_negative = attribute_or_null(handle, "is_neg").release().ptr();
    entry.is_conjugate = attribute_or_null(handle, "is_conj").release().ptr();
  } else if (has_base(type, "<class 'numpy.generic'>")) {
    entry.carrier = Carrier::kNumber;  // NumPy's scalars, which have an array struct, too.
  } else if (has_base(type, "<class 'numpy.ma.MaskedArray'>") ||
             has_base(type, "<class 'numpy.ma.core.MaskedArray'>")) {
    entry.carrier = Carrier::kOther;  // Its mask would be lost.
  } else if (offers(type, "__array_struct__")) {
    entry.carrier = Carrier::kArray;
    entry.is_numpy = has_base(type, "<class 'numpy.ndarray'>");
  } else if (offers(type, "__dlpack__")) {
    entry.carrier = Carrier::kDlpack;
  } else if (has_buffer(type)) {
    entry.carrier = Carrier::kBuffer;
  }
  return entry;
}

bool holds_tensor(Carrier carrier) {
  return carrier == Carrier::kOwn || carrier == Carrier::kExchange || carrier == Carrier::kArray ||
         carrier == Carrier::kDlpack || carrier == Carrier::kBuffer;
}

// Types are few, and looked up under the GIL. Never destroyed: entries hold references.
std::deque<CarrierType>& known_types() {
  static auto* const types = new std::deque<CarrierType>;
  return *types;
}

}  // namespace

const CarrierType& carrier_of(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  std::deque<CarrierType>& types = known_types();
  for (const CarrierType& entry : types) {
    if (entry.type == type) return entry;
  }
  const CarrierType entry = examine(object);
  // Types made over and over (named tuples of a function, say) must not fill the list.
  constexpr size_t kMaxTypes = 256;
  if (types.size() >= kMaxTypes && !holds_tensor(entry.carrier)) {
    static thread_local CarrierType passing{};
    passing = entry;
    return passing;
  }
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  return types.emplace_back(entry);
}

}  // namespace tierup::python
