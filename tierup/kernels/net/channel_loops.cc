#include "tierup/kernels/net/channel_loops.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

constexpr int64_t kGrain = 32768;  // Elements worth a thread.

ChannelLoops loops() {
  return of_instruction_set(channel_loops_base, channel_loops_avx2, channel_loops_avx512);
}

}  // namespace

// Of few channels, threads take a line of the cache each time, so that all have as much to do.
void mean_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* mean) {
  constexpr int64_t kFew = 256;
  const int64_t width = channels > kFew ? 64 : 16;
  const ChannelLoops body = loops();
  const int64_t blocks = (channels + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kGrain / (points * width));
  parallel_for(0, batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / blocks;
      const int64_t c = i % blocks * width;
      body.sums(x + n * points * channels + c, points, channels, std::min(width, channels - c),
                1.0F / static_cast<float>(points), mean + n * channels + c);
    }
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
