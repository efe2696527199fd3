// The one switch that keeps a process below what its processor has: TIERUP_INSTRUCTION_SET.
//
// Who brings instructions into the process asks here: our own kernels, oneDNN, OpenBLAS and the
// code generator. So the lower levels are run, tested and measured on any machine; decision 0028.
#pragma once

#include <cstdint>
#include <string_view>

namespace tierup {

// Each level has what those before it have. kBase is what tierup needs: SSE4.2 and POPCNT on
// x86-64, ARMv8-A with its vectors (NEON) on AArch64, which has no other level. kAvx2: AVX2, FMA,
// F16C and BMI2; kAvx512: AVX-512 F, CD, DQ, BW and VL. kNone: all that the processor has.
enum class InstructionLimit : uint8_t { kBase, kAvx2, kAvx512, kNone };

// "base", which x86-64 calls "sse42" too and AArch64 "neon", and on x86-64 "avx2", "avx512"; empty:
// kNone. Throws kInvalidArgument for anything else, with the names that this architecture has.
InstructionLimit parse_instruction_limit(std::string_view text);
// "sse42", "avx2", "avx512", "none"; on AArch64 "neon" or "none".
std::string_view instruction_limit_name(InstructionLimit limit);

// What the environment variable TIERUP_INSTRUCTION_SET says, read once. Throws kInvalidArgument
// each time if it names no level. Any thread.
InstructionLimit instruction_limit();

}  // namespace tierup
