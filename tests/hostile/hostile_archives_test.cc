// Every model of the tiny zoo, cut off and with flipped bits, through the loaders.
//
// Flipped bits of a file mostly end at a checksum. So the records are damaged one by one as
// well and packed again with right checksums, which takes the damage to the unpickler, the parser,
// the emitter and the exported front end.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tierup/archive/model_archive.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"
#include "tierup/frontend/exported/exported_program.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace tierup {
namespace {

using archive::ArchiveKind;
using archive::ModelArchive;
using archive::testing::ZipBuilder;

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/data/zoo")) {
    const std::string extension = entry.path().extension();
    if (extension == ".pt" || extension == ".pt2") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Loads and compiles all that the model can reach: empty, or what the Error says, or which
// operators are missing. Anything else that is thrown, an internal error or a crash fails the test.
std::string refusal_of(const std::string& bytes) {
  try {
    const Ref<ModelArchive> archive = ModelArchive::read(archive::own_bytes(bytes));
    if (archive->kind() == ArchiveKind::kExported) {
      frontend::exported::load_exported(*archive, {});
      return "";
    }
    const auto module = frontend::torchscript::load_torchscript(archive);
    const auto missing = frontend::torchscript::missing_operators(*module.root);
    return missing.empty() ? "" : "missing operators";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    return error.what();
  }
}
bool loads(const std::string& bytes) { return refusal_of(bytes).empty(); }

// The archive with `damage` applied to the content of one record, and checksums that fit.
template <typename Damage>
std::string repacked(const ModelArchive& archive, const std::string& record, Damage&& damage) {
  ZipBuilder builder;
  for (const auto& entry : archive.zip().entries()) {
    std::string content = archive.zip().read(entry);
    if (entry.name == record) damage(content);
    builder.add(entry.name, std::move(content));
  }
  return builder.finish();
}

bool holds_structure(const std::string& name) {
  return name.ends_with(".pkl") || name.ends_with(".py") || name.ends_with(".json");
}

TEST(HostileArchives, load_when_whole) {
  for (const auto& path : models()) {
    const std::string bytes = bytes_of(path);
    EXPECT_EQ(refusal_of(bytes), "") << path;
  }
}

// What the test above rests on: a model that calls what nobody knows does not count as loaded.
TEST(HostileArchives, do_not_load_with_an_operator_that_nobody_knows) {
  const Ref<ModelArchive> archive = ModelArchive::open("tests/data/zoo/mlp3.pt");
  size_t damaged = 0;
  for (const auto& entry : archive->zip().entries()) {
    const size_t at = archive->zip().read(entry).find("torch.relu");
    if (!entry.name.ends_with(".py") || at == std::string::npos) continue;
    ++damaged;
    EXPECT_TRUE(loads(repacked(*archive, entry.name, [](std::string&) {})));
    EXPECT_FALSE(loads(repacked(*archive, entry.name, [at](std::string& content) {
      content.replace(at, 10, "torch.what");
    })));
  }
  EXPECT_EQ(damaged, 1U);
}

TEST(HostileArchives, answer_truncations_with_errors) {
  for (const auto& path : models()) {
    const std::string bytes = bytes_of(path);
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_FALSE(loads(bytes.substr(0, bytes.size() * i / 16))) << path << " cut at " << i;
    }
    EXPECT_FALSE(loads(bytes.substr(0, bytes.size() - 1))) << path;
  }
}

TEST(HostileArchives, survive_flipped_bits) {
  std::mt19937 random(7);
  for (const auto& path : models()) {
    const std::string bytes = bytes_of(path);
    for (int i = 0; i < 6; ++i) {
      std::string bad = bytes;
      // Most structure stands at the end.
      const size_t at = i % 2 == 0 ? random() % bad.size() : bad.size() - 1 - random() % 2000;
      bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
      SCOPED_TRACE(path.string() + " byte " + std::to_string(at));
      loads(bad);
    }
  }
}

TEST(HostileArchives, survive_damaged_records) {
  std::mt19937 random(11);
  for (const auto& path : models()) {
    const Ref<ModelArchive> archive = ModelArchive::open(path);
    std::vector<std::string> records;
    for (const auto& entry : archive->zip().entries()) {
      if (holds_structure(entry.name) && entry.bytes > 4) records.push_back(entry.name);
    }
    for (int i = 0; i < 8; ++i) {
      const std::string& record = records[random() % records.size()];
      const uint32_t where = random();
      const uint32_t how = random();
      SCOPED_TRACE(path.string() + " " + record + " " + std::to_string(where) + " " +
                   std::to_string(how));
      loads(repacked(*archive, record, [&](std::string& content) {
        const size_t at = where % content.size();
        switch (how % 4) {
          case 0: content[at] = static_cast<char>(content[at] ^ (1 << how / 4 % 8)); break;
          case 1: content.erase(at, 1 + how / 4 % 20); break;
          case 2: content.insert(at, content.substr(how / 4 % content.size(), 20)); break;
          default: content[at] = static_cast<char>(how / 4); break;
        }
      }));
    }
  }
}

}  // namespace
}  // namespace tierup
