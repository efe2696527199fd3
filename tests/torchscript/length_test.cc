// Functions of very many statements take time in proportion to them, from their source to their
// results: where something looks at each pair of statements, these take minutes.
#include <gtest/gtest.h>

#include "tests/torchscript/script_program.h"

namespace tierup {
namespace {

struct LongProgram {
  std::string name;
  int count;
  std::string begin;
  std::string statement;  // With "@" for its number and "#" for the next one.
  std::string end;        // With "@" for how many there were.
  std::string result;
};

void PrintTo(const LongProgram& program, std::ostream* stream) { *stream << program.name; }

std::string numbered(const std::string& text, int number) {
  std::string result;
  for (const char c : text) {
    if (c == '@') {
      result += std::to_string(number);
    } else if (c == '#') {
      result += std::to_string(number + 1);
    } else {
      result += c;
    }
  }
  return result;
}

std::string text_of(const LongProgram& program) {
  std::string text = "def main() -> str:\n" + program.begin;
  for (int i = 0; i < program.count; ++i) text += numbered(program.statement, i);
  return text + numbered(program.end, program.count);
}

class Length : public testing::TestWithParam<LongProgram> {
 protected:
  static void check(Preparation preparation) {
    ScriptProgram program(text_of(GetParam()), preparation);
    EXPECT_EQ(program.run("main").to_str(), GetParam().result);
  }
};

TEST_P(Length, AtTier0) { check(Preparation::kNoOpt); }
TEST_P(Length, Specialized) { check(Preparation::kSpecialized); }

const LongProgram kPrograms[] = {
    {"Appends", 20000, "  l = annotate(List[int], [])\n", "  _@ = torch.append(l, @)\n",
     "  return str(torch.len(l))\n", "20000"},
    {"AppendsOfLists", 20000, "  l = annotate(List[List[int]], [])\n",
     "  m@ = [1]\n  _@ = torch.append(l, m@)\n", "  return str(torch.len(l))\n", "20000"},
    {"AppendsOfTensors", 5000, "  l = annotate(List[Tensor], [])\n",
     "  _@ = torch.append(l, torch.ones([1]))\n", "  return str(torch.len(l))\n", "5000"},
    {"Inserts", 5000, "  d = annotate(Dict[str, int], {})\n", "  torch._set_item(d, \"k@\", @)\n",
     "  return str(torch.len(d))\n", "5000"},
    {"Texts", 20000, "  s0 = \"\"\n", "  s# = torch.add(s@, \"abcd\")\n",
     "  return str(torch.len(s@))\n", "80000"},
    {"WritesToOneTensor", 5000, "  y = torch.zeros([1])\n", "  _@ = torch.add_(y, 1)\n",
     "  return str(int(y))\n", "5000"},
    {"WritesToTensorsOfTheirOwn", 20000, "  x = torch.zeros([1])\n",
     "  y@ = torch.add(x, @)\n  _@ = torch.mul_(y@, 2)\n  z@ = torch.neg(y@)\n",
     "  return str(int(z7))\n", "-14"},
    {"Branches", 5000, "  y0 = torch.zeros([1])\n",
     "  if torch.gt(torch.len(str(y@)), @):\n    y# = torch.add(y@, 1)\n"
     "  else:\n    y# = torch.neg(y@)\n",
     "  return str(torch.dim(y@))\n", "1"},
};

INSTANTIATE_TEST_SUITE_P(Statements, Length, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tierup
