// ModelArchive: what it tolerates, what it refuses and how it says so, and hostile bytes.
#include "tierup/archive/model_archive.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tierup/archive/state_dict.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

using testing::PickleBuilder;
using testing::ZipBuilder;

class StatesOnly final : public ClassResolver {
 public:
  TypePtr resolve(const std::string& name) override { return ClassType::make(name, true); }
  TypePtr parse_type(std::string_view text) override {
    if (text.starts_with("Dict[")) return Type::dict(Type::any(), Type::any());
    return Type::list(Type::any());
  }
  IValue build_object(const TypePtr&, IValue state) override { return state; }
};

const std::string kEmptyTuple = PickleBuilder().op(")").finish();

// The least that is a TorchScript archive.
ZipBuilder minimal(const std::string& version = "3\n") {
  return ZipBuilder()
      .add("m/data.pkl", PickleBuilder().op("}").finish())
      .add("m/constants.pkl", kEmptyTuple)
      .add("m/version", version);
}

Error failure_of(const std::string& bytes) {
  try {
    const Ref<ModelArchive> archive = ModelArchive::read(own_bytes(bytes));
    archive->require_kind(ArchiveKind::kTorchScript);
    StatesOnly classes;
    archive->unpickle("constants", classes);
    archive->unpickle("data", classes);
    for (const std::string& record : archive->records("")) archive->read_record(record);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "no error");
}

void expect_refused(const std::string& bytes, const char* words,
                    ErrorCode code = ErrorCode::kUnsupported) {
  const Error error = failure_of(bytes);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_NE(error.message().find(words), std::string::npos) << error.what();
}

