// Carriers: which Python types hold tensors, and how each is read and made without copying.
//
// What a type offers is looked up once per type: the exchange table of DLPack (torch.Tensor), the
// array struct (numpy.ndarray), tierup's own tensor, `__dlpack__`, a buffer. All functions need the
// GIL and throw nb::python_error or ArgumentError.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/tensor.h>

#include <stdexcept>
#include <string>

#include "dlpack.h"

namespace tierup::python {

namespace nb = nanobind;

// An argument that cannot be taken; `path` ("[0]['mask']") grows as it leaves nested containers.
struct ArgumentError {
  bool is_type_error;
  std::string message;
  std::string path = {};
};

enum class Carrier : unsigned char {
  kNone,
  kBool,
  kInt,
  kFloat,
  kComplex,
  kText,
  kList,
  kTuple,
  kDict,
  kOwn,       // tierup.Tensor
  kExchange,  // A type with DLPack's exchange table.
  kArray,     // numpy.ndarray and others with an array struct.
  kNumber,    // NumPy's scalars.
  kDlpack,    // __dlpack__ alone.
  kBuffer,    // array.array, memoryview.
  kEnum,
  kOther,
};

struct CarrierType {
  PyTypeObject* type;
  Carrier carrier;
  const DLPackExchangeAPI* table = nullptr;
  // Of torch.Tensor: methods that tell what the table does not.
  PyObject* is_negative = nullptr;
  PyObject* is_conjugate = nullptr;
  bool is_numpy = false;  // numpy.ndarray, or made of it: its fields can be read.
};

// The entry of a type that holds tensors stands as long as the process.
const CarrierType& carrier_of(PyObject* object);

// The kind in which results are to be made.
enum class ResultKind : unsigned char { kAutomatic, kOwn, kNumpy, kTorch };

// What is to become of the memory: what cannot be shared (read-only, reversed, unaligned) is copied
// to be read, and refused to be written.
enum class Use : unsigned char { kRead, kWrite };

// A tensor over the memory of `object`, which is kept alive until the last use is over.
Tensor read_tensor(PyObject* object, const CarrierType& type, Use use = Use::kRead);

// Makes results like those that `like` (an argument's type) holds; null: tierup.Tensor.
nb::object make_tensor(const Tensor& tensor, ResultKind kind, const CarrierType* like);

// Itself, or a copy where it is lazily conjugated or negated: such memory has no form outside.
Tensor plain_tensor(const Tensor& tensor);
// A new tierup.Tensor.
nb::object wrap_tensor(Tensor tensor);
void bind_tensor(nb::module_& module);

}  // namespace tierup::python
