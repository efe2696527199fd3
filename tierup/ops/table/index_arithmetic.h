// index_arithmetic: the operators with which passes compute counters and trip counts.
#pragma once

#include <cstdint>
#include <string_view>

namespace tierup::ops {

// Of two ints each.
enum class IndexOp : uint8_t { kAdd, kSubtract, kMultiply, kFloorDivide, kLargest };

// The qualified name; the table has it.
std::string_view operator_for(IndexOp op);

}  // namespace tierup::ops
