// TIERUP_INSTRUCTION_SET holds for everything that brings instructions into the process: each
// component is asked what it uses. CTest runs this once for each level, and once without a limit.
#include "tierup/base/instruction_limit.h"

#include <gtest/gtest.h>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/linalg/lapack_library.h"
#include "tierup/kernels/onednn/onednn_level.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;

// What each component may use at most.
struct Level {
  InstructionSet kernels;
  const char* core;    // OpenBLAS's word.
  const char* target;  // LLVM's processor.
};

// What LLVM finds on every machine that tierup runs on.
#if defined(__x86_64__)
constexpr const char* kHostFeature = "+sse4.2";

Level level_of(InstructionLimit limit) {
  switch (limit) {
    case InstructionLimit::kBase: return {InstructionSet::kBase, "Nehalem", "x86-64-v2;"};
    case InstructionLimit::kAvx2: return {InstructionSet::kAvx2, "Haswell", "x86-64-v3;"};
    case InstructionLimit::kAvx512: return {InstructionSet::kAvx512, "SkylakeX", "x86-64-v4;"};
    case InstructionLimit::kNone: break;
  }
  return {InstructionSet::kAvx512, nullptr, nullptr};
}

// Levels of which the processor itself has less say nothing.
bool processor_has(InstructionLimit limit) {
  if (limit == InstructionLimit::kAvx2) return __builtin_cpu_supports("avx2") != 0;
  return limit != InstructionLimit::kAvx512 || __builtin_cpu_supports("avx512vl") != 0;
}
#else
constexpr const char* kHostFeature = "";

Level level_of(InstructionLimit limit) {
  if (limit == InstructionLimit::kNone) return {InstructionSet::kBase, nullptr, nullptr};
  return {InstructionSet::kBase, "armv8", "generic;"};
}

bool processor_has(InstructionLimit /*limit*/) { return true; }
#endif

class LimitedComponents : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!processor_has(instruction_limit())) GTEST_SKIP() << "the processor has less";
  }
  const Level level_ = level_of(instruction_limit());
};

TEST_F(LimitedComponents, OwnKernels) {
  EXPECT_LE(kernels::instruction_set(), level_.kernels);
  if (instruction_limit() != InstructionLimit::kNone) {
    EXPECT_EQ(kernels::instruction_set(), level_.kernels);
  }
}

TEST_F(LimitedComponents, OneDnn) {
  if (instruction_limit() != InstructionLimit::kNone) {
    EXPECT_EQ(kernels::onednn_level(), instruction_limit());
  } else if (kernels::instruction_set() == InstructionSet::kAvx512) {  // No less than our own.
    EXPECT_GE(kernels::onednn_level(), InstructionLimit::kAvx512);
  }
}

TEST_F(LimitedComponents, OpenBlas) {
  const std::string core = kernels::lapack::core_name();
  if (core.empty()) GTEST_SKIP() << "LAPACK is not OpenBLAS here";
  if (level_.core != nullptr) {
    EXPECT_STRCASEEQ(core.c_str(), level_.core);
  }
}

TEST_F(LimitedComponents, CodeGenerator) {
  TIERUP_NEED_CODEGEN();
  const CompileOptions limited = process_options();
  const CompileOptions host{};
  const std::string target = Library::instance().api()->target(&limited);
  if (level_.target != nullptr) {
    EXPECT_EQ(target, level_.target);
  } else {
    EXPECT_EQ(target, Library::instance().api()->target(&host));
    EXPECT_NE(target.find(kHostFeature), std::string::npos) << target;
  }
}

}  // namespace
}  // namespace tierup::codegen
