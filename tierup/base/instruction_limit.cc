#include "tierup/base/instruction_limit.h"

#include <algorithm>
#include <cstdlib>

#include "tierup/base/error.h"

namespace tierup {
namespace {

struct Level {
  std::string_view name;
  InstructionLimit limit;
};

// Those of this architecture; a limit's first name is the one that is shown.
#if defined(__x86_64__)
constexpr Level kLevels[] = {{"sse42", InstructionLimit::kBase},
                             {"base", InstructionLimit::kBase},
                             {"avx2", InstructionLimit::kAvx2},
                             {"avx512", InstructionLimit::kAvx512}};
constexpr std::string_view kNames = "known are sse42 (base), avx2 and avx512";
#else
constexpr Level kLevels[] = {{"neon", InstructionLimit::kBase}, {"base", InstructionLimit::kBase}};
constexpr std::string_view kNames = "this architecture has neon (base) alone";
#endif

}  // namespace

InstructionLimit parse_instruction_limit(std::string_view text) {
  if (text.empty()) return InstructionLimit::kNone;
  const auto* level = std::ranges::find(kLevels, text, &Level::name);
  require(level != std::end(kLevels), ErrorCode::kInvalidArgument,
          "TIERUP_INSTRUCTION_SET={}: not a known level; {}", text, kNames);
  return level->limit;
}

std::string_view instruction_limit_name(InstructionLimit limit) {
  const auto* level = std::ranges::find(kLevels, limit, &Level::limit);
  return level != std::end(kLevels) ? level->name : "none";
}

InstructionLimit instruction_limit() {
  static const InstructionLimit limit = [] {
    const char* text = std::getenv("TIERUP_INSTRUCTION_SET");
    return parse_instruction_limit(text != nullptr ? text : "");
  }();
  return limit;
}

}  // namespace tierup
