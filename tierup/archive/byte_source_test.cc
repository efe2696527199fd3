// ByteSource: what a mapped file has in memory before it is touched.
#include "tierup/archive/byte_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <vector>

namespace tierup::archive {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

// A file of four megabytes, which the system holds in memory since it was just written.
class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_, std::ios::binary) << std::string(4 * kMegabyte, 'w');
    source_ = map_file(path_);
  }
  void TearDown() override {
    source_ = nullptr;
    std::filesystem::remove(path_);
  }

  // KB of the mapping that this process's tables hold; -1 if the system does not tell.
  int64_t mapped_kilobytes() const {
    std::ifstream maps("/proc/self/smaps");
    bool is_wanted = false;
    for (std::string line; std::getline(maps, line);) {
      uintptr_t begin = 0;
      uintptr_t end = 0;
      int64_t kilobytes = 0;
      if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
        const auto at = reinterpret_cast<uintptr_t>(source_->data());
        is_wanted = at >= begin && at < end;
      } else if (is_wanted && std::sscanf(line.c_str(), "Rss: %" SCNd64, &kilobytes) == 1) {
        return kilobytes;
      }
    }
    return -1;
  }

  std::string path_ = ::testing::TempDir() + "byte_source_test_mapped";
  Ref<ByteSource> source_;
};

TEST_F(MappedFileTest, maps_ahead_what_is_asked_for_and_no_more) {
  if (mapped_kilobytes() < 0) GTEST_SKIP() << "the system does not tell";
  EXPECT_EQ(mapped_kilobytes(), 0);
  source_->map_ahead(2 * kMegabyte, {});
  if (mapped_kilobytes() == 0) GTEST_SKIP() << "the system maps nothing ahead";
  EXPECT_EQ(mapped_kilobytes(), 2048);
  source_->map_ahead(100 * kMegabyte, {});
  EXPECT_EQ(mapped_kilobytes(), 4096);
  EXPECT_EQ(source_->read_text(4 * kMegabyte - 2, 2), "ww");
}

TEST_F(MappedFileTest, maps_nothing_ahead_once_it_is_to_stop) {
  std::stop_source stop;
  stop.request_stop();
  source_->map_ahead(4 * kMegabyte, stop.get_token());
  EXPECT_LE(mapped_kilobytes(), 0);
}

// Of the mapping's pages, which the system holds in memory; -1 if it does not tell.
int64_t pages_in_memory(const ByteSource& source) {
  std::vector<unsigned char> pages(source.size() / 4096);
  auto* begin = const_cast<std::byte*>(source.data());
  if (mincore(begin, source.size(), pages.data()) != 0) return -1;
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1U; });
}

TEST_F(MappedFileTest, reads_ahead_what_the_system_does_not_hold) {
  const int file = open(path_.c_str(), O_RDONLY);
  fsync(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
  if (pages_in_memory(*source_) != 0) GTEST_SKIP() << "the system keeps files in memory";
  std::stop_source stop;
  stop.request_stop();
  source_->read_ahead(stop.get_token());
  EXPECT_EQ(pages_in_memory(*source_), 0);
  source_->read_ahead({});
  EXPECT_EQ(pages_in_memory(*source_), 1024);
  EXPECT_LE(mapped_kilobytes(), 0);
}

}  // namespace
}  // namespace tierup::archive
