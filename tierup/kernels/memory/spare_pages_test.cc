#include "tierup/kernels/memory/spare_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tierup/base/emulator_fixture.h"
#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kSide = 2048;
constexpr size_t kBytes = kSide * kSide * sizeof(float);

// MiB of mapped files that are resident in this process.
int64_t resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8)) / 1024;
  }
  return -1;
}

// A weight of 16 MiB in a mapped file.
class SparePages : public ::testing::Test {
 protected:
  SparePages() {
    char name[] = "spare_pages_XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    if (ftruncate(file, kBytes) != 0) std::abort();
    const std::string ones(kBytes, '\0');
    if (pwrite(file, ones.data(), kBytes, 0) != static_cast<ssize_t>(kBytes)) std::abort();
    data_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    weight_ = Tensor::from_storage(Storage::borrow(data_, kBytes, nullptr), ScalarType::kFloat,
                                   IntVector{kSide, kSide}, IntVector{kSide, 1}, 0);
  }
  ~SparePages() override { munmap(data_, kBytes); }

  // So many rows by the weight.
  float multiply(int64_t rows = kLeastWork) const {
    const std::vector<float> left(static_cast<size_t>(rows * kSide), 1);
    std::vector<float> result(left.size());
    GemmProblem p;
    p.m = rows;
    p.n = p.k = kSide;
    p.a = {left.data(), 0, kSide, 1};
    p.b = {weight_.raw(), 0, kSide, 1};
    p.c = result.data();
    p.c_row_stride = kSide;
    gemm(p);
    return result[0];
  }

  Tensor rows_from(int64_t row) const {
    return Tensor::from_storage(weight_.storage(), ScalarType::kFloat, IntVector{256, kSide},
                                IntVector{kSide, 1}, row * kSide);
  }

