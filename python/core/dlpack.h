// The structs of DLPack 1.3: a public C ABI, declared here so that no header of it is needed.
#pragma once

#include <cstdint>

struct DLDevice {
  int32_t device_type;  // 1: CPU, 3: CUDA's pinned host memory.
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;  // 0: int, 1: uint, 2: float, 4: bfloat, 5: complex, 6: bool.
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

// What a type offers under `__dlpack_c_exchange_api__`: the protocol without Python calls.
// Functions that return int give 0, or -1 with a Python error set.
struct DLPackExchangeAPI {
  DLPackVersion version;
  DLPackExchangeAPI* previous;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, DLManagedTensorVersioned** out);
  int (*managed_to_object)(DLManagedTensorVersioned* tensor, void** out);
  int (*borrow_from_object)(void* object, DLTensor* out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

inline constexpr const char* kExchangeName = "dlpack_exchange_api";
inline constexpr const char* kVersionedName = "dltensor_versioned";
inline constexpr const char* kUsedVersionedName = "used_dltensor_versioned";
inline constexpr const char* kUnversionedName = "dltensor";
inline constexpr const char* kUsedUnversionedName = "used_dltensor";
inline constexpr uint32_t kDlpackMajor = 1;
