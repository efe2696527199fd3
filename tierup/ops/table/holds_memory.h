// HoldsMemory: implemented by objects in a plan's constants that keep memory of their own.
#pragma once

#include <cstddef>

namespace tierup::ops {

class HoldsMemory {
 public:
  virtual ~HoldsMemory() = default;
  // Bytes of packed weights and of what is kept between calls. Thread-safe.
  virtual size_t held_bytes() const = 0;
  // Lets go of the pages of a mapped file that what it packed was made of, where tier 0 has read
  // them again. Takes milliseconds: for jobs. Thread-safe.
  virtual void give_back_sources() const {}
};

}  // namespace tierup::ops
