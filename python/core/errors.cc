#include "errors.h"

#include <nanobind/stl/string.h>

#include "carriers.h"
#include "values.h"

namespace tierup::python {

nb::object make_exception(const Error& error) {
  nb::list context;
  for (const std::string& line : error.context()) context.append(nb::str(line.c_str()));
  const std::string code(error_code_name(error.code()));
  return nb::module_::import_("tierup._errors")
      .attr("make")(code, error.message(), error.python_type(), context);
}

void raise_error(ErrorCode code, const std::string& message) {
  throw Error(code, message, {}, {}, message);
}

namespace {

void set_error(const Error& error) {
  const nb::object exception = make_exception(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

void set_error(const ArgumentError& error) {
  PyErr_SetString(error.is_type_error ? PyExc_TypeError : PyExc_ValueError, error.message.c_str());
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    set_error(error);
  } catch (const ArgumentError& error) {
    set_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      set_error(error);
    } catch (const ArgumentError& error) {
      set_error(error);
    }
  });
}

}  // namespace tierup::python
