// HoldsMemory: implemented by objects in a plan's constants that keep memory of their own.
#pragma once

#include <cstddef>

namespace tierup::ops {

class HoldsMemory {
 public:
  virtual ~HoldsMemory() = default;
  // Bytes of packed weights and of what is kept between calls. Thread-safe.
  virtual size_t held_bytes() const = 0;
};

}  // namespace tierup::ops
