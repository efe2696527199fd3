#include "tierup/kernels/net/channel_loops.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

constexpr int64_t kGrain = 32768;  // Elements worth a thread.

ChannelLoops loops() {
  return TIERUP_VARIANT(instruction_set(), channel_loops_base, channel_loops_avx2,
                        channel_loops_avx512)();
}

// Calls reduce(first of the points, so many channels, place of the results) for blocks of channels.
// Of few channels, threads take a line of the cache each time, so that all have as much to do.
template <typename Reduce>
void each_block(const float* x, int64_t batch, int64_t points, int64_t channels, float* results,
                const Reduce& reduce) {
  constexpr int64_t kFew = 256;
  const int64_t width = channels > kFew ? 64 : 16;
  const int64_t blocks = (channels + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kGrain / (points * width));
  parallel_for(0, batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / blocks;
      const int64_t c = i % blocks * width;
      reduce(x + n * points * channels + c, std::min(width, channels - c),
             results + n * channels + c);
    }
  });
}

}  // namespace

void mean_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* mean) {
  const ChannelLoops body = loops();
  each_block(x, batch, points, channels, mean, [&](const float* from, int64_t count, float* to) {
    body.sums(from, points, channels, count, 1.0F / static_cast<float>(points), to);
  });
}

void largest_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                       float* largest) {
  const ChannelLoops body = loops();
  each_block(x, batch, points, channels, largest, [&](const float* from, int64_t count, float* to) {
    body.largest(from, points, channels, count, to);
  });
}

void scale_channels(const float* x, const float* factors, int64_t batch, int64_t points,
                    int64_t channels, float* y) {
  const ChannelLoops body = loops();
  parallel_for(
      0, batch * points, std::max<int64_t>(1, kGrain / channels), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          body.scale(x + i * channels, factors + i / points * channels, channels, y + i * channels);
        }
      });
}

}  // namespace tierup::kernels::net
