#include "tierup/kernels/pooling/window_maxima.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tierup::kernels {
namespace {

// A plane that ends where memory ends: behind it stands a page that nobody may read.
TEST(WindowMaxima, ReadNothingBehindTheLastPlane) {
  constexpr size_t kPage = 4096;
  void* pages =
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(pages) + kPage, kPage, PROT_NONE), 0);
  for (const int32_t width : {4, 8, 16, 32, 64}) {
    const int32_t count = width * 8;
    float* plane = static_cast<float*>(pages) + kPage / sizeof(float) - count;
    for (int32_t i = 0; i < count; ++i) plane[i] = static_cast<float>(i * 37 % 101);
    std::vector<int32_t> corners;
    for (int32_t y = 0; y < 8; y += 2) {
      for (int32_t x = 0; x < width; x += 2) corners.push_back(y * width + x);
    }
    const size_t windows = corners.size();
    while (corners.size() % kWindowLanes != 0) corners.push_back(corners.back());
    const std::array<int32_t, 4> taps{0, 1, width, width + 1};
    std::vector<float> best(corners.size());
    std::vector<int64_t> places(corners.size());
    window_maxima()(plane, count, corners.data(), static_cast<int64_t>(corners.size()), taps,
                    best.data(), places.data());
    for (size_t i = 0; i < windows; ++i) {
      float largest = 0;
      for (const int32_t tap : taps) largest = std::max(largest, plane[corners[i] + tap]);
      EXPECT_EQ(best[i], largest) << width << " at " << i;
      EXPECT_EQ(plane[places[i]], largest);
    }
  }
  munmap(pages, 2 * kPage);
}

}  // namespace
}  // namespace tierup::kernels
