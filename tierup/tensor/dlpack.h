// DLPack: tensors to and from other libraries without copying, by the open in-memory exchange
// format.
//
// The structs are the public ABI of DLPack 1.x (and of the older, unversioned form), declared here
// so that tierup needs no header of it; cast pointers of dlpack.h's types to these.
#pragma once

#include <cstdint>

#include "tierup/tensor/tensor.h"

namespace tierup::dlpack {

inline constexpr uint32_t kMajorVersion = 1;
inline constexpr uint32_t kMinorVersion = 1;
// Bits of ManagedTensorVersioned::flags.
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

struct DeviceId {
  int32_t type;  // 1: CPU, 2: CUDA, 3: CUDA's pinned host memory...
  int32_t index;
};

struct ElementType {
  uint8_t code;  // 0: int, 1: uint, 2: float, 4: bfloat, 5: complex, 6: bool, 7...: 8-bit floats.
  uint8_t bits;
  uint16_t lanes;
};

struct RawTensor {
  void* data;
  DeviceId device;
  int32_t ndim;
  ElementType dtype;
  int64_t* shape;
  int64_t* strides;  // In elements; null: row-major.
  uint64_t byte_offset;
};

struct ManagedTensor {
  RawTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  RawTensor tensor;
};

// A description of `tensor` that shares its memory and keeps it alive until its deleter is called,
// which the receiver must do once, from any thread. Any strides. Throws kInvalidArgument for
// tensors that require gradients, are lazily conjugated or negated or have no data, kUnsupported
// for quantized dtypes.
ManagedTensorVersioned* export_tensor(const Tensor& tensor);
// The same in the form before DLPack 1.0.
ManagedTensor* export_unversioned(const Tensor& tensor);

// A tensor over the memory of `managed`, which now belongs to it: the deleter is called when the
// last view is gone. Memory that is read-only or not aligned for its dtype is copied instead, and
// the deleter called before returning. On an error (kUnsupported: device, dtype, version, negative
// strides; kInvalidArgument: nonsense) nothing is taken: the caller still owns `managed`.
Tensor import_tensor(ManagedTensorVersioned* managed);
Tensor import_unversioned(ManagedTensor* managed);

}  // namespace tierup::dlpack
