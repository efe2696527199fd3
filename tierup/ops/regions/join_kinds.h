// Which operators put tensors one after another, for fusion groups.
#pragma once

#include <cstdint>

#include "tierup/ops/table/op.h"

namespace tierup::ops {

enum class JoinKind : uint8_t {
  kNone,
  kCat,    // (tensors, dim): in a dimension that they have.
  kStack,  // (tensors, dim): in a new one.
};

JoinKind join_kind_of(const Op& op);

}  // namespace tierup::ops
