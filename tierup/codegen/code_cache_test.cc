#include "tierup/codegen/code_cache.h"

#include <gtest/gtest.h>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/memory/small_tensors.h"

namespace tierup::codegen {
namespace {

class Code final : public RefCounted {};

CachedKernel kernel_of(size_t bytes) {
  CachedKernel kernel;
  kernel.code = Ref<RefCounted>(new Code);
  kernel.bytes = bytes;
  return kernel;
}

TEST(CodeCache, FindsWhatWasAddedByContent) {
  CodeCache cache(100);
  EXPECT_FALSE(cache.find("add"));
  const CachedKernel kernel = kernel_of(10);
  cache.add("add", kernel);
  ASSERT_TRUE(cache.find("add"));
  EXPECT_EQ(cache.find("add")->code, kernel.code);
  EXPECT_FALSE(cache.find("mul"));
  EXPECT_EQ(cache.hits(), 2U);
}

TEST(CodeCache, TheFirstOfTwoEqualKernelsStays) {
  CodeCache cache(100);
  const CachedKernel first = kernel_of(10);
  cache.add("add", first);
  cache.add("add", kernel_of(10));
  EXPECT_EQ(cache.find("add")->code, first.code);
  EXPECT_EQ(cache.bytes(), 10U);
}

TEST(CodeCache, DropsUnusedKernelsLeastRecentlyUsedFirst) {
  CodeCache cache(100);
  cache.add("old", kernel_of(40));
  cache.add("older use", kernel_of(40));
  cache.find("old");
  cache.add("new", kernel_of(40));
  EXPECT_TRUE(cache.find("old"));
  EXPECT_FALSE(cache.find("older use"));
  EXPECT_EQ(cache.bytes(), 80U);
}

TEST(CodeCache, KeepsKernelsThatPlansRun) {
  CodeCache cache(100);
  const CachedKernel running = kernel_of(90);
  cache.add("running", running);
  cache.add("new", kernel_of(90));
  EXPECT_TRUE(cache.find("running"));
}

// What a swap of weights does: the same program again, in another graph.
TEST(CodeCache, AGroupOfTheSameContentIsNotCompiledAgain) {
  const auto program = [] {
    ops::GroupProgram made;
    made.input_count = 1;
    made.members = {call("aten::tanh", {input(0)}), call("aten::sigmoid", {member(0)})};
    made.outputs = {1};
    return made;
  };
  const Ref<ops::FusionGroup> first = compiled_group(program(), {kernels::counted({4})});
  if (first->kernel_count() == 0) GTEST_SKIP() << "no code generator: " << first->refusal().text();
  const uint64_t hits = CodeCache::instance().hits();
  const Ref<ops::FusionGroup> second = compiled_group(program(), {kernels::counted({9})});
  EXPECT_GT(second->kernel_count(), 0U);
  EXPECT_GT(CodeCache::instance().hits(), hits);
}

}  // namespace
}  // namespace tierup::codegen
