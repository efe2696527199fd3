// Which instructions oneDNN uses, as it says itself; for tests and reports.
#pragma once

#include "tierup/base/instruction_limit.h"

namespace tierup::kernels {

// The lowest level that has all of them; kNone where that is more than AVX-512's, or than NEON on
// AArch64. Makes the engine if there is none. Thread-safe.
InstructionLimit onednn_level();

// Whether it may use instructions that multiply bf16. Makes the engine if there is none.
// Thread-safe.
bool onednn_has_bfloat16();

}  // namespace tierup::kernels
