// Optimisers, schedules, clipping and checkpoints against what torch.optim recorded
// (tools/make_training_fixtures.py).
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tierup/archive/byte_sink.h"
#include "tierup/archive/model_archive.h"
#include "tierup/archive/safetensors.h"
#include "tierup/archive/zip_writer.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/training/checkpoint.h"
#include "tierup/training/clip.h"
#include "tierup/training/schedule.h"

namespace tierup::training {
namespace {

namespace fs = std::filesystem;
const fs::path kData = "tests/data/training";

IValue from_json(const simdjson::dom::element& json) {
  using simdjson::dom::element_type;
  switch (json.type()) {
    case element_type::OBJECT: {
      const auto dict = make_ref<DictValue>(Type::str(), Type::any());
      for (const auto& [key, value] : simdjson::dom::object(json)) {
        dict->set(IValue(std::string_view(key)), from_json(value));
      }
      return IValue(dict);
    }
    case element_type::ARRAY: {
      const auto list = make_ref<ListValue>(Type::any());
      for (const auto& item : simdjson::dom::array(json)) list->items.push_back(from_json(item));
      return IValue(list);
    }
    case element_type::BOOL: return IValue(bool(json));
    case element_type::INT64: return IValue(int64_t(json));
    case element_type::DOUBLE: return IValue(double(json));
    case element_type::STRING: return IValue(std::string_view(json));
    default: return {};
  }
}

IValue parse(std::string_view text) {
  simdjson::dom::parser parser;
  return from_json(parser.parse(text.data(), text.size()));
}

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

Tensor filled(IntVector sizes, double value, ScalarType dtype = ScalarType::kFloat) {
  const Tensor tensor = Tensor::empty(sizes, dtype);
  kernels::fill(tensor, Scalar(value));
  return tensor;
}

// The largest difference, relative to numbers above 1 (what is optimised here is of that size).
double difference(const Tensor& a, const Tensor& b) {
  const Tensor x = kernels::to_dtype(kernels::contiguous(a), ScalarType::kDouble);
  const Tensor y = kernels::to_dtype(kernels::contiguous(b), ScalarType::kDouble);
  double largest = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double u = x.data<double>()[i];
    const double v = y.data<double>()[i];
    largest = std::max(largest, std::abs(u - v) / std::max({std::abs(u), std::abs(v), 1.0}));
  }
  return largest;
}

constexpr int kSteps = 5;

ParameterGroup group_of(OptimizerKind kind, const IValue& settings, std::vector<Tensor> tensors) {
  ParameterGroup group;
  group.settings = optimizer_facts(kind).defaults;
  apply_settings(kind, settings.to_dict(), false, group.settings);
  for (size_t i = 0; i < tensors.size(); ++i) {
    group.parameters.emplace_back(fmt::format("p{}", i), tensors[i]);
  }
  return group;
}

// Runs a recorded optimiser in this dtype and returns the largest difference of any step.
double replay(const archive::Safetensors& file, const std::string& dtype) {
  const OptimizerKind kind = optimizer_kind(file.metadata().at("kind"));
  const IValue settings = parse(file.metadata().at("settings"));
  const auto named = [&](int i, const std::string& what) {
    return file.tensor(fmt::format("{}.{}.{}", dtype, i, what));
  };
  std::vector<Tensor> parameters{kernels::clone(named(0, "start")),
                                 kernels::clone(named(1, "start"))};
  Optimizer optimizer(kind, {group_of(kind, settings, parameters)});
  double largest = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Tensor> gradients{named(0, fmt::format("grad{}", step)),
                                  named(1, fmt::format("grad{}", step))};
    if (step == 2) gradients[1] = Tensor();
    optimizer.step(gradients);
    for (int i = 0; i < 2; ++i) {
      const Tensor expected = named(i, fmt::format("after{}", step));
      largest = std::max(largest, difference(parameters[static_cast<size_t>(i)], expected));
    }
  }
  return largest;
}

class RecordedSteps : public ::testing::TestWithParam<std::string> {};

