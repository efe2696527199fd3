#include "tierup/base/instruction_limit.h"

#include <cstdlib>

#include "tierup/base/error.h"

namespace tierup {

InstructionLimit parse_instruction_limit(std::string_view text) {
  if (text.empty()) return InstructionLimit::kNone;
  if (text == "sse42" || text == "base") return InstructionLimit::kSse42;
  if (text == "avx2") return InstructionLimit::kAvx2;
  if (text == "avx512") return InstructionLimit::kAvx512;
  fail(ErrorCode::kInvalidArgument,
       "TIERUP_INSTRUCTION_SET={}: not a known level; known are sse42 (base), avx2 and avx512",
       text);
}

std::string_view instruction_limit_name(InstructionLimit limit) {
  switch (limit) {
    case InstructionLimit::kSse42: return "sse42";
    case InstructionLimit::kAvx2: return "avx2";
    case InstructionLimit::kAvx512: return "avx512";
    case InstructionLimit::kNone: break;
  }
  return "none";
}

InstructionLimit instruction_limit() {
  static const InstructionLimit limit = [] {
    const char* text = std::getenv("TIERUP_INSTRUCTION_SET");
    return parse_instruction_limit(text != nullptr ? text : "");
  }();
  return limit;
}

}  // namespace tierup
