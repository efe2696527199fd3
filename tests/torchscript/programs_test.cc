// Runs the programs/ folder: each file is a code file of an archive, and its comments are cases.
//
//   #? EXPRESSION     what to evaluate; its str() is compared
//   #= TEXT           the text that PyTorch gives (record_expected.py writes these lines)
//   #! TEXT           PyTorch raises an error; ours must contain these words
//   #~ TEXT           as "#=", where tierup means to differ from PyTorch; "#~!" for an error
//
// Line ends and backslashes in a text are escaped. Every case runs on the graph as emitted, on
// the graph of tier 0, on the specialised one, and through the tiers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/torchscript/script_program.h"

namespace tierup {
namespace {

struct Case {
  std::string expression;
  std::string expected;
  bool is_error = false;
};

struct ProgramFile {
  std::string name;
  std::string text;  // With a function __case0, __case1... for each case.
  std::vector<Case> cases;
};

void PrintTo(const ProgramFile& program, std::ostream* stream) { *stream << program.name; }

ProgramFile read_program(const std::filesystem::path& path) {
  ProgramFile program{path.stem().string(), {}, {}};
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("#? ")) {
      program.cases.push_back({line.substr(3), {}, false});
    } else if (line.starts_with("#=") || line.starts_with("#~") || line.starts_with("#!")) {
      const bool is_error = line[1] == '!' || line.starts_with("#~!");
      const size_t start = line.find(' ');
      program.cases.back().is_error = is_error;
      program.cases.back().expected = start == std::string::npos ? "" : line.substr(start + 1);
    } else {
      program.text += line + "\n";
    }
  }
  for (size_t i = 0; i < program.cases.size(); ++i) {
    program.text +=
        fmt::format("def __case{}() -> str:\n  return str({})\n", i, program.cases[i].expression);
  }
  return program;
}

std::vector<ProgramFile> all_programs() {
  std::vector<ProgramFile> programs;
  for (const auto& entry : std::filesystem::directory_iterator("tests/torchscript/programs")) {
    if (entry.path().extension() == ".py") programs.push_back(read_program(entry.path()));
  }
  std::sort(programs.begin(), programs.end(),
            [](const ProgramFile& a, const ProgramFile& b) { return a.name < b.name; });
  return programs;
}

void check_case(ScriptProgram& program, const Case& wanted, size_t index) {
  std::string text;
  try {
    text = program.run(fmt::format("__case{}", index)).to_str();
    if (wanted.is_error) {
      ADD_FAILURE() << wanted.expression << "\n  gave: " << text
                    << "\n  instead of the error: " << wanted.expected;
      return;
    }
    EXPECT_EQ(escaped(text), wanted.expected) << wanted.expression;
  } catch (const Error& error) {
    const std::string all = escaped(error.what());
    EXPECT_TRUE(wanted.is_error && all.find(wanted.expected) != std::string::npos)
        << wanted.expression << "\n  raised: " << error.what() << "\n  wanted: " << wanted.expected;
  }
}

class Programs : public testing::TestWithParam<ProgramFile> {
 protected:
  static void run_all(Preparation preparation) {
    ScriptProgram program(GetParam().text, preparation);
    ASSERT_FALSE(GetParam().cases.empty());
    for (size_t i = 0; i < GetParam().cases.size(); ++i) {
      check_case(program, GetParam().cases[i], i);
    }
  }
};

TEST_P(Programs, AsEmitted) { run_all(Preparation::kNone); }
TEST_P(Programs, AtTierZero) { run_all(Preparation::kNoOpt); }
TEST_P(Programs, Specialized) { run_all(Preparation::kSpecialized); }
TEST_P(Programs, Tiered) { run_all(Preparation::kTiered); }

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(all_programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tierup
