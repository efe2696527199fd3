// Saving by the public API: what comes back, and what happens when it goes wrong on the way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "tierup/tierup.h"

namespace {

namespace fs = std::filesystem;
using tierup::v1::Error;
using tierup::v1::Module;
using tierup::v1::NamedTensors;
using tierup::v1::Optimizer;
using tierup::v1::Tensor;

const std::string kZoo = "tests/data/zoo/";
constexpr const char* kModel = "mlp3.pt";
constexpr const char* kProgram = "mlp3.pt2";

class SavingTest : public ::testing::Test {
 protected:
  SavingTest() {
    std::string pattern = ::testing::TempDir() + "tierup_saving_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SavingTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string folder_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Sets every element of every float tensor.
void set_weights(const Module& module, float value) {
  for (auto& [name, tensor] : module.state_dict()) {
    if (tensor.dtype() != tierup::v1::DType::kFloat32) continue;
    for (int64_t i = 0; i < tensor.element_count(); ++i)
      static_cast<float*>(tensor.data())[i] = value;
    tensor.mark_written();
  }
}

// The one value of all weights, or NaN if they differ.
float weights_of(const Module& module) {
  float first = -1;
  for (const auto& [name, tensor] : module.state_dict()) {
    if (tensor.dtype() != tierup::v1::DType::kFloat32) continue;
    const auto* data = static_cast<const float*>(tensor.data());
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      if (first == -1) first = data[i];
      if (data[i] != first) return std::nanf("");
    }
  }
  return first;
}

TEST_F(SavingTest, WeightsComeBackInArchivesAndPrograms) {
  for (const char* name : {kModel, kProgram}) {
    const Module module = Module::load(kZoo + name);
    set_weights(module, 0.25F);
    module.save(path(name));
    EXPECT_EQ(weights_of(Module::load(path(name))), 0.25F) << name;
    EXPECT_EQ(Module::load(path(name)).state_dict().size(), module.state_dict().size());
  }
}

TEST_F(SavingTest, AFileMayBeSavedOverWhileItIsMapped) {
  for (const char* name : {kModel, kProgram}) {
    fs::copy(kZoo + name, path(name));
    fs::permissions(path(name), fs::perms::owner_all);
    const Module module = Module::load(path(name));
    const Module other = Module::load(path(name));
    for (const float value : {1.0F, 2.0F, 3.0F}) {
      set_weights(module, value);
      module.save(path(name));
      EXPECT_EQ(weights_of(Module::load(path(name))), value) << name;
    }
    // Whoever has the old file mapped still reads it.
    const Module original = Module::load(kZoo + name);
    const NamedTensors now = other.state_dict();
    const NamedTensors then = original.state_dict();
    for (size_t i = 0; i < now.size(); ++i) {
      const Tensor& a = now[i].second;
      const Tensor& b = then[i].second;
      ASSERT_EQ(a.element_count(), b.element_count());
      if (a.dtype() != tierup::v1::DType::kFloat32) continue;
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.element_count()) * 4), 0);
    }
  }
}

TEST_F(SavingTest, AModelFromMemoryIsSavedToo) {
  const std::string bytes = content(kZoo + kModel);
  const Module module =
      Module::load(std::span(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()));
  set_weights(module, 7);
  module.save(path("m.pt"));
  EXPECT_EQ(weights_of(Module::load(path("m.pt"))), 7);
}

TEST_F(SavingTest, StateDictsComeBackInBothForms) {
  const Module module = Module::load(kZoo + kModel);
  set_weights(module, 0.5F);
  for (const char* name : {"s.safetensors", "s.pt"}) {
    module.save_state_dict(path(name));
    const Module other = Module::load(kZoo + kModel);
    other.load_state_dict(path(name));
    EXPECT_EQ(weights_of(other), 0.5F) << name;
  }
  EXPECT_EQ(content(path("s.pt")).substr(0, 2), "PK");
}

