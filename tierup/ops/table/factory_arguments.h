// The arguments that all factory functions share: dtype, layout, device, pin_memory.
#pragma once

#include "tierup/ops/table/boxing.h"

namespace tierup::ops {

using Dtype = std::optional<ScalarType>;
using OptionalDevice = std::optional<Device>;
using Pin = std::optional<bool>;
using Format = std::optional<MemoryFormat>;

// Throws kUnsupported for a layout other than strided. `layout` is None or a number.
inline void check_layout(const IValue& layout) {
  require(layout.is_none() || layout.to_int() == static_cast<int64_t>(Layout::kStrided),
          ErrorCode::kUnsupported, "only strided tensors are supported");
}

}  // namespace tierup::ops
