// What automatic mixed precision on the CPU does to the arguments of an operator.
#pragma once

#include <cstdint>
#include <string_view>

namespace tierup::ops {

enum class AutocastPolicy : uint8_t {
  kNone,     // Nothing.
  kReduced,  // Floating-point tensors become the region's dtype.
  kFull,     // They become f32.
};

// By the name without overload, "aten::linear".
AutocastPolicy autocast_policy(std::string_view name);

}  // namespace tierup::ops
