#include "tierup/kernels/net/channel_loops.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

// Calls reduce(first of the points, so many channels, place of the results) for blocks of channels.
// Of few channels, threads take a line of the cache each time, so that all have as much to do.
template <typename Reduce>
void each_block(const float* x, int64_t batch, int64_t points, int64_t channels, float* results,
                const Reduce& reduce) {
  constexpr int64_t kFew = 256;
  const int64_t width = channels > kFew ? 64 : 16;
  const int64_t blocks = (channels + width - 1) / width;
  const int64_t grain = grain_of(points * width);
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

ChannelLoops channel_loops() {
  return TIERUP_VARIANT(instruction_set(), channel_loops_base, channel_loops_avx2,
                        channel_loops_avx512)();
}

namespace {

void scaled_sum_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                          float factor, float* sum) {
  const ChannelLoops body = channel_loops();
  each_block(x, batch, points, channels, sum, [&](const float* from, int64_t count, float* to) {
    body.sums(from, points, channels, count, factor, to);
  });
}

}  // namespace

void sum_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* sum) {
  scaled_sum_of_points(x, batch, points, channels, 1, sum);
}

void mean_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* mean) {
  scaled_sum_of_points(x, batch, points, channels, 1.0F / static_cast<float>(points), mean);
}

void mean_square_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                           float* mean) {
  const ChannelLoops body = channel_loops();
  each_block(x, batch, points, channels, mean, [&](const float* from, int64_t count, float* to) {
    body.squares(from, points, channels, count, 1.0F / static_cast<float>(points), to);
  });
}

void norm_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* norm) {
  mean_square_of_points(x, batch, points, channels, norm);
  parallel_for(0, batch * channels, kNumbersForThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) norm[i] = std::sqrt(norm[i] * static_cast<float>(points));
  });
}

void largest_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                       float* largest) {
  const ChannelLoops body = channel_loops();
  each_block(x, batch, points, channels, largest, [&](const float* from, int64_t count, float* to) {
    body.largest_of_window({from, {1, 1, points}, {0, 0, channels}}, count, to);
  });
}

namespace {

// What lies inside of the window of a point of the result, along one axis.
struct WindowSpan {
  int64_t first, count;
};
WindowSpan span_of(const PoolWindow& w, size_t axis, int64_t point) {
  const int64_t begin = point * w.stride[axis] - w.padding[axis];
  const int64_t first = std::max<int64_t>(0, begin);
  return {first, std::min(begin + w.kernel[axis], w.in[axis]) - first};
}

}  // namespace

void largest_of_windows(const PoolWindow& window, const float* x, int64_t batch, int64_t channels,
                        float* largest) {
  const ChannelLoops body = channel_loops();
  const PoolWindow& w = window;
  const int64_t work = channels * w.kernel[0] * w.kernel[1] * w.kernel[2];
  parallel_for(0, batch * w.out_points(), grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const WindowSpan plane = span_of(w, 0, i / w.out[2] / w.out[1] % w.out[0]);
      const WindowSpan row = span_of(w, 1, i / w.out[2] % w.out[1]);
      const WindowSpan point = span_of(w, 2, i % w.out[2]);
      const int64_t first = (plane.first * w.in[1] + row.first) * w.in[2] + point.first;
      const int64_t image = i / w.out_points() * w.in_points();
      body.largest_of_window({x + (image + first) * channels,
                              {plane.count, row.count, point.count},
                              {w.in[1] * w.in[2] * channels, w.in[2] * channels, channels}},
                             channels, largest + i * channels);
    }
  });
}

// A piece stays in the nearest cache between the two looks at it.
int64_t GroupNorm::piece_points() const {
  constexpr int64_t kNumbers = 8192;
  constexpr int64_t kLeast = 16;  // Fewer, and joining them would be the work.
  return std::max(kLeast, kNumbers / channels);
}

namespace {

// Of so many numbers: their mean, and the sum of the squares of what is left.
struct JoinedMoments {
  double count = 0, mean = 0, squares = 0;
  void join(const JoinedMoments& other) {
    const double total = count + other.count;
    const double distance = other.mean - mean;
    mean += distance * other.count / total;
    squares += other.squares + distance * distance * count * other.count / total;
    count = total;
  }
};

// Those of channels with as many points each.
JoinedMoments moments_of_piece(const float* means, const float* squares, int64_t channels,
                               int64_t points) {
  JoinedMoments result{static_cast<double>(channels * points)};
  for (int64_t c = 0; c < channels; ++c) result.mean += means[c];
  result.mean /= static_cast<double>(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double distance = means[c] - result.mean;
    result.squares += squares[c] + distance * distance * static_cast<double>(points);
  }
  return result;
}

}  // namespace

const float* group_norm_factors(const GroupNorm& norm, const float* x, const float* gamma,
                                const float* beta, float* scratch) {
  const ChannelLoops body = channel_loops();
  const int64_t channels = norm.channels;
  const int64_t pieces = norm.pieces();
  const int64_t each = norm.piece_points();
  const auto width = [&](int64_t piece) { return std::min(each, norm.points - piece * each); };
  parallel_for(0, norm.batch * pieces, grain_of(each * channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / pieces * norm.points + i % pieces * each;
      float* means = scratch + i * 2 * channels;
      body.moments(x + first * channels, width(i % pieces), channels, means, means + channels);
    }
  });
  float* factors = scratch + norm.batch * pieces * 2 * channels;
  const int64_t together = channels / norm.groups;
  parallel_for(0, norm.batch * norm.groups, grain_of(8 * pieces * together),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t n = i / norm.groups;
                   const int64_t first = i % norm.groups * together;
                   JoinedMoments joined;
                   for (int64_t p = 0; p < pieces; ++p) {
                     const float* means = scratch + (n * pieces + p) * 2 * channels + first;
                     joined.join(moments_of_piece(means, means + channels, together, width(p)));
                   }
                   const auto variance = static_cast<float>(joined.squares / joined.count);
                   const float rstd = 1 / std::sqrt(variance + norm.eps);
                   float* to = factors + n * 2 * channels;
                   for (int64_t c = first; c < first + together; ++c) {
                     to[c] = rstd * gamma[c];
                     to[channels + c] = beta[c] - static_cast<float>(joined.mean) * to[c];
                   }
                 }
               });
  return factors;
}

}  // namespace tierup::kernels::net
