#include "tierup/frontend/torchscript/files_ahead.h"

#include <gtest/gtest.h>

#include <thread>

#include "tierup/base/error.h"

namespace tierup::frontend::torchscript {
namespace {

std::vector<std::string> records(size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) result.push_back("code/" + std::to_string(i) + ".py");
  return result;
}

std::shared_ptr<const FileUnit> parse_function(const std::string& record) {
  const std::string text = "def f" + record.substr(5, record.size() - 8) + "(x):\n  return x\n";
  return parse_file(std::make_shared<ir::Source>(record, text));
}

TEST(FilesAhead, EachFileIsParsedOnceWhoeverComesFirst) {
  constexpr size_t kFiles = 200;
  std::atomic<size_t> parsed{0};
  FilesAhead files(records(kFiles), [&](const std::string& record) {
    ++parsed;
    return parse_function(record);
  });
  std::thread beside([&] { files.work({}); });
  for (size_t i = 0; i < kFiles; ++i) {
    const auto unit = files.get("code/" + std::to_string(i) + ".py");
    ASSERT_NE(unit, nullptr);
    EXPECT_NE(unit->find_function("f" + std::to_string(i)), nullptr);
  }
  beside.join();
  EXPECT_EQ(parsed, kFiles);
  EXPECT_TRUE(files.contains("code/7.py"));
  EXPECT_FALSE(files.contains("code/none.py"));
}

TEST(FilesAhead, WhoAsksIsToldWhatIsWrongWithAFile) {
  FilesAhead files(records(3), [](const std::string& record) {
    if (record == "code/1.py") fail(ErrorCode::kSyntax, "bad file {}", record);
    return parse_function(record);
  });
  files.work({});
  EXPECT_NE(files.get("code/0.py"), nullptr);
  EXPECT_THROW(files.get("code/1.py"), Error);
  EXPECT_THROW(files.get("code/1.py"), Error);
  EXPECT_NE(files.get("code/2.py"), nullptr);
}

TEST(FilesAhead, FilesThatWereLeftAreParsedWhenAskedFor) {
  std::stop_source stop;
  stop.request_stop();
  size_t parsed = 0;
  FilesAhead files(records(3), [&](const std::string& record) {
    ++parsed;
    return parse_function(record);
  });
  files.work(stop.get_token());
  EXPECT_EQ(parsed, 0U);
  EXPECT_NE(files.get("code/2.py"), nullptr);
  EXPECT_EQ(parsed, 1U);
}

}  // namespace
}  // namespace tierup::frontend::torchscript