  // The share of the file's pages that the system's cache holds.
  double cached() const {
    std::vector<unsigned char> pages(kBytes / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    if (mincore(data_, kBytes, pages.data()) != 0) std::abort();
    const auto count = std::count_if(pages.begin(), pages.end(), [](auto x) { return x & 1; });
    return static_cast<double>(count) / static_cast<double>(pages.size());
  }

  void* data_ = nullptr;
  Tensor weight_;
};

TEST_F(SparePages, LeaveWhenGivenBackAndAfterEachOfTheNextReaders) {
  multiply();
  const int64_t before = resident_mib();
  const SpareWeight spare = give_back_pages(weight_);
  if (resident_mib() > before - 12) GTEST_SKIP() << "this system keeps the pages of a mapped file";
  for (int reader = 0; reader < 16; ++reader) {
    EXPECT_EQ(multiply(), 0);
    EXPECT_LT(resident_mib(), before - 12) << reader;
  }
  multiply();  // Read so often, it seems to be needed.
  EXPECT_GT(resident_mib(), before - 4);
}

TEST_F(SparePages, AreReadOnceByWhoReadsThemPieceByPiece) {
  multiply();
  const int64_t before = resident_mib();
  const SpareWeight spare = give_back_pages(weight_);
  if (resident_mib() > before - 12) GTEST_SKIP() << "this system keeps the pages of a mapped file";
  for (int reader = 0; reader < 16; ++reader) {
    {
      const WeightReading whole(weight_.raw(), weight_.bytes(), int64_t{1} << 40);
      for (int piece = 0; piece < 3; ++piece) multiply();
      EXPECT_GT(resident_mib(), before - 4) << reader;
    }
    EXPECT_LT(resident_mib(), before - 12) << reader;
  }
}

TEST_F(SparePages, StayOnceAllPackedFormsWent) {
  multiply();
  const int64_t before = resident_mib();
  SpareWeight first = give_back_pages(weight_);
  if (resident_mib() > before - 12) GTEST_SKIP() << "this system keeps the pages of a mapped file";
  {
    const SpareWeight second = give_back_pages(weight_);
    first = SpareWeight();
    multiply();
    EXPECT_LT(resident_mib(), before - 12);
  }
  multiply();
  EXPECT_GT(resident_mib(), before - 4);
}

TEST_F(SparePages, AreLeftByReadersThatDoLittleWithThemUntilTheJobIsDone) {
  multiply(1);
  const int64_t before = resident_mib();
  const SpareWeight spare = give_back_pages(weight_);
  if (resident_mib() > before - 12) GTEST_SKIP() << "this system keeps the pages of a mapped file";
  multiply(1);
  EXPECT_GT(resident_mib(), before - 4);
  give_back_left_pages(weight_);
  EXPECT_LT(resident_mib(), before - 12);
  multiply();                     // Takes them along itself,
  give_back_left_pages(weight_);  // so that there is nothing left.
  EXPECT_LT(resident_mib(), before - 12);
}

TEST_F(SparePages, ComeBackBeforeTheyAreReadInTimeThatIsTold) {
  if (is_emulated()) GTEST_SKIP() << "QEMU makes no pages resident ahead of their reading";
  multiply(1);
  const int64_t before = resident_mib();
  const SpareWeight spare = give_back_pages(weight_);
  if (resident_mib() > before - 12) GTEST_SKIP() << "this system keeps the pages of a mapped file";
  const auto before_reading = time_for_spare_pages();
  const auto begin = std::chrono::steady_clock::now();
  {
    const WeightReading reading(weight_.raw(), weight_.bytes(), kLeastWork * kSide * kSide);
    EXPECT_GT(resident_mib(), before - 4);
  }
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(time_for_spare_pages() - before_reading, took / 4);
  EXPECT_LE(time_for_spare_pages() - before_reading, took);
}

TEST_F(SparePages, StayInTheSystemsCache) {
  if (is_emulated()) GTEST_SKIP() << "QEMU refuses mincore";
  multiply();
  const SpareWeight spare = give_back_pages(weight_);
  EXPECT_EQ(cached(), 1);
}

TEST_F(SparePages, KeepWhatWasWrittenToThem) {
  multiply();
  auto* numbers = static_cast<float*>(data_);
  numbers[kSide * 1000] = 7;
  const SpareWeight spare = give_back_pages(weight_);
  { const WeightReading reading(weight_.raw(), weight_.bytes(), kLeastWork * kSide * kSide); }
  EXPECT_EQ(numbers[kSide * 1000], 7);
  EXPECT_EQ(numbers[kSide * 1000 + 1], 0);
}

// A thread writes each page once while the pages are let go of again and again. It is rare that the
// system copies a page for a write and the page is gone before the write is done: hence the passes.
TEST_F(SparePages, KeepWhatIsWrittenMeanwhile) {
  auto* numbers = static_cast<volatile float*>(data_);
  for (int pass = 0; pass < 20; ++pass) {
    std::atomic<bool> writing{true};
    std::thread writer([&] {
      for (int64_t i = 0; i < kSide * kSide; i += 1024) numbers[i] = static_cast<float>(i + 1);
      writing = false;
    });
    while (writing) {
      for (int64_t row = 0; row < kSide; row += 256)
        const SpareWeight spare = give_back_pages(rows_from(row));
    }
    writer.join();
    for (int64_t i = 0; i < kSide * kSide; i += 1024) {
      ASSERT_EQ(numbers[i], static_cast<float>(i + 1)) << i;
    }
    madvise(data_, kBytes, MADV_DONTNEED);  // The file's numbers again.
  }
}

// What the test above waits for: a thread's write made a copy of the file's page, which is moved
// away before the thread writes.
TEST_F(SparePages, KeepWhatIsWrittenToAnotherCopyThanTheOneThatWasMovedAway) {
  multiply();
  auto* numbers = static_cast<float*>(data_);
  const PageRange range{static_cast<char*>(data_), kBytes};
  const size_t page = 1000 * kSide * sizeof(float);
  int asked = 0;
  drop_pages(range, [&](PageRange) {
    numbers[1000 * kSide] = asked++ == 0 ? 0 : 7;
    return std::vector<size_t>(asked > 1 ? 1 : 0, page);
  });
#if defined(MREMAP_DONTUNMAP)
  EXPECT_EQ(asked, 2);
#endif
  EXPECT_EQ(numbers[1000 * kSide], asked > 1 ? 7 : 0);
}

// Written just after the pages were looked at, with nobody to ask afterwards.
TEST_F(SparePages, KeepWhatIsWrittenWhereNobodyCanSayAfterwardsWhichPagesWere) {
  multiply();
  auto* numbers = static_cast<float*>(data_);
  for (const bool writes : {false, true}) {
    int asked = 0;
    drop_pages({static_cast<char*>(data_), kBytes},
               [&](PageRange) -> std::optional<std::vector<size_t>> {
                 if (++asked > 1) return std::nullopt;
                 if (writes) numbers[kSide * 1000] = 7;
                 return std::vector<size_t>();
               });
    EXPECT_EQ(numbers[kSide * 1000], writes ? 7 : 0);
    EXPECT_EQ(numbers[kSide * 1000 + 1], 0);
    EXPECT_EQ(numbers[0], 0);
  }
}

TEST_F(SparePages, StayWhereNothingWasGivenBack) {
  multiply();
  const int64_t before = resident_mib();
  { const WeightReading reading(weight_.raw(), weight_.bytes(), kLeastWork * kSide * kSide); }
  EXPECT_GE(resident_mib(), before - 1);
}

TEST(OwnMemory, IsNotGivenBack) {
  const Tensor own = Tensor::empty(IntVector{kSide, kSide}, ScalarType::kFloat);
  std::fill_n(own.data<float>(), own.numel(), 3.0F);
  const SpareWeight spare = give_back_pages(own);
  { const WeightReading reading(own.raw(), own.bytes(), kLeastWork * kSide * kSide); }
  EXPECT_EQ(own.data<float>()[kSide], 3.0F);
}

}  // namespace
}  // namespace tierup::kernels
