// Python's values to the model's and back: None, numbers, texts, tensors, and containers of them.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/module.h>
#include <tierup/value.h>

#include "carriers.h"

namespace tierup::python {

// Reads the arguments of one call; remembers the first array's type, which results are made like.
class ArgumentReader {
 public:
  Value read(PyObject* object);
  const CarrierType* like() const { return like_; }

 private:
  Value read_sequence(PyObject* object, bool is_list);
  Value read_dict(PyObject* object);

  const CarrierType* like_ = nullptr;
  int depth_ = 0;
};

struct Arguments {
  std::vector<Value> positional;
  NamedValues named;
  const CarrierType* like = nullptr;
};
// Throws nb::python_error with the argument's number or name: TypeError, ValueError.
Arguments read_arguments(nb::handle args, nb::handle kwargs);

// Raises an ArgumentError as Python's TypeError or as tierup.InvalidArgument.
[[noreturn]] void raise_argument_error(const ArgumentError& error, const std::string& where);

nb::object write_value(const Value& value, ResultKind kind, const CarrierType* like);

// {name: tensor}, of a mapping from names to anything that holds a tensor.
NamedTensors read_named_tensors(nb::handle mapping);
nb::dict write_named_tensors(const NamedTensors& tensors);

void bind_values(nb::module_& module);

}  // namespace tierup::python
