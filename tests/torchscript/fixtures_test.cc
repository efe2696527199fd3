// Loads the models of fixtures/ and compares what their forward() returns with PyTorch's text.
// make_fixtures.py wrote both. Each model is run as emitted, at tier 0, and specialised.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/torchscript/script_program.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace tierup {
namespace {

using frontend::torchscript::LoadedModule;

// A loaded model with the program that runs it, also while it is being loaded.
class LoadedFixture {
 public:
  LoadedFixture(const std::string& path, Preparation preparation)
      : program_([preparation](const ir::Function& f) { return prepare_graph(f, preparation); }) {
    context_.generator = generator_.get();
    frontend::torchscript::LoadOptions options;
    options.run = [this](const ir::Function& function, std::vector<IValue> args) {
      return program_.run(function, args, context_, state_);
    };
    module_ = load_torchscript(archive::ModelArchive::open(path), options);
  }

  std::string forward() {
    const Ref<Callable> method = module_.root->type->find_method("forward");
    require(static_cast<bool>(method), ErrorCode::kNotFound, "no method forward");
    IValue args[] = {module_.root};
    return program_.run(ir::as_function(*method), args, context_, state_).to_str();
  }

 private:
  LoadedModule module_;
  Ref<kernels::Generator> generator_ = make_ref<kernels::Generator>();
  ops::RunContext context_;
  Ref<const runtime::RunState> state_{make_ref<runtime::RunState>()};
  runtime::Program program_;
};

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/torchscript/fixtures")) {
    if (entry.path().extension() == ".pt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Fixtures : public testing::TestWithParam<std::string> {
 protected:
  static void check(Preparation preparation) {
    const std::string path = "tests/torchscript/fixtures/" + GetParam();
    std::ifstream file(path + ".txt", std::ios::binary);
    std::string expected;
    ASSERT_TRUE(std::getline(file, expected) && expected.size() > 3);
    try {
      LoadedFixture fixture(path + ".pt", preparation);
      EXPECT_EQ("#= " + escaped(fixture.forward()), expected);
    } catch (const Error& error) {
      EXPECT_TRUE(expected.starts_with("#! ") &&
                  std::string(error.what()).find(expected.substr(3)) != std::string::npos)
          << "raised: " << error.what() << "\nwanted: " << expected;
    }
  }
};

TEST_P(Fixtures, AsEmitted) { check(Preparation::kNone); }
TEST_P(Fixtures, AtTierZero) { check(Preparation::kNoOpt); }
TEST_P(Fixtures, Specialized) { check(Preparation::kSpecialized); }

INSTANTIATE_TEST_SUITE_P(All, Fixtures, testing::ValuesIn(fixture_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tierup