// Equal to the bit but for roots, where a vendor's library of the recording machine is off by one
// in the last place, and for processors without a fused multiply and add.
TEST_P(RecordedSteps, AreFollowed) {
  const auto file = archive::Safetensors::open(kData / (GetParam() + ".steps.safetensors"));
  const bool exact = file.metadata().at("kind") == "SGD";
  for (const auto set : {kernels::InstructionSet::kAvx2, kernels::InstructionSet::kAvx512}) {
    kernels::limit_instruction_set(set);
    const bool fused = kernels::instruction_set() != kernels::InstructionSet::kBase;
    EXPECT_LE(replay(file, "float32"), exact && fused ? 0 : 5e-7);
    EXPECT_LE(replay(file, "float64"), exact && fused ? 0 : 1e-15);
  }
  kernels::limit_instruction_set(kernels::InstructionSet::kBase);
  EXPECT_LE(replay(file, "float32"), 5e-7);
  kernels::limit_instruction_set(kernels::InstructionSet::kAvx512);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, RecordedSteps,
                         ::testing::Values("sgd", "sgd_momentum", "sgd_nesterov", "adam",
                                           "adam_half", "adamw", "rmsprop", "rmsprop_centered",
                                           "adagrad", "adadelta", "nadam", "nadam_decoupled",
                                           "radam", "radam_early", "adamax"),
                         [](const auto& info) { return info.param; });

IValue adamw() { return parse(R"({"lr": 0.01, "weight_decay": 0.1, "amsgrad": true})"); }

