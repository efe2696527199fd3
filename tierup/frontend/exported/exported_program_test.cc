// Archives of exported programs that are damaged in one place each: the error says which.
#include "tierup/frontend/exported/exported_program.h"

#include <gtest/gtest.h>

#include <functional>

#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using archive::ModelArchive;
using archive::testing::ZipBuilder;

const char* const kProgram = "models/model.json";

// A small program written by PyTorch 2.10: `x: float32[s, 5]`, s in [2, 64].
Ref<ModelArchive> whole() { return ModelArchive::open("tests/data/exported/torch_2_10_mlp.pt2"); }

// The archive with each record as `change` makes it; an empty name drops the record.
using Change = std::function<void(std::string& name, std::string& content)>;
Ref<ModelArchive> changed(const Change& change) {
  const Ref<ModelArchive> archive = whole();
  ZipBuilder builder;
  for (const auto& entry : archive->zip().entries()) {
    std::string name = entry.name.substr(entry.name.find('/') + 1);
    std::string content = archive->zip().read(entry);
    change(name, content);
    if (!name.empty()) builder.add("m/" + name, std::move(content));
  }
  return ModelArchive::read(archive::own_bytes(builder.finish()));
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The program's JSON with one text in place of another.
Ref<ModelArchive> with_json(const std::string& from, const std::string& to) {
  return changed([&](const std::string& name, std::string& content) {
    if (name == kProgram) content = replace_all(content, from, to);
  });
}

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    return std::string(error_code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

std::string load_failure(const Ref<ModelArchive>& archive) {
  return failure_of([&] { load_exported(*archive, {}); });
}

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(ExportedProgram, LoadsWhole) { EXPECT_EQ(load_failure(whole()), "no error"); }

// The class has the function as its method, whose first argument is of the class.
TEST(ExportedProgram, TakesItsCircleApartWhenItGoes) {
  std::weak_ptr<const ClassType> type;
  Ref<ExportedFunction> forward;
  {
    const ExportedProgram program = load_exported(*whole(), {});
    type = program.type;
    forward = program.forward;
  }
  EXPECT_TRUE(type.expired());
  EXPECT_THROW(forward->graph(), Error);
}

TEST(ExportedProgram, AMissingWeightsRecordIsNamed) {
  const auto archive = changed([](std::string& name, const std::string&) {
    if (name == "data/weights/weight_0") name.clear();
  });
  EXPECT_SAYS(load_failure(archive), "weight_0");
}

TEST(ExportedProgram, AWeightMissingFromTheConfigurationIsNamed) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name.ends_with("_weights_config.json"))
      content = replace_all(content, "\"layers.0.weight\"", "\"layers.9.weight\"");
  });
  EXPECT_SAYS(load_failure(archive), "not_found: weight 'layers.0.weight'");
}

TEST(ExportedProgram, ATooShortWeightIsNamed) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name == "data/weights/weight_0") content.resize(8);
  });
  EXPECT_SAYS(load_failure(archive), "its layout does not fit record");
}

TEST(ExportedProgram, ARecordThatIsNoWholeNumberOfElementsIsNamed) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name == "data/weights/weight_0") content.resize(content.size() - 1);
  });
  EXPECT_SAYS(load_failure(archive), "is no whole number of float32 elements");
}

TEST(ExportedProgram, AnotherDtypeNeedsMoreBytesThanThereAre) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name.ends_with("_weights_config.json")) {
      content = replace_all(content, "\"dtype\": 7", "\"dtype\": 8");
    }
  });
  EXPECT_SAYS(load_failure(archive), "weight 'layers.");
}

TEST(ExportedProgram, ANewerMajorSchemaIsRefused) {
  EXPECT_SAYS(load_failure(with_json("\"major\": 8", "\"major\": 9")), "unsupported: schema 9.");
}

TEST(ExportedProgram, ANewerMinorSchemaIsAWarning) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name != kProgram) return;
    const size_t at = content.find("\"minor\": ");
    content.replace(at, content.find_first_of(",}", at) - at, "\"minor\": 99");
  });
  const ExportedProgram program = load_exported(*archive, {});
  ASSERT_FALSE(program.warnings.empty());
  EXPECT_SAYS(program.warnings[0], "schema 8.99 is newer");
}

