#include "live_weights.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "carriers.h"
#include "errors.h"
#include "model.h"
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

// A graph over one set of weights, called with the list of its inputs.
class GraphCall {
 public:
  // `fed`: which inputs go to the model; `forms`: for each result the dtype and strides (or None)
  // that it must have, or None; `shape(results, i, dtype, strides)` gives a result those.
  GraphCall(nb::object weights, nb::object model, std::vector<Py_ssize_t> fed, nb::handle forms,
            nb::object shape)
      : weights_(std::move(weights)),
        model_(std::move(model)),
        fed_(std::move(fed)),
        shape_(std::move(shape)) {
    for (const nb::handle form : forms) {
      Form& added = forms_.emplace_back();
      if (form.is_none()) continue;
      added.dtype = nb::cast<std::string>(form[0]);
      if (!form[1].is_none()) added.strides = nb::cast<std::vector<int64_t>>(form[1]);
    }
  }

  // The list of results; None if the inputs have other weights.
  nb::object operator()(nb::handle inputs) {
    if (!nb::inst_ptr<LiveWeights>(weights_)->match(inputs)) return nb::none();
    ArgumentReader reader;
    std::vector<Value> arguments;
    arguments.reserve(fed_.size());
    for (const Py_ssize_t position : fed_) {
      try {
        arguments.push_back(reader.read(PyList_GetItem(inputs.ptr(), position)));
      } catch (const ArgumentError& error) {
        raise_argument_error(error, "input " + std::to_string(position + 1));
      }
    }
    const Value result = nb::inst_ptr<ModelHandle>(model_)->run(std::move(arguments), {});
    return results_of(result.items(), reader.like());
  }

 private:
  struct Form {
    std::string dtype;
    std::optional<std::vector<int64_t>> strides;
  };

  nb::object results_of(const std::vector<Value>& items, const CarrierType* like) {
    nb::list results;
    for (const Value& item : items) {
      results.append(write_value(item, ResultKind::kTorch, like));
      const size_t i = results.size() - 1;
      const Form& form = forms_[i];
      if (form.dtype.empty() || item.kind() != Value::Kind::kTensor) continue;
      if (!is_formed(item.to_tensor(), form)) shape_(results, i, form.dtype, form.strides);
    }
    return results;
  }

  // Memory that PyTorch may resize is its own.
  static bool is_formed(const Tensor& tensor, const Form& form) {
    return tensor.element_count() > 0 && dtype_name(tensor.dtype()) == form.dtype &&
           (!form.strides || lies_so(tensor, *form.strides));
  }

  // Strides of dimensions of one element mean nothing.
  static bool lies_so(const Tensor& tensor, const std::vector<int64_t>& strides) {
    const auto shape = tensor.shape();
    const auto own = tensor.strides();
    if (shape.size() != strides.size()) return false;
    for (size_t i = 0; i < strides.size(); ++i) {
      if (shape[i] != 1 && own[i] != strides[i]) return false;
    }
    return true;
  }

  nb::object weights_;
  nb::object model_;
  std::vector<Py_ssize_t> fed_;
  std::vector<Form> forms_;
  nb::object shape_;
};

}  // namespace

void bind_live_weights(nb::module_& module) {
  nb::class_<GraphCall>(module, "GraphCall")
      .def(nb::init<nb::object, nb::object, std::vector<Py_ssize_t>, nb::handle, nb::object>(),
           nb::arg("weights"), nb::arg("model"), nb::arg("fed"), nb::arg("forms"), nb::arg("shape"))
      .def(
          "__call__",
          [](GraphCall& self, nb::handle inputs) { return in_call([&] { return self(inputs); }); },
          nb::arg("inputs"));
  nb::class_<LiveWeights>(module, "LiveWeights")
      .def(nb::init<nb::handle, const std::vector<Py_ssize_t>&, bool>(), nb::arg("arguments"),
           nb::arg("positions"), nb::arg("looks_for_writes"))
      .def("match", &LiveWeights::match, nb::arg("arguments"))
      .def("tensors", &LiveWeights::tensors, nb::arg("names"));
}

}  // namespace tierup::python
