#include "values.h"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

#include <complex>

#include "errors.h"

namespace tierup::python {
namespace {

constexpr int kMaxDepth = 64;

Value read_int(PyObject* object) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) throw ArgumentError{false, "the number needs more than 64 bits"};
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return Value(static_cast<int64_t>(number));
}

Value read_text(PyObject* object) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw nb::python_error();
  return Value(std::string_view(text, static_cast<size_t>(size)));
}

std::string type_name(PyObject* object) {
  return nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__")));
}

std::string key_text(PyObject* key) { return nb::cast<std::string>(nb::repr(nb::handle(key))); }

// An object that the model made: its attributes can be read, and it can be given back.
struct ModelObject {
  Value value;
  ResultKind kind;
};

nb::object write_fields(const std::vector<std::string>& names, const nb::list& items) {
  static PyObject* const make =
      nb::object(nb::module_::import_("tierup._values").attr("named_tuple")).release().ptr();
  nb::list fields;
  for (const std::string& name : names) fields.append(nb::str(name.c_str()));
  return nb::handle(make)(fields, items);
}

}  // namespace

Value ArgumentReader::read_sequence(PyObject* object, bool is_list) {
  const Py_ssize_t size = is_list ? PyList_Size(object) : PyTuple_Size(object);
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(size));
  // A list may change while a conversion runs Python code.
  for (Py_ssize_t i = 0; i < (is_list ? PyList_Size(object) : size); ++i) {
    const nb::object item =
        nb::borrow(is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i));
    try {
      items.push_back(read(item.ptr()));
    } catch (ArgumentError& error) {
      error.path = "[" + std::to_string(i) + "]" + error.path;
      throw;
    }
  }
  return is_list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value ArgumentReader::read_dict(PyObject* object) {
  std::vector<std::pair<Value, Value>> entries;
  const nb::list items = nb::steal<nb::list>(PyDict_Items(object));
  for (const nb::handle item : items) {
    PyObject* const key = PyTuple_GetItem(item.ptr(), 0);
    try {
      Value name = read(key);
      entries.emplace_back(std::move(name), read(PyTuple_GetItem(item.ptr(), 1)));
    } catch (ArgumentError& error) {
      error.path = "[" + key_text(key) + "]" + error.path;
      throw;
    }
  }
  return Value::dict(std::move(entries));
}

Value ArgumentReader::read(PyObject* object) {
  const CarrierType& type = carrier_of(object);
  switch (type.carrier) {
    case Carrier::kNone: return {};
    case Carrier::kBool: return Value(object == Py_True);
    case Carrier::kInt: return read_int(object);
    case Carrier::kFloat: return Value(PyFloat_AsDouble(object));
    case Carrier::kComplex:
      return Value(
          std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
    case Carrier::kText: return read_text(object);
    case Carrier::kNumber: return read(nb::handle(object).attr("item")().ptr());
    case Carrier::kEnum: return read(nb::handle(object).attr("value").ptr());
    case Carrier::kList:
    case Carrier::kTuple:
    case Carrier::kDict: {
      if (depth_ >= kMaxDepth) throw ArgumentError{false, "containers within each other too deep"};
      ++depth_;
      Value result = type.carrier == Carrier::kDict
                         ? read_dict(object)
                         : read_sequence(object, type.carrier == Carrier::kList);
      --depth_;
      return result;
    }
    case Carrier::kOwn:
    case Carrier::kExchange:
    case Carrier::kArray:
    case Carrier::kDlpack:
    case Carrier::kBuffer:
      if (like_ == nullptr) like_ = &type;
      return Value(read_tensor(object, type));
    case Carrier::kOther: break;
  }
  if (nb::isinstance<ModelObject>(object)) return nb::inst_ptr<ModelObject>(object)->value;
  throw ArgumentError{true, "no model takes a value of the type '" + type_name(object) + "'"};
}

Arguments read_arguments(nb::handle args, nb::handle kwargs) {
  Arguments result;
  ArgumentReader reader;
  const Py_ssize_t count = PyTuple_Size(args.ptr());
  result.positional.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    try {
      result.positional.push_back(reader.read(PyTuple_GetItem(args.ptr(), i)));
    } catch (const ArgumentError& error) {
      raise_argument_error(error, "argument " + std::to_string(i + 1));
    }
  }
  if (kwargs.is_valid() && PyDict_Size(kwargs.ptr()) > 0) {
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(kwargs.ptr(), &at, &key, &item) != 0) {
      const std::string name = nb::cast<std::string>(nb::handle(key));
      try {
        result.named.emplace_back(name, reader.read(item));
      } catch (const ArgumentError& error) {
        raise_argument_error(error, "argument '" + name + "'");
      }
    }
  }
  result.like = reader.like();
  return result;
}

