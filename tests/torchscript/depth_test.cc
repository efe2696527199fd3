// Nesting near the parser's limit must go through emitter, passes and interpreter, and beyond
// it must be refused: never a crash.
#include <gtest/gtest.h>

#include "tests/torchscript/script_program.h"

namespace tierup {
namespace {

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

// str() of main()'s result, or the error's code.
std::string result(const std::string& body, Preparation preparation) {
  try {
    ScriptProgram program("def main() -> str:\n" + body, preparation);
    return program.run("main").to_str();
  } catch (const Error& error) {
    return std::string(error_code_name(error.code()));
  }
}

struct DeepProgram {
  std::string name;
  std::string (*body)(int depth);
};

std::string calls(int depth) {
  return "  x = 0\n  return str(" + repeated("torch.add(", depth) + "x" + repeated(", 1)", depth) +
         ")\n";
}
std::string sums(int depth) { return "  x = 0\n  return str(x" + repeated(" + 1", depth) + ")\n"; }
std::string blocks(int depth) {
  std::string text = "  x = 0\n";
  for (int i = 0; i < depth; ++i) {
    text += std::string(static_cast<size_t>(2 + i), ' ') + "if x == " + std::to_string(i) + ":\n";
    text += std::string(static_cast<size_t>(3 + i), ' ') + "x = " + std::to_string(i + 1) + "\n";
  }
  return text + "  return str(x)\n";
}
std::string early_returns(int depth) {
  std::string text = "  x = " + std::to_string(depth) + "\n";
  for (int i = 0; i < depth; ++i) {
    const std::string number = std::to_string(i);
    text += "  if x == " + number + ":\n    return str(" + number + ")\n";
  }
  return text + "  return str(x)\n";
}
std::string lists(int depth) {
  return "  return str(len(" + repeated("[", depth) + "0" + repeated("]", depth) + "))\n";
}

class Depth : public testing::TestWithParam<DeepProgram> {
 protected:
  static void check(Preparation preparation) {
    const DeepProgram& program = GetParam();
    const bool is_list = program.name == "Lists";
    EXPECT_EQ(result(program.body(200), preparation), is_list ? "1" : "200");
    for (const int depth : {700, 990, 5000}) {
      const std::string text = result(program.body(depth), preparation);
      const std::string wanted = is_list ? "1" : std::to_string(depth);
      EXPECT_TRUE(text == wanted || text == "recursion_limit") << depth << ": " << text;
    }
  }
};

TEST_P(Depth, AsEmitted) { check(Preparation::kNone); }
TEST_P(Depth, Specialized) { check(Preparation::kSpecialized); }

INSTANTIATE_TEST_SUITE_P(All, Depth,
                         testing::Values(DeepProgram{"Calls", &calls}, DeepProgram{"Sums", &sums},
                                         DeepProgram{"Blocks", &blocks},
                                         DeepProgram{"EarlyReturns", &early_returns},
                                         DeepProgram{"Lists", &lists}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tierup
