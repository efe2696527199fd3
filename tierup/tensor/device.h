// Device, Layout and MemoryFormat as they appear in types, storages and operator arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tierup {

// Kinds that an archive may name; only kCpu and kMeta hold tensors here.
enum class DeviceType : int8_t { kCpu, kCuda, kMeta, kMps, kXpu, kOther };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int16_t index = -1;  // -1: none given. "cuda" and "cuda:0" are different values.

  // "cpu", "cuda:0". Throws kInvalidArgument for anything else than NAME or NAME:NUMBER.
  static Device parse(std::string_view text);
  std::string to_string() const;
  std::string_view type_name() const;
  friend bool operator==(const Device&, const Device&) = default;
};

enum class Layout : int8_t { kStrided = 0, kSparse = 1 };
enum class MemoryFormat : int8_t {
  kContiguous = 0,
  kPreserve = 1,
  kChannelsLast = 2,
  kChannelsLast3d = 3,
};

}  // namespace tierup
