// Declares <name>_derivatives() for every file of tables.def.
#pragma once

#include <span>

#include "tierup/ops/table/derivative.h"

namespace tierup::ops::derivatives {

#define TIERUP_DERIVATIVES(name) std::span<const DerivativeRow> name##_derivatives();
#include "tierup/ops/derivatives/tables.def"
#undef TIERUP_DERIVATIVES

}  // namespace tierup::ops::derivatives