void raise_argument_error(const ArgumentError& error, const std::string& where) {
  const std::string text = where + error.path + ": " + error.message;
  if (error.is_type_error) raise_error(ErrorCode::kTypeError, text);
  raise_error(ErrorCode::kInvalidArgument, text);
}

nb::object write_value(const Value& value, ResultKind kind, const CarrierType* like) {
  switch (value.kind()) {
    case Value::Kind::kNone: return nb::none();
    case Value::Kind::kBool: return nb::bool_(value.to_bool());
    case Value::Kind::kInt: return nb::int_(value.to_int());
    case Value::Kind::kFloat: return nb::float_(value.to_float());
    case Value::Kind::kComplex: return nb::cast(value.to_complex());
    case Value::Kind::kString: return nb::cast(value.to_string());
    case Value::Kind::kTensor: return make_tensor(value.to_tensor(), kind, like);
    case Value::Kind::kList:
    case Value::Kind::kTuple: {
      nb::list items;
      for (const Value& item : value.items()) items.append(write_value(item, kind, like));
      if (value.kind() == Value::Kind::kList) return items;
      const std::vector<std::string> names = value.fields();
      if (!names.empty()) return write_fields(names, items);
      return nb::tuple(items);
    }
    case Value::Kind::kDict: {
      nb::dict entries;
      for (const auto& [key, item] : value.entries()) {
        entries[write_value(key, kind, like)] = write_value(item, kind, like);
      }
      return entries;
    }
    case Value::Kind::kDevice: return nb::cast(value.describe());
    default: return nb::cast(ModelObject{value, kind});
  }
}

NamedTensors read_named_tensors(nb::handle mapping) {
  NamedTensors result;
  for (const nb::handle item : mapping.attr("items")()) {
    const std::string name = nb::cast<std::string>(item[0]);
    const nb::object tensor = item[1];
    // A parameter requires gradients, and is only read here.
    const CarrierType& type = carrier_of(tensor.ptr());
    try {
      const nb::object plain = type.is_negative != nullptr ? tensor.attr("detach")() : tensor;
      result.emplace_back(name, read_tensor(plain.ptr(), carrier_of(plain.ptr())));
    } catch (const ArgumentError& error) {
      raise_argument_error(error, "'" + name + "'");
    }
  }
  return result;
}

nb::dict write_named_tensors(const NamedTensors& tensors) {
  nb::dict result;
  for (const auto& [name, tensor] : tensors) result[name.c_str()] = wrap_tensor(tensor);
  return result;
}

void bind_values(nb::module_& module) {
  nb::class_<ModelObject>(module, "Object",
                          "An object that a model made. Its attributes can be read, and it can be "
                          "given back to the model.")
      .def("__getattr__",
           [](const ModelObject& object, const std::string& name) {
             try {
               return write_value(object.value.field(name), object.kind, nullptr);
             } catch (const Error& error) {
               PyErr_SetString(PyExc_AttributeError, error.message().c_str());
               throw nb::python_error();
             }
           })
      .def("__repr__", [](const ModelObject& object) { return object.value.describe(); });
}

}  // namespace tierup::python
