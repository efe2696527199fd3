// Whether the plans of this process can have compiled kernels.
#pragma once

#include <string>

#include "tierup/tier/tiering_options.h"

namespace tierup::tier {

// Why plans get no fused kernels although the options ask for them; empty: they can have them, or
// the options want none. Loads the code generator (tens of milliseconds) if nothing has yet: ask
// after what is measured. Thread rule: any thread.
std::string code_generator_failure(const TieringOptions& options);

}  // namespace tierup::tier