TEST_F(SavingTest, ModesAndAttributesAreSaved) {
  const Module module = Module::load(kZoo + "mlp3.pt");
  module.train();
  module.save(path("t.pt"));
  EXPECT_TRUE(Module::load(path("t.pt")).attribute("training").to_bool());
  module.eval();
  module.save(path("t.pt"));
  EXPECT_FALSE(Module::load(path("t.pt")).attribute("training").to_bool());
}

TEST_F(SavingTest, TargetsThatCannotBeWrittenAreErrors) {
  const Module module = Module::load(kZoo + kModel);
  EXPECT_NE(failure_of([&] { module.save(path("none/m.pt")); }).find("cannot write"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { module.save("/proc/tierup.pt"); }).find("cannot write"),
            std::string::npos);
  module.save(path("m.pt"));
  fs::permissions(path("m.pt"), fs::perms::owner_read);
  const std::string before = content(path("m.pt"));
  set_weights(module, 1);
  EXPECT_NE(failure_of([&] { module.save(path("m.pt")); }).find("read-only"), std::string::npos);
  EXPECT_NE(failure_of([&] { module.save_state_dict(path("m.pt")); }).find("read-only"),
            std::string::npos);
  EXPECT_EQ(content(path("m.pt")), before);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SavingTest, ADiskWithoutRoomLeavesTheOldFile) {
  for (const char* name : {kModel, kProgram}) {
    const Module module = Module::load(kZoo + name);
    set_weights(module, 1);
    module.save(path(name));
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      bool right = true;
      // At every length that the file could have got to.
      const auto whole = static_cast<rlim_t>(fs::file_size(path(name)));
      for (rlim_t most = 0; most < whole; most += 257) {
        const rlimit limit{most, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::string reason = failure_of([&] { module.save(path(name)); });
        right = right && reason.find("cannot write") != std::string::npos;
      }
      _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(weights_of(Module::load(path(name))), 1) << name;
  }
  EXPECT_EQ(files(), 2U);
}

// Runs `save(1)`, `save(2)`, ... in a process that is killed at a random moment after the first.
void kill_while_it_saves(std::mt19937& random, const std::function<void(int)>& save) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 1;; ++i) {
      save(i);
      if (i == 1 && write(ready[1], "!", 1) != 1) _exit(1);
    }
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  usleep(random() % 20000);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SavingTest, KilledAtAnyMomentTheFileOpens) {
  std::mt19937 random(5);
  const std::string target = path("m.pt");
  for (int round = 0; round < 100; ++round) {
    const Module module = Module::load(kZoo + kModel);
    kill_while_it_saves(random, [&](int i) {
      set_weights(module, static_cast<float>(i));
      module.save(target);
    });
    ASSERT_GE(weights_of(Module::load(target)), 1) << "round " << round;
  }
}

// The checkpoint that is there is whole: its weights, state and epoch are of one step.
TEST_F(SavingTest, KilledAtAnyMomentTheLastCheckpointOpens) {
  std::mt19937 random(7);
  const std::string target = path("checkpoint.pt");
  for (int round = 0; round < 100; ++round) {
    const Module module = Module::load("tests/data/training/mlp_mse.train.pt");
    const Optimizer optimizer("SGD", module, {{"lr", 0.1}, {"momentum", 0.5}});
    kill_while_it_saves(random, [&](int i) {
      set_weights(module, static_cast<float>(i));
      optimizer.set_rate(i);
      tierup::v1::save_checkpoint(target, module, optimizer, nullptr, i);
    });
    optimizer.set_rate(0);
    const int64_t epoch = tierup::v1::load_checkpoint(target, module, optimizer, nullptr);
    ASSERT_GE(epoch, 1) << "round " << round;
    ASSERT_EQ(weights_of(module), static_cast<float>(epoch)) << "round " << round;
    ASSERT_EQ(optimizer.rate(), static_cast<double>(epoch)) << "round " << round;
  }
}

}  // namespace
