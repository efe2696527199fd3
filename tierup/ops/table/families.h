// Declares <family>_rows() for every family of families.def.
#pragma once

#include <span>

#include "tierup/ops/table/op.h"

namespace tierup::ops {

#define TIERUP_FAMILY(name) std::span<const OpRow> name##_rows();
#include "tierup/ops/table/families.def"
#undef TIERUP_FAMILY

}  // namespace tierup::ops
