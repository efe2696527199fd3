// Files of old versions keep the semantics their operators had; section by section of the
// format's history. Only methods are upgraded, as PyTorch does.
#include <gtest/gtest.h>

#include "tests/torchscript/script_program.h"

namespace tierup {
namespace {

constexpr const char* kText = R"(class Old:
  n : int
  def __init__(self, n: int) -> NoneType:
    self.n = n
  def div_ints(self) -> Tensor:
    return torch.div(torch.tensor([5, -5]), torch.tensor([2, 2]))
  def div_scalar(self) -> Tensor:
    return torch.div(torch.tensor([5, -5]), 2)
  def div_float_scalar(self) -> Tensor:
    return torch.div(torch.tensor([5, -5]), 2.)
  def div_floats(self) -> Tensor:
    return torch.div(torch.tensor([5., -5.]), torch.tensor([2, 2]))
  def div_in_place(self) -> Tensor:
    return torch.div_(torch.tensor([5, -5]), 2)
  def div_numbers(self) -> float:
    return torch.div(5, 2)
  def full_int(self) -> int:
    return ops.prim.dtype(torch.full([2], 1))
  def full_dtype(self) -> int:
    return ops.prim.dtype(torch.full([2], 1, dtype=3))
  def linspace_default(self) -> int:
    return torch.numel(torch.linspace(0, 1))
  def linspace_none(self) -> int:
    return torch.numel(torch.linspace(0, 1, None))
  def logspace_default(self) -> int:
    return torch.numel(torch.logspace(0, 1))
  def gelu(self) -> Tensor:
    return torch.gelu(torch.zeros([1]))
def free_div() -> Tensor:
  return torch.div(torch.tensor([5, -5]), 2)
)";

// str() of a method of Old, or of the free function, in a file of this version.
std::string result(const std::string& call, int64_t version) {
  const std::string object = "__torch__.Old(1).";
  const std::string expression = call == "free_div" ? "__torch__.free_div()" : object + call + "()";
  ScriptProgram program(
      std::string(kText) + "def main() -> str:\n  return str(" + expression + ")\n",
      Preparation::kNoOpt, version);
  try {
    return escaped(program.run("main").to_str());
  } catch (const Error& error) {
    return "! " + error.message();
  }
}

constexpr const char* kTruncated = " 2\\n-2\\n[ CPULongType{2} ]";
constexpr const char* kTrue = " 2.5000\\n-2.5000\\n[ CPUFloatType{2} ]";

TEST(Upgraders, DivisionOfIntegersTruncatesBeforeVersionFour) {
  EXPECT_EQ(result("div_ints", 3), kTruncated);
  EXPECT_EQ(result("div_scalar", 3), kTruncated);
  EXPECT_EQ(result("div_in_place", 3), kTruncated);
  EXPECT_EQ(result("div_float_scalar", 3), kTrue);
  EXPECT_EQ(result("div_floats", 3), kTrue);
  EXPECT_EQ(result("div_ints", 4), kTrue);
  EXPECT_EQ(result("div_scalar", 4), kTrue);
}

TEST(Upgraders, DivisionOfNumbersNeverChanged) { EXPECT_EQ(result("div_numbers", 3), "2.5"); }

TEST(Upgraders, FreeFunctionsAreNotUpgraded) { EXPECT_EQ(result("free_div", 3), kTrue); }

TEST(Upgraders, FullFillsFloatsBeforeVersionFive) {
  EXPECT_EQ(result("full_int", 4), "6");
  EXPECT_EQ(result("full_int", 5), "4");
  EXPECT_EQ(result("full_dtype", 4), "3");
}

TEST(Upgraders, StepsOfLinspaceAndLogspaceAreOptionalInOldFiles) {
  EXPECT_EQ(result("linspace_default", 7), "100");
  EXPECT_EQ(result("linspace_none", 7), "100");
  EXPECT_EQ(result("logspace_default", 8), "100");
  EXPECT_TRUE(result("linspace_default", 8).starts_with("!"));
  EXPECT_TRUE(result("logspace_default", 9).starts_with("!"));
}

TEST(Upgraders, GeluTakesNoApproximationBeforeVersionTen) {
  EXPECT_EQ(result("gelu", 9), " 0\\n[ CPUFloatType{1} ]");
  EXPECT_EQ(result("gelu", 10), " 0\\n[ CPUFloatType{1} ]");
}

}  // namespace
}  // namespace tierup
