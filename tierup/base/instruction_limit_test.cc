#include "tierup/base/instruction_limit.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"

namespace tierup {
namespace {

TEST(InstructionLimit, IsReadByName) {
  for (const InstructionLimit limit :
       {InstructionLimit::kSse42, InstructionLimit::kAvx2, InstructionLimit::kAvx512}) {
    EXPECT_EQ(parse_instruction_limit(instruction_limit_name(limit)), limit);
  }
  EXPECT_EQ(parse_instruction_limit("base"), InstructionLimit::kSse42);
  EXPECT_EQ(parse_instruction_limit(""), InstructionLimit::kNone);
}

TEST(InstructionLimit, OfAnotherNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* text : {"AVX2", "avx", "none", "avx2 ", "amx", "0"}) {
    try {
      parse_instruction_limit(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("sse42 (base), avx2 and avx512"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tierup
