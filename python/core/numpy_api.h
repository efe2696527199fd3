// NumPy's arrays by their fields, and its table of C functions as far as results need it.
//
// The first fields of arrays and dtypes, and the numbers of functions, types and flags are NumPy's
// ABI, the same in 1.x and 2.x, so that no header of it is needed to build.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/tensor.h>

#include <optional>

namespace tierup::python {

struct NumpyView {
  void* data;
  DType dtype;
  int rank;
  const Py_ssize_t* shape;
  const Py_ssize_t* strides;  // In bytes.
  bool is_aligned;
  bool is_writable;
};
// Of a numpy.ndarray. None for dtypes that are not the machine's own numbers.
std::optional<NumpyView> numpy_view(PyObject* array);

// A NumPy array over a tensor's memory, which `owner` keeps. Null without an error set where NumPy
// has no such dtype, or no table is found: another way must be taken.
nanobind::object numpy_array_over(const Tensor& tensor, const nanobind::object& owner);

}  // namespace tierup::python
