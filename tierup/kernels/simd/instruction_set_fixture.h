// Tests that are run with the code of each instruction set.
#pragma once

#include <gtest/gtest.h>

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

// Limited to the instruction set that is the parameter, as far as the processor has it.
class OnInstructionSet : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override { limit_instruction_set(GetParam()); }
  void TearDown() override { limit_instruction_set(InstructionSet::kAvx512); }
};

}  // namespace tierup::kernels