std::string bytes_of(const std::string& name) {
  std::ifstream file("tests/data/archive/" + name + ".pt", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

TEST(ModelArchive, reads_what_older_and_other_writers_leave_out) {
  EXPECT_EQ(failure_of(minimal().finish()).message(), "no error");
  EXPECT_EQ(failure_of(minimal().finish({.trailer = "xyz"})).message(), "no error");
  const std::string without_constants = ZipBuilder()
                                            .add("m/data.pkl", PickleBuilder().op("}").finish())
                                            .add("m/code/__torch__.py", "")
                                            .add("m/.data/version", "6\n")
                                            .finish();
  const Ref<ModelArchive> archive = ModelArchive::read(own_bytes(without_constants));
  EXPECT_EQ(archive->version(), 6);
  StatesOnly classes;
  EXPECT_EQ(archive->unpickle("constants", classes).to_tuple().items.size(), 0u);
}

TEST(ModelArchive, finds_its_root_behind_foreign_and_nested_folders) {
  const std::string foreign = ZipBuilder()
                                  .add("__MACOSX/x", "")
                                  .add("a/b c/data.pkl", kEmptyTuple)
                                  .add("a/b c/constants.pkl", kEmptyTuple)
                                  .add("a/b c/version", "3")
                                  .finish();
  EXPECT_EQ(ModelArchive::read(own_bytes(foreign))->root(), "a/b c");
}

TEST(ModelArchive, accepts_versions_1_to_10) {
  for (int version = 1; version <= 10; ++version) {
    const auto bytes = minimal(std::to_string(version) + "\n").finish();
    EXPECT_EQ(ModelArchive::read(own_bytes(bytes))->version(), version);
  }
  expect_refused(minimal("0\n").finish(),
                 "version 0 is not supported; tierup reads the versions 1 to 10");
  expect_refused(minimal("11\n").finish(), "version 11");
  expect_refused(minimal("new\n").finish(), "\"new\"", ErrorCode::kCorruptArchive);
  expect_refused(minimal("").finish(), "not a file format version", ErrorCode::kCorruptArchive);
}

TEST(ModelArchive, tells_kinds_apart) {
  const auto kind = [](const ZipBuilder& builder) {
    return ModelArchive::read(own_bytes(builder.finish()))->kind();
  };
  EXPECT_EQ(kind(minimal()), ArchiveKind::kTorchScript);
  EXPECT_EQ(kind(ZipBuilder().add("m/data.pkl", kEmptyTuple).add("m/version", "3")),
            ArchiveKind::kTorchSave);
  EXPECT_EQ(kind(ZipBuilder().add("m/archive_format", "pt2").add("m/models/model.json", "{}")),
            ArchiveKind::kExported);
  expect_refused(bytes_of("state_dict"), "a checkpoint or state dict written by torch.save, not");
  expect_refused(ZipBuilder().add("m/archive_format", "pt2").finish(), "an exported program");
}

TEST(ModelArchive, recognises_formats_that_it_does_not_read) {
  expect_refused(bytes_of("legacy"), "format before PyTorch 1.6");
  expect_refused("PYTORCH1........", "preview-era");
  expect_refused("....PTMF........", "flatbuffer");
  expect_refused("GGUF............", "GGUF");
  expect_refused(std::string("\2\0\0\0\0\0\0\0{}", 10), "safetensors");
  expect_refused(ZipBuilder().add("m/model.json", "{}").add("m/tensors/0", "").finish(),
                 "PyTorch 1.0 to 1.3");
  expect_refused(ZipBuilder().add("m/.data/ts_code/0/data.pkl", "").finish(), "torch.package");
  expect_refused(minimal().add("m/.data/extern_modules", "").finish(), "torch.package");
  expect_refused(ZipBuilder().add("word/document.xml", "").finish(), "no data.pkl");
  expect_refused("hello",
                 "5 bytes that do not begin as a zip file does (first bytes: 68 65 6c 6c 6f)",
                 ErrorCode::kCorruptArchive);
  expect_refused("", "first bytes: none", ErrorCode::kCorruptArchive);
  expect_refused(minimal().add("m/byteorder", "big").finish(), "big-endian");
}

TEST(ModelArchive, names_unsupported_tensors_and_classes) {
  expect_refused(bytes_of("quantized"), "quantized tensors are not supported");
  EXPECT_NE(std::string(failure_of(bytes_of("quantized")).what()).find("(near \"q\")"),
            std::string::npos);
  expect_refused(bytes_of("sparse"), "sparse tensors are not supported");
  const std::string custom =
      PickleBuilder()
          .global("__torch__.torch.classes.quantized", "LinearPackedParamsBase")
          .finish();
  expect_refused(ZipBuilder()
                     .add("m/data.pkl", custom)
                     .add("m/constants.pkl", kEmptyTuple)
                     .add("m/version", "3")
                     .finish(),
                 "custom C++ class quantized.LinearPackedParamsBase");
}

TEST(ModelArchive, names_missing_and_short_records) {
  const auto with_tensor = [](ZipBuilder builder) {
    const std::string pickle = PickleBuilder().tensor("FloatStorage", "7", 4, 0, {4}, {1}).finish();
    return builder.add("m/data.pkl", pickle)
        .add("m/constants.pkl", kEmptyTuple)
        .add("m/version", "3")
        .finish();
  };
  expect_refused(with_tensor(ZipBuilder()), "\"data/7\" is missing", ErrorCode::kCorruptArchive);
  expect_refused(with_tensor(ZipBuilder().add("m/data/7", "short")), "storage 7 has 5 bytes",
                 ErrorCode::kCorruptArchive);
  EXPECT_EQ(failure_of(with_tensor(ZipBuilder().add("m/data/7", std::string(16, 'x')))).message(),
            "no error");
  expect_refused(ZipBuilder().add("m/data.pkl", "").add("m/constants.pkl", "").finish(),
                 "\"version\" is missing", ErrorCode::kCorruptArchive);
}

// Resident bytes of the mapping of a file in this process.
int64_t resident_bytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  int64_t kilobytes = 0;
  while (std::getline(maps, line)) {
    if (line.find('-') < 20) inside = line.ends_with(path);
    if (inside && line.starts_with("Rss:")) kilobytes += std::stoll(line.substr(4));
  }
  return kilobytes * 1024;
}

TEST(ModelArchive, maps_weights_without_reading_them) {
  constexpr int64_t kElements = int64_t{4} << 20;
  const std::string pickle =
      PickleBuilder().tensor("FloatStorage", "0", kElements, 0, {kElements}, {1}).finish();
  const std::string path = ::testing::TempDir() + "weights.pt";
  std::ofstream(path, std::ios::binary) << ZipBuilder()
                                               .add("m/data/0", std::string(kElements * 4, 'w'))
                                               .add("m/data.pkl", pickle)
                                               .add("m/constants.pkl", kEmptyTuple)
                                               .add("m/version", "3")
                                               .finish();
  StatesOnly classes;
  const Tensor weight = ModelArchive::open(path)->unpickle("data", classes).to_tensor();
  EXPECT_LT(resident_bytes(path), 1 << 20);
  EXPECT_EQ(static_cast<char*>(weight.raw())[kElements * 2], 'w');
  EXPECT_GT(resident_bytes(path), 0);
  std::remove(path.c_str());
}

TEST(ModelArchive, refuses_state_dicts_that_are_none) {
  const auto read = [](const std::string& pickle) {
    return read_state_dict(
        own_bytes(ZipBuilder().add("m/data.pkl", pickle).add("m/version", "3").finish()));
  };
  EXPECT_THROW(read(PickleBuilder().op("](K\1e").finish()), Error);
  EXPECT_THROW(read(PickleBuilder().global("__torch__", "Net").op(")\x81}b").finish()), Error);
  EXPECT_THROW(read_state_dict(own_bytes(minimal().finish())), Error);
  EXPECT_EQ(read(PickleBuilder().op("}").finish()).size(), 0u);
}

TEST(ModelArchive, answers_every_64th_truncation_and_every_15th_bit_flip) {
  const std::string good = bytes_of("attributes");
  ASSERT_EQ(failure_of(good).message(), "no error");
  for (size_t n = 0; n < good.size(); n += 64) {
    EXPECT_NE(failure_of(good.substr(0, n)).message(), "no error") << n;
  }
  for (size_t bit = 0; bit < good.size() * 8; bit += 15) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(failure_of(bad).message(), "");
  }
}

}  // namespace
}  // namespace tierup::archive