// Made on another machine: every value and weight is there until the caller says where to instead.
TEST(ExportedProgram, AProgramOfAnotherDeviceIsNamedUnlessItIsPlaced) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name != kProgram && !name.ends_with("_weights_config.json")) return;
    content = replace_all(content, R"({"type": "cpu", "index": null})",
                          R"({"type": "cuda", "index": 1})");
  });
  EXPECT_SAYS(load_failure(archive), "unsupported: the program places '");
  EXPECT_SAYS(load_failure(archive),
              "' on cuda:1; tierup runs on the CPU: load it with the "
              "placement cuda:1=cpu");
  const auto placed = [&](const Device& from) {
    return failure_of([&] { load_exported(*archive, {.placement = {{from, Device{}}}}); });
  };
  EXPECT_EQ(placed({DeviceType::kCuda, 1}), "no error");
  EXPECT_EQ(placed({DeviceType::kCuda, -1}), "no error");
  EXPECT_SAYS(placed({DeviceType::kCuda, 0}), "on cuda:1");
}

TEST(ExportedProgram, DanglingNamesAreNamed) {
  EXPECT_SAYS(
      load_failure(with_json("\"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1",
                             "\"arg\": {\"as_tensor\": {\"name\": \"void\"}}, \"kind\": 1")),
      "void");
}

TEST(ExportedProgram, AnOperatorThatReadsItsOwnResultIsNoProgram) {
  const std::string failure =
      load_failure(with_json("\"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1",
                             "\"arg\": {\"as_tensor\": {\"name\": \"linear\"}}, \"kind\": 1"));
  EXPECT_SAYS(failure, "corrupt_archive");
  EXPECT_SAYS(failure, "linear");
}

TEST(ExportedProgram, EveryAbsentOperatorIsListed) {
  const auto archive = changed([](const std::string& name, std::string& content) {
    if (name != kProgram) return;
    content = replace_all(content, "torch.ops.aten.relu.default", "torch.ops.my.first.default");
    content = replace_all(content, "torch.ops.aten.mul.Tensor", "torch.ops.my.second.default");
  });
  const ExportedProgram program = load_exported(*archive, {});
  ASSERT_EQ(program.missing.size(), 2U);
  EXPECT_EQ(program.missing[0].name, "my::first");
  EXPECT_EQ(program.missing[1].name, "my::second");
}

TEST(ExportedProgram, DeepNestingEndsInAnError) {
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "Add(";
  const auto archive = changed([&](const std::string& name, std::string& content) {
    if (name != kProgram) return;
    const size_t at = content.find("\"expr_str\": \"") + 13;
    content.replace(at, content.find('"', at) - at, nested);
  });
  EXPECT_SAYS(load_failure(archive), "corrupt_archive");
}

TEST(ExportedProgram, AModelThatIsNotThereListsThoseThatAre) {
  EXPECT_SAYS(failure_of([] { load_exported(*whole(), {.model = "other"}); }),
              "no model 'other'; the archive has: model");
}

TEST(ExportedProgram, AnArchiveOfCompiledCodeSaysWhatToDo) {
  const auto archive = changed([](std::string& name, const std::string&) {
    if (name == kProgram) name = "data/aotinductor/model/model.so";
  });
  EXPECT_SAYS(load_failure(archive), "save it with torch.export.save");
}

const void* data_of(const ExportedProgram& program, std::string_view name) {
  return program.root->get(name).to_tensor().data<float>();
}

TEST(ExportedPackages, ModelsOfOneArchiveShareRecordsAndTiedNames) {
  const Ref<ModelArchive> package = ModelArchive::open("tests/data/packages/two_models.pt2");
  EXPECT_EQ(exported_models(*package), (std::vector<std::string>{"encoder", "parts/decoder"}));
  EXPECT_SAYS(load_failure(package), "several models (encoder, parts/decoder); choose one");
  // As an archiver that stores the common embedding once would write it.
  ZipBuilder builder;
  for (const auto& entry : package->zip().entries()) {
    std::string content = package->zip().read(entry);
    if (entry.name.ends_with("decoder_weights_config.json"))
      content = replace_all(content, "weight_3", "weight_0");
    builder.add(entry.name, std::move(content));
  }
  const auto archive = ModelArchive::read(archive::own_bytes(builder.finish()));
  const ExportedProgram encoder = load_exported(*archive, {.model = "encoder"});
  const ExportedProgram decoder = load_exported(*archive, {.model = "parts/decoder"});
  EXPECT_EQ(data_of(decoder, "embedding.weight"), data_of(decoder, "head.weight"));
  EXPECT_EQ(data_of(encoder, "embedding.weight"), data_of(decoder, "embedding.weight"));
}

// As PyTorch 2.13 packages a compiled model: metadata beside the library.
Ref<ModelArchive> with_library(bool keeps_program) {
  ZipBuilder builder;
  const Ref<ModelArchive> archive = whole();
  for (const auto& entry : archive->zip().entries()) {
    const std::string name = entry.name.substr(entry.name.find('/') + 1);
    if (name == kProgram && !keeps_program) continue;
    builder.add("m/" + name, archive->zip().read(entry));
  }
  builder.add("m/data/aotinductor/model/c1.wrapper_metadata.json",
              R"({"AOTI_DEVICE_KEY": "cpu", "AOTI_CPU_ISA": "AVX512 AVX512_VNNI"})");
  builder.add("m/data/aotinductor/model/c1.wrapper.so",
              "\x7f"
              "ELF");
  return ModelArchive::read(archive::own_bytes(builder.finish()));
}

