// Python's slicing of a sequence, shared by lists and strings.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tierup/base/error.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::ops {

// Elements first, first + step, ..., count of them: all inside of the sequence.
struct SlicePositions {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Bounds as of "x[start:end:step]"; None stands for the end that the step's direction gives.
// Throws kInvalidArgument for step 0.
inline SlicePositions slice_positions(int64_t length, const IValue& start, const IValue& end,
                                      int64_t step) {
  require(step != 0, ErrorCode::kInvalidArgument, "List slice should have non-zero step");
  step = std::max(step, -INT64_MAX);
  const bool forward = step > 0;
  const int64_t low = forward ? 0 : -1;
  const int64_t high = forward ? length : length - 1;
  const auto bound = [&](const IValue& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const int64_t v = value.to_int();
    return std::clamp(v < 0 ? v + length : v, low, high);
  };
  SlicePositions result{bound(start, forward ? low : high), step, 0};
  const int64_t stop = bound(end, forward ? high : low);
  const int64_t distance = forward ? stop - result.first : result.first - stop;
  if (distance > 0) result.count = (distance - 1) / (forward ? step : -step) + 1;
  return result;
}

}  // namespace tierup::ops
