#include "live_weights.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "carriers.h"
#include "values.h"

namespace tierup::python {
namespace {

class LiveWeights {
 public:
  // `arguments`: those of a call; `positions`: which of them are weights.
  // `looks_for_writes` false: an object stands for its memory and its content.
  LiveWeights(nb::handle arguments, const std::vector<Py_ssize_t>& positions, bool looks_for_writes)
      : looks_for_writes_(looks_for_writes) {
    for (const Py_ssize_t position : positions) {
      PyObject* const object = PyList_GetItem(arguments.ptr(), position);
      const nb::object detached = nb::handle(object).attr("detach")();
      Tensor tensor = read_tensor(detached.ptr(), carrier_of(detached.ptr()));
      weights_.push_back(
          {position, object, address_of(object), version_of(object), std::move(tensor)});
    }
  }

  // Whether the arguments have these very weights; those that were written are marked so.
  bool match(nb::handle arguments) {
    bool any_written = false;
    for (const Weight& weight : weights_) {
      PyObject* const object = PyList_GetItem(arguments.ptr(), weight.position);
      if (object != weight.object) return false;
      if (!looks_for_writes_) continue;
      if (address_of(object) != weight.address) return false;
      any_written = any_written || version_of(object) != weight.version;
    }
    if (any_written) mark_written();
    return true;
  }

  nb::dict tensors(const std::vector<std::string>& names) const {
    nb::dict result;
    for (size_t i = 0; i < weights_.size(); ++i) {
      result[names[i].c_str()] = wrap_tensor(weights_[i].tensor);
    }
    return result;
  }

 private:
  struct Weight {
    Py_ssize_t position;
    PyObject* object;  // Not held: whoever made this watches its end.
    void* address;
    int64_t version;
    Tensor tensor;
  };

  void mark_written() {
    for (Weight& weight : weights_) {
      const int64_t version = version_of(weight.object);
      if (version == weight.version) continue;
      weight.version = version;
      weight.tensor.mark_written();
    }
  }

  static void* address_of(PyObject* object) {
    const CarrierType& type = carrier_of(object);
    if (type.table == nullptr || type.table->borrow_from_object == nullptr) {
      static PyObject* const name = PyUnicode_InternFromString("data_ptr");
      const nb::object address = nb::steal(PyObject_CallMethodObjArgs(object, name, nullptr));
      if (!address.is_valid()) throw nb::python_error();
      return PyLong_AsVoidPtr(address.ptr());
    }
    DLTensor view;
    if (type.table->borrow_from_object(object, &view) != 0) throw nb::python_error();
    return static_cast<char*>(view.data) + view.byte_offset;
  }

  static int64_t version_of(PyObject* object) {
    static PyObject* const name = PyUnicode_InternFromString("_version");
    const nb::object version = nb::steal(PyObject_GetAttr(object, name));
    if (!version.is_valid()) throw nb::python_error();
    return PyLong_AsLongLong(version.ptr());
  }

  const bool looks_for_writes_;
  std::vector<Weight> weights_;
};

}  // namespace

void bind_live_weights(nb::module_& module) {
  nb::class_<LiveWeights>(module, "LiveWeights")
      .def(nb::init<nb::handle, const std::vector<Py_ssize_t>&, bool>(), nb::arg("arguments"),
           nb::arg("positions"), nb::arg("looks_for_writes"))
      .def("match", &LiveWeights::match, nb::arg("arguments"))
      .def("tensors", &LiveWeights::tensors, nb::arg("names"));
}

}  // namespace tierup::python
