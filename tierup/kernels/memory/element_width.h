// Data movement does not care for what an element means: kernels that only move elements are
// written once for each width, not once for each dtype.
#pragma once

#include <cstdint>

#include "tierup/base/error.h"
#include "tierup/tensor/dtype.h"

namespace tierup::kernels {

struct Bytes16 {
  uint64_t low;
  uint64_t high;
};

// Calls body(TypeTag<U>{}) with an opaque type of `width` bytes.
template <typename Body>
decltype(auto) dispatch_width(size_t width, Body&& body) {
  switch (width) {
    case 1: return body(TypeTag<uint8_t>{});
    case 2: return body(TypeTag<uint16_t>{});
    case 4: return body(TypeTag<uint32_t>{});
    case 8: return body(TypeTag<uint64_t>{});
    default: TIERUP_CHECK(width == 16); return body(TypeTag<Bytes16>{});
  }
}

}  // namespace tierup::kernels
