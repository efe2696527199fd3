// What the code generator's object holds of the process's memory.
#include "tierup/codegen/library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tierup/codegen/group_fixture.h"

namespace tierup::codegen {
namespace {

// KiB of the object's code that are in the process's memory.
int64_t resident_code() {
  std::ifstream maps("/proc/self/smaps");
  bool is_code = false;
  int64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(':')) {
      is_code = line.find("libtierup_codegen") != std::string::npos &&
                line.find(" r-xp ") != std::string::npos;
    } else if (is_code && line.starts_with("Rss:")) {
      int64_t rss = 0;
      std::istringstream(line.substr(4)) >> rss;
      sum += rss;
    }
  }
  return sum;
}

// x * factor + x: a kernel of its own for each factor.
Ref<ops::FusionGroup> compiled(double factor) {
  ops::GroupProgram program;
  program.input_count = 1;
  program.members = {
      call("aten::mul.Tensor", {input(0), constant(IValue(factor))}),
      call("aten::add.Tensor", {member(0), input(0), constant(IValue(int64_t{1}))}),
  };
  program.outputs = {1};
  return compiled_group(std::move(program), {Tensor::empty(IntVector{40}, ScalarType::kFloat)});
}

TEST(LibraryPages, GoOnceGroupsAreCompiledAndComeBackForOthers) {
  TIERUP_NEED_CODEGEN();
  for (const double factor : {1.75, 0.625}) {
    const auto group = compiled(factor);
    EXPECT_EQ(group->kernel_count(), 1U) << group->refusal().text();
    EXPECT_LT(resident_code(), 2048) << "KiB of 17,000 that compiling needs";
  }
}

}  // namespace
}  // namespace tierup::codegen
