#include "tierup/tensor/device.h"

#include <array>
#include <charconv>

#include "tierup/base/error.h"

namespace tierup {
namespace {

struct DeviceName {
  std::string_view name;
  DeviceType type;
};
constexpr auto kNames = std::to_array<DeviceName>({{"cpu", DeviceType::kCpu},
                                                   {"cuda", DeviceType::kCuda},
                                                   {"meta", DeviceType::kMeta},
                                                   {"mps", DeviceType::kMps},
                                                   {"xpu", DeviceType::kXpu}});

}  // namespace

Device Device::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Device device;
  device.type = DeviceType::kOther;
  for (const DeviceName& row : kNames) {
    if (row.name == name) device.type = row.type;
  }
  bool ok = !name.empty();
  for (const char c : name)
    ok = ok && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    ok = ok && error == std::errc() && end == digits.data() + digits.size() && device.index >= 0;
  }
  require(ok, ErrorCode::kInvalidArgument, "invalid device string: '{}'", text);
  return device;
}

std::string_view Device::type_name() const {
  for (const DeviceName& row : kNames) {
    if (row.type == type) return row.name;
  }
  return "other";
}

std::string Device::to_string() const {
  std::string text(type_name());
  if (index >= 0) text += ":" + std::to_string(index);
  return text;
}

}  // namespace tierup
