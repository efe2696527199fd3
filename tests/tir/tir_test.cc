// One GoogleTest per text test under tests/{ir,analysis,passes}.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/tir/tir_checker.h"

namespace tierup::tests {
namespace {

class TirTest : public testing::Test {
 public:
  explicit TirTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    for (const std::string& problem : check_tir_file(path_)) ADD_FAILURE() << problem;
  }

 private:
  std::string path_;
};

void register_tests() {
  for (const char* folder : {"ir", "analysis", "passes"}) {
    const std::filesystem::path root = std::filesystem::path("tests") / folder;
    if (!std::filesystem::exists(root)) continue;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      if (entry.path().extension() == ".tir") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      testing::RegisterTest(folder, path.stem().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path]() -> testing::Test* { return new TirTest(path.string()); });
    }
  }
}

}  // namespace
}  // namespace tierup::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tierup::tests::register_tests();
  return RUN_ALL_TESTS();
}