TEST(ExportedPackages, ACompiledLibraryIsNamedWithWhatItIsFor) {
  EXPECT_SAYS(
      load_failure(with_library(false)),
      "only an AOTInductor library for cpu (AVX512 AVX512_VNNI); tierup needs the exported");
}

TEST(ExportedPackages, TheGraphRunsWhateverLibraryStandsBesideIt) {
  EXPECT_EQ(load_failure(with_library(true)), "no error");
}

class ExportedInputs : public ::testing::Test {
 protected:
  std::string failure(std::vector<int64_t> sizes, ScalarType dtype = ScalarType::kFloat) {
    return failure_of([&] { program_.flatten_inputs({Tensor::empty(sizes, dtype)}, {}); });
  }
  const Ref<ModelArchive> archive_ = whole();
  const ExportedProgram program_ = load_exported(*archive_, {});
};

TEST_F(ExportedInputs, InRangePass) {
  EXPECT_EQ(failure({2, 5}), "no error");
  EXPECT_EQ(failure({64, 5}), "no error");
}

TEST_F(ExportedInputs, OutsideOfTheRangeNameDimensionValueAndRange) {
  const std::string text = failure({65, 5});
  EXPECT_SAYS(text, "input 'x': dimension 0 is 65, must be at most 64");
  EXPECT_SAYS(text, "declared range [2, 64]");
}

TEST_F(ExportedInputs, OfAnotherSizeRankOrDtypeNameBoth) {
  EXPECT_SAYS(failure({3, 6}), "5");
  EXPECT_SAYS(failure({3, 6}), "6");
  EXPECT_SAYS(failure({3}), "'x'");
  EXPECT_SAYS(failure({3, 5}, ScalarType::kDouble), "float32");
  EXPECT_SAYS(failure({3, 5}, ScalarType::kDouble), "float64");
}

// The short cut says yes only where the full check does, and to all that is right here.
TEST_F(ExportedInputs, FastChecksAgree) {
  ASSERT_TRUE(program_.fast_checks.has_value());
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kLong}) {
    for (const int64_t batch : {0, 1, 2, 3, 63, 64, 65, 1000}) {
      for (const int64_t features : {1, 4, 5, 6}) {
        const std::vector<int64_t> sizes = {batch, features};
        const IValue value = Tensor::empty(sizes, dtype);
        EXPECT_EQ(program_.fast_checks->hold({&value, 1}), failure(sizes, dtype) == "no error")
            << batch << " " << features;
      }
    }
  }
  const IValue other = Tensor::empty(std::array<int64_t, 1>{5}, ScalarType::kFloat);
  EXPECT_FALSE(program_.fast_checks->hold({&other, 1}));
  const IValue none;
  EXPECT_FALSE(program_.fast_checks->hold({&none, 1}));
  EXPECT_FALSE(program_.fast_checks->hold({}));
}

// Two inputs whose sizes the exporter's guards tie together.
TEST(ExportedGuards, FastChecksAgree) {
  const ExportedProgram program =
      load_exported(*ModelArchive::open("tests/data/zoo/bert_base.pt2"), {});
  ASSERT_TRUE(program.fast_checks.has_value());
  for (const int64_t a : {1, 2, 64, 65}) {
    for (const int64_t b : {1, 2, 64}) {
      std::vector<IValue> inputs;
      for (const int64_t length : {a, a, b}) {
        inputs.emplace_back(Tensor::empty(std::array<int64_t, 2>{2, length}, ScalarType::kLong));
      }
      std::vector<std::optional<IValue>> values(inputs.begin(), inputs.end());
      const std::string failure =
          failure_of([&] { program.checks->check(values, program.check_options); });
      EXPECT_EQ(program.fast_checks->hold(inputs), failure == "no error") << a << " " << b;
    }
  }
}

TEST_F(ExportedInputs, WrongInNumberOrName) {
  const Tensor x = Tensor::empty(std::array<int64_t, 2>{3, 5}, ScalarType::kFloat);
  EXPECT_SAYS(failure_of([&] { program_.flatten_inputs({x, x}, {}); }), "invalid_argument");
  EXPECT_SAYS(failure_of([&] { program_.flatten_inputs({}, {{"nobody", x}}); }), "nobody");
  EXPECT_SAYS(failure_of([&] { program_.flatten_inputs({}, {}); }), "missing argument 'x'");
}

}  // namespace
}  // namespace tierup::frontend::exported