// Large enough for a team, with a parameter of another layout and one that shares memory.
std::vector<Tensor> many_parameters() {
  const Tensor large = filled({300, 400}, 0.5);
  const Tensor turned = filled({200, 100}, 1).as_view(IntVector{100, 200}, IntVector{1, 100}, 0);
  const Tensor gaps = filled({50, 60}, 2).as_view(IntVector{50, 20}, IntVector{60, 3}, 1);
  for (int64_t i = 0; i < large.numel(); ++i) {
    large.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  return {large, turned, gaps, large.as_view(IntVector{400}, IntVector{1}, 800)};
}

TEST(OptimizerTest, TheNumberOfThreadsAndTheLayoutChangeNoBit) {
  const auto run = [&](int threads) {
    const ThreadCountScope scope(threads);
    std::vector<Tensor> parameters = many_parameters();
    Optimizer optimizer(OptimizerKind::kAdamW,
                        {group_of(OptimizerKind::kAdamW, adamw(), parameters)});
    for (int step = 0; step < 3; ++step) {
      std::vector<Tensor> gradients;
      for (const Tensor& parameter : parameters) {
        const Tensor gradient = Tensor::empty(parameter.sizes(), ScalarType::kFloat);
        kernels::copy_into(gradient, parameter);
        gradients.push_back(gradient);
      }
      optimizer.step(gradients);
    }
    return parameters;
  };
  const std::vector<Tensor> one = run(1);
  const std::vector<Tensor> four = run(4);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(difference(one[i], four[i]), 0) << i;
  // The elements between those of the view are as they were.
  EXPECT_EQ(static_cast<const float*>(one[2].storage()->data())[0], 2.0F);
  EXPECT_NE(static_cast<const float*>(one[2].storage()->data())[1], 2.0F);
}

TEST(OptimizerTest, AClippingFactorInTheStepIsAClippedGradient) {
  const Tensor a = filled({1000}, 1);
  const Tensor b = filled({1000}, 1);
  const Tensor gradient = filled({1000}, 3);
  Optimizer fused(OptimizerKind::kAdam, {group_of(OptimizerKind::kAdam, parse("{}"), {a})});
  Optimizer plain(OptimizerKind::kAdam, {group_of(OptimizerKind::kAdam, parse("{}"), {b})});
  const std::vector<Tensor> gradients{gradient};
  const double total = total_norm(gradients);
  fused.step(gradients, clip_factor(total, 1, ScalarType::kFloat));
  EXPECT_EQ(gradient.data<float>()[0], 3.0F);
  EXPECT_EQ(clip_norm(gradients, 1), total);
  plain.step(gradients);
  EXPECT_EQ(difference(a, b), 0);
}

TEST(OptimizerTest, WhatCannotBeOptimisedIsRefusedByName) {
  const auto make = [](const char* settings, std::vector<Tensor> tensors) {
    return failure_of([&] {
      Optimizer(OptimizerKind::kSgd,
                {group_of(OptimizerKind::kSgd, parse(settings), std::move(tensors))});
    });
  };
  const Tensor good = filled({2}, 1);
  EXPECT_NE(make("{}", {}).find("empty parameter list"), std::string::npos);
  EXPECT_NE(make("{}", {good, good}).find("'p1' appears more than once"), std::string::npos);
  EXPECT_NE(make("{}", {filled({2}, 1, ScalarType::kLong)}).find("'p0' is Long[2]"),
            std::string::npos);
  EXPECT_NE(make("{}", {filled({2}, 1, ScalarType::kHalf)}).find("float32"), std::string::npos);
  EXPECT_NE(make(R"({"lr": -1.0})", {good}).find("invalid lr value: -1"), std::string::npos);
  EXPECT_NE(make(R"({"nesterov": true})", {good}).find("Nesterov"), std::string::npos);
  EXPECT_NE(make(R"({"speed": 1})", {good}).find("no setting 'speed'"), std::string::npos);
  EXPECT_NE(make(R"({"momentum": "high"})", {good}).find("number"), std::string::npos);
  EXPECT_NE(failure_of([] { optimizer_kind("lion"); }).find("SGD, Adam, AdamW"), std::string::npos);
  Optimizer optimizer(OptimizerKind::kSgd, {group_of(OptimizerKind::kSgd, parse("{}"), {good})});
  const std::vector<Tensor> wrong{filled({3}, 1)};
  EXPECT_NE(failure_of([&] { optimizer.step(wrong); }).find("its gradient is Float[3]"),
            std::string::npos);
  EXPECT_EQ(good.data<float>()[0], 1.0F);
}

TEST(OptimizerTest, SettingsOfHowPyTorchRunsItsLoopAreTakenAndKept) {
  Settings settings = optimizer_facts(OptimizerKind::kAdam).defaults;
  const IValue given = parse(R"({"lr": 0.5, "foreach": true, "fused": false})");
  apply_settings(OptimizerKind::kAdam, given.to_dict(), false, settings);
  EXPECT_EQ(settings.lr, 0.5);
  EXPECT_TRUE(settings.extra.at("foreach").to_bool());
}

TEST(OptimizerTest, StatesThatDoNotFitAreListedWholeAndChangeNothing) {
  const auto make = [](OptimizerKind kind, std::vector<Tensor> tensors) {
    return Optimizer(kind, {group_of(kind, parse("{}"), std::move(tensors))});
  };
  Optimizer adam = make(OptimizerKind::kAdam, {filled({2}, 1), filled({3}, 1)});
  const std::vector<Tensor> gradients{filled({2}, 1), filled({3}, 1)};
  adam.step(gradients);
  Optimizer other = make(OptimizerKind::kAdam, {filled({2}, 1), filled({4}, 1), filled({1}, 1)});
  const std::string problems = failure_of([&] { other.load_state_dict(adam.state_dict()); });
  EXPECT_NE(problems.find("group 0 has 2 parameters instead of 3"), std::string::npos) << problems;
  EXPECT_NE(problems.find("'p1' is [4], its state 'exp_avg' is [3]"), std::string::npos);
  Optimizer sgd = make(OptimizerKind::kSgd, {filled({2}, 1), filled({3}, 1)});
  EXPECT_NE(failure_of([&] {
              sgd.load_state_dict(adam.state_dict());
            }).find("SGD has no state 'exp_avg'"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { sgd.load_state_dict(IValue(1)); }).find("param_groups"),
            std::string::npos);
}

TEST(ClipTest, NormsAndValues) {
  const std::vector<Tensor> none;
  EXPECT_EQ(total_norm(none), 0);
  const std::vector<Tensor> gradients{filled({4}, 3), Tensor(), filled({9}, -4)};
  EXPECT_NEAR(total_norm(gradients), std::sqrt(4 * 9 + 9 * 16), 1e-5);
  EXPECT_EQ(total_norm(gradients, 1), 4 * 3 + 9 * 4);
  EXPECT_EQ(total_norm(gradients, std::numeric_limits<double>::infinity()), 4);
  clip_value(gradients, 3.5);
  EXPECT_EQ(gradients[0].data<float>()[0], 3.0F);
  EXPECT_EQ(gradients[2].data<float>()[8], -3.5F);
  clip_norm(gradients, 1e9);  // Multiplied by 1: nothing moves.
  EXPECT_EQ(gradients[2].data<float>()[8], -3.5F);
  gradients[0].data<float>()[0] = std::nanf("");
  EXPECT_NE(failure_of([&] { clip_norm(gradients, 1, 2, true); }).find("non-finite"),
            std::string::npos);
  EXPECT_EQ(gradients[0].data<float>()[1], 3.0F);
  clip_norm(gradients, 1);
  EXPECT_TRUE(std::isnan(gradients[2].data<float>()[0]));
}

class RecordedRates : public ::testing::TestWithParam<std::string> {
 protected:
  RecordedRates() {
    simdjson::dom::parser parser;
    recorded_ = *from_json(parser.load((kData / "schedules.json").string()))
                     .to_dict()
                     .find(IValue(GetParam()));
  }
  const IValue& part(const char* name) const { return *recorded_.to_dict().find(IValue(name)); }
  static Optimizer optimizer() {
    ParameterGroup first =
        group_of(OptimizerKind::kSgd, parse(R"({"lr": 0.1, "momentum": 0.9})"), {filled({1}, 0)});
    ParameterGroup second =
        group_of(OptimizerKind::kSgd, parse(R"({"lr": 0.02, "momentum": 0.9})"), {filled({1}, 0)});
    return {OptimizerKind::kSgd, {first, second}};
  }
  void expect_row(const Optimizer& optimizer, size_t row) const {
    for (size_t i = 0; i < 2; ++i) {
      const auto at = [&](const char* what) {
        return part(what).to_list().items[row].to_list().items[i].to_float();
      };
      const Settings& settings = optimizer.groups()[i].settings;
      EXPECT_NEAR(settings.lr, at("rates"), 1e-15) << "step " << row << " group " << i;
      EXPECT_NEAR(settings.momentum, at("momenta"), 1e-14) << "step " << row;
    }
  }
  void step(Schedule& schedule, size_t row) const {
    constexpr std::array kMetrics{1.0, 0.9, 0.95, 0.94, 0.93, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
    schedule.wants_metric() ? schedule.step(kMetrics[row]) : schedule.step();
  }
  IValue recorded_;
};

TEST_P(RecordedRates, AreFollowedAlsoFromASavedState) {
  const std::string& kind = part("kind").to_str();
  const DictValue& settings = part("settings").to_dict();
  Optimizer own = optimizer();
  Schedule schedule(kind, settings, own);
  Optimizer later = optimizer();
  Schedule resumed(kind, settings, later);
  expect_row(own, 0);
  for (size_t row = 0; row < 11; ++row) {
    if (row == 4) {
      later.load_state_dict(own.state_dict());
      resumed.load_state_dict(schedule.state_dict());
    }
    step(schedule, row);
    expect_row(own, row + 1);
    if (row < 4) continue;
    step(resumed, row);
    expect_row(later, row + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, RecordedRates,
                         ::testing::Values("step", "multi_step", "constant", "linear",
                                           "exponential", "polynomial", "cosine", "warm_restarts",
                                           "one_cycle", "one_cycle_linear", "cyclic",
                                           "cyclic_halves", "cyclic_decays", "sequence", "plateau",
                                           "plateau_max"),
                         [](const auto& info) { return info.param; });

TEST(ScheduleTest, EndsAndWrongSettingsAreErrors) {
  const auto optimizer = [] {
    return Optimizer(OptimizerKind::kSgd,
                     {group_of(OptimizerKind::kSgd, parse("{}"), {filled({1}, 0)})});
  };
  Optimizer own = optimizer();
  const auto make = [&](const char* kind, const char* settings) {
    return failure_of([&] { Schedule(kind, parse(settings).to_dict(), own); });
  };
  EXPECT_NE(make("StepLR", "{}").find("needs the setting 'step_size'"), std::string::npos);
  EXPECT_NE(make("StepLR", R"({"step_size": 0})").find("positive"), std::string::npos);
  EXPECT_NE(make("StepLR", R"({"step_size": 2.5})").find("cannot be a float"), std::string::npos);
  EXPECT_NE(make("StepLR", R"({"step_size": 2, "x": 1})").find("no setting 'x'"),
            std::string::npos);
  EXPECT_NE(make("WarpLR", "{}").find("there are StepLR"), std::string::npos);
  EXPECT_NE(make("CyclicLR", R"({"base_lr": 1})").find("needs the setting 'max_lr'"),
            std::string::npos);
  EXPECT_NE(make("CyclicLR", R"({"base_lr": 1, "max_lr": 2, "mode": "square"})").find("'square'"),
            std::string::npos);
  Schedule cycle("OneCycleLR",
                 parse(R"({"max_lr": 0.1, "total_steps": 2, "cycle_momentum": false})").to_dict(),
                 own);
  cycle.step();
  cycle.step();
  EXPECT_NE(failure_of([&] { cycle.step(); }).find("Tried to step 3 times"), std::string::npos);
  Optimizer second = optimizer();
  Schedule lambda([](int64_t t) { return 1.0 / static_cast<double>(1 + t); }, second);
  lambda.step();
  EXPECT_EQ(lambda.rates(), std::vector<double>{5e-4});
  EXPECT_NE(failure_of([&] { lambda.step(1.0); }).find("no metric"), std::string::npos);
}

// What PyTorch wrote goes on here: state, rates and random numbers.
TEST(CheckpointTest, OneOfPyTorchGoesOnHere) {
  const Checkpoint saved = load_checkpoint(kData / "checkpoint.pt");
  const auto expected = archive::Safetensors::open(kData / "checkpoint.safetensors");
  EXPECT_EQ(saved.epoch, 2);
  std::vector<Tensor> parameters;
  for (const auto& [name, tensor] : saved.model) {
    if (name.ends_with("weight") || name.ends_with("bias")) parameters.push_back(tensor);
  }
  Optimizer optimizer(OptimizerKind::kAdamW,
                      {group_of(OptimizerKind::kAdamW, parse("{}"), parameters)});
  Schedule schedule("MultiStepLR", parse(R"({"milestones": [1, 4], "gamma": 0.5})").to_dict(),
                    optimizer);
  optimizer.load_state_dict(saved.optimizers.at(0).second);
  schedule.load_state_dict(saved.schedules.at(0).second);
  EXPECT_EQ(optimizer.groups()[0].settings.lr, 0.005);
  EXPECT_TRUE(optimizer.groups()[0].settings.amsgrad);
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    IntVector sizes(parameter.sizes().begin(), parameter.sizes().end());
    gradients.push_back(filled(sizes, 0.25));
  }
  optimizer.step(gradients);
  for (const auto& [name, tensor] : saved.model) {
    EXPECT_LE(difference(tensor, expected.tensor("after." + name)), 1e-6) << name;
  }
  kernels::Generator generator;
  generator.set_state(saved.generator);
  EXPECT_EQ(generator.state(), saved.generator);
  const Tensor random = expected.tensor("random");
  ASSERT_TRUE(generator.cached_normal.has_value());
  EXPECT_EQ(*generator.cached_normal, random.data<double>()[0]);
  for (int64_t i = 1; i < random.numel(); ++i) {
    const uint64_t bits = generator.next64() & ((uint64_t{1} << 53) - 1);
    EXPECT_EQ(static_cast<double>(bits) * 0x1p-53, random.data<double>()[i]) << i;
  }
}

TEST(CheckpointTest, OursComesBackAndBrokenOnesAreRefused) {
  const std::string path = ::testing::TempDir() + "tierup_checkpoint_test.pt";
  const Checkpoint read = load_checkpoint(kData / "checkpoint.pt");
  save_checkpoint(path, read);
  const Checkpoint again = load_checkpoint(path);
  EXPECT_EQ(again.epoch, 2);
  EXPECT_EQ(again.generator, read.generator);
  ASSERT_EQ(again.model.size(), read.model.size());
  for (size_t i = 0; i < read.model.size(); ++i) {
    EXPECT_EQ(again.model[i].first, read.model[i].first);
    EXPECT_EQ(difference(again.model[i].second, read.model[i].second), 0);
  }
  EXPECT_TRUE(again.schedules.at(0).second.to_dict().find(IValue("milestones"))->is_dict());
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_NE(failure_of([&] { load_checkpoint(path); }), "no error");
  archive::write_safetensors(path, {{"a", filled({1}, 1)}});
  EXPECT_NE(failure_of([&] { load_checkpoint(path); }), "no error");
  kernels::Generator generator;
  EXPECT_NE(failure_of([&] { generator.set_state("short"); }).find("5056"), std::string::npos);
  EXPECT_NE(
      failure_of([&] { generator.set_state(std::string(5056, '\xff')); }).find("no generator"),
      std::string::npos);
  fs::remove(path);
}

TEST(CheckpointTest, OneOfAnotherFileVersionIsRefused) {
  const std::string path = ::testing::TempDir() + "tierup_checkpoint_version_test.pt";
  const auto archive = archive::ModelArchive::open(kData / "checkpoint.pt");
  archive::MemorySink sink;
  archive::ZipWriter copy(sink);
  for (const archive::ZipArchive::Entry& entry : archive->zip().entries()) {
    if (entry.name.ends_with("/version")) {
      copy.add(entry.name, "11\n");
    } else {
      copy.copy(archive->zip(), entry);
    }
  }
  copy.finish();
  std::ofstream(path, std::ios::binary) << sink.take();
  EXPECT_NE(failure_of([&] { load_checkpoint(path); }).find("file format version 11"),
            std::string::npos);
  fs::remove(path);
}

}  // namespace
}  // namespace tierup::training
