#include "tierup/base/instruction_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tierup/base/error.h"

namespace tierup {
namespace {

#if defined(__x86_64__)
const std::vector<InstructionLimit> kHere{InstructionLimit::kBase, InstructionLimit::kAvx2,
                                          InstructionLimit::kAvx512};
const std::vector<std::string> kElsewhere;
constexpr const char* kNames = "sse42 (base), avx2 and avx512";
#else
const std::vector<InstructionLimit> kHere{InstructionLimit::kBase};
const std::vector<std::string> kElsewhere{"sse42", "avx2", "avx512"};
constexpr const char* kNames = "this architecture has neon (base) alone";
#endif

TEST(InstructionLimit, IsReadByName) {
  for (const InstructionLimit limit : kHere)
    EXPECT_EQ(parse_instruction_limit(instruction_limit_name(limit)), limit);
  EXPECT_EQ(parse_instruction_limit("base"), InstructionLimit::kBase);
  EXPECT_EQ(parse_instruction_limit(""), InstructionLimit::kNone);
}

TEST(InstructionLimit, OfAnotherNameIsAnErrorThatListsTheKnownOnes) {
  std::vector<std::string> unknown{"AVX2", "avx", "none", "avx2 ", "amx", "0"};
  unknown.insert(unknown.end(), kElsewhere.begin(), kElsewhere.end());
  for (const std::string& text : unknown) {
    try {
      parse_instruction_limit(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
      EXPECT_NE(error.message().find(kNames), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace tierup
