// The buffer protocol, which the stable ABI of Python 3.10 lacks: its functions are in every
// CPython, and are asked for by name.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/tensor.h>

#include "carriers.h"

namespace tierup::python {

// Py_buffer, as every CPython from 3.0 on has it.
struct Buffer {
  void* data;
  PyObject* owner;
  Py_ssize_t bytes;
  Py_ssize_t item_bytes;
  int is_read_only;
  int rank;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // In bytes.
  Py_ssize_t* suboffsets;
  void* internal;
};

// A tensor over an object's buffer.
Tensor read_buffer(PyObject* object, Use use);
// Slots of a type whose objects are bound Tensors: memoryview(tensor) works.
const PyType_Slot* tensor_buffer_slots();

// A tensor over foreign memory that `owner` (a new reference, which is taken) keeps alive; strides
// in bytes. What no tensor can describe (reversed, unaligned memory) is copied as if it must.
Tensor tensor_over(void* data, DType dtype, int rank, const Py_ssize_t* shape,
                   const Py_ssize_t* byte_strides, bool must_copy, Use use, PyObject* owner);

}  // namespace tierup::python
