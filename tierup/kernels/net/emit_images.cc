// Group norms, padding and resampling of [N, C, *].
#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/channel_loops.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/finished_rows.h"
#include "tierup/kernels/shape/padding.h"

namespace tierup::kernels::net {
namespace {

// Lines of a tensor [outer, planes, lines, points, inner], read from one of other sizes.
struct PointMap {
  std::vector<int64_t> planes, lines;
  std::vector<int64_t> points;
  std::vector<LineRun> runs;
  int64_t in_planes, in_lines, in_points, inner;
  float fill;

  int64_t line_count() const { return static_cast<int64_t>(lines.size()); }
  int64_t width() const { return static_cast<int64_t>(points.size()) * inner; }
  // Where line i of the result comes from; below zero: it is filled.
  int64_t source_of(int64_t i) const {
    const auto count = static_cast<int64_t>(planes.size());
    const int64_t line = lines[static_cast<size_t>(i % line_count())];
    const int64_t plane = planes[static_cast<size_t>(i / line_count() % count)];
    if (line < 0 || plane < 0) return -1;
    return (i / line_count() / count * in_planes + plane) * in_lines + line;
  }
  void write_line(const float* x, int64_t source, float* y) const {
    if (source < 0) {
      std::fill_n(y, width(), fill);
      return;
    }
    const float* line = x + source * in_points * inner;
    if (inner == 1) {
      for (size_t i = 0; i < points.size(); ++i) y[i] = points[i] < 0 ? fill : line[points[i]];
      return;
    }
    for (const LineRun& run : runs) {
      float* to = y + run.to * inner;
      if (run.from < 0) {
        std::fill_n(to, run.count * inner, fill);
      } else {
        std::copy_n(line + run.from * inner, run.count * inner, to);
      }
    }
  }
  void run(const float* x, float* y, int64_t count) const {
    parallel_for(0, count, grain_of(width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t source = source_of(i);
        float* to = y + i * width();
        if (i > begin && source_of(i - 1) == source) {
          std::copy_n(to - width(), width(), to);
        } else {
          write_line(x, source, to);
        }
      }
    });
  }
};

struct FloatTaps {
  std::vector<int64_t> index;
  std::vector<float> weight;
  int64_t count() const { return static_cast<int64_t>(index.size()) / 2; }
};
FloatTaps float_taps(const ResampleTaps& taps) {
  return {taps.index, {taps.weight.begin(), taps.weight.end()}};
}

// A tensor [outer, lines, points, inner], resampled by lines and points.
struct LinearMap {
  FloatTaps lines, points;
  int64_t outer, in_lines, in_points, inner;

  // Lines first: of many numbers beside one another, a line of sums takes a vector at a time.
  void by_lines(const float* x, float* y) const {
    const ChannelLoops loops = channel_loops();
    const int64_t from_width = in_points * inner;
    const int64_t to_width = points.count() * inner;
    const int64_t grain = grain_of(to_width);
    parallel_for(0, outer * lines.count(), grain, [&](int64_t begin, int64_t end) {
      std::vector<float> line(static_cast<size_t>(from_width));
      for (int64_t i = begin; i < end; ++i) {
        const float* image = x + i / lines.count() * in_lines * from_width;
        const auto at = static_cast<size_t>(i % lines.count() * 2);
        loops.blend(image + lines.index[at] * from_width, image + lines.index[at + 1] * from_width,
                    lines.weight[at], lines.weight[at + 1], from_width, line.data());
        loops.blend_points(line.data(), points.index.data(), points.weight.data(), points.count(),
                           inner, y + i * to_width);
      }
    });
  }
  // Points of all lines first: of planes, each is gathered once and not once for each result.
  void by_planes(const float* x, float* y) const {
    const ChannelLoops loops = channel_loops();
    const int64_t width = points.count();
    const int64_t grain = grain_of(lines.count() * width);
    parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
      std::vector<float> wide(static_cast<size_t>(in_lines * width));
      for (int64_t plane = begin; plane < end; ++plane) {
        for (int64_t i = 0; i < in_lines; ++i)
          loops.blend_points(x + (plane * in_lines + i) * in_points, points.index.data(),
                             points.weight.data(), width, 1, wide.data() + i * width);
        for (int64_t i = 0; i < lines.count(); ++i) {
          const auto at = static_cast<size_t>(2 * i);
          loops.blend(wide.data() + lines.index[at] * width,
                      wide.data() + lines.index[at + 1] * width, lines.weight[at],
                      lines.weight[at + 1], width, y + (plane * lines.count() + i) * width);
        }
      }
    });
  }
};

std::vector<int64_t> one_entry() { return {0}; }

}  // namespace

// Channels innermost, unless the value lies as planes or there are fewer channels than pay; what
// the caller gets in the end is planes as well.
bool Emitter::stays_planar(const Layer& layer) {
  constexpr int64_t kFewChannels = 4;
  const IntVector& sizes = value(layer.inputs[0]).sizes;
  const bool leaves =
      std::find(net_.outputs.begin(), net_.outputs.end(), layer.output) != net_.outputs.end() &&
      numel_of(value(layer.output).sizes) >= numel_of(sizes);
  const memory::desc layout = any_place(layer.inputs[0]).layout;
  const bool is_planar = same_layout(layout, row_major(sizes));
  return leaves || sizes[1] < kFewChannels || (is_planar && sizes[1] < kConvolutionRun);
}

void Emitter::points(const Layer& layer) {
  const IntVector& in = value(layer.inputs[0]).sizes;
  const IntVector& out = value(layer.output).sizes;
  const bool planar = stays_planar(layer);
  const BufferLayout source = place_in(layer.inputs[0], planar ? row_major(in) : channels_last(in));
  const BufferLayout target = fresh(planar ? row_major(out) : channels_last(out));
  const size_t rank = layer.from.size();
  PointMap map{rank > 2 ? layer.from[rank - 3] : one_entry(),
               rank > 1 ? layer.from[rank - 2] : one_entry(),
               layer.from[rank - 1],
               line_runs(layer.from[rank - 1]),
               rank > 2 ? in[in.size() - 3] : 1,
               rank > 1 ? in[in.size() - 2] : 1,
               in.back(),
               planar ? 1 : in[1],
               static_cast<float>(layer.fill)};
  const int64_t lines = numel_of(out) / map.width();
  act([=,
       map = std::move(map)](Bases bases) { map.run(at(bases, source), at(bases, target), lines); },
      {source, target});
  settle(layer.output, target);
}

void Emitter::resample(const Layer& layer) {
  const IntVector& in = value(layer.inputs[0]).sizes;
  const IntVector& out = value(layer.output).sizes;
  const bool planar = stays_planar(layer);
  const BufferLayout source = place_in(layer.inputs[0], planar ? row_major(in) : channels_last(in));
  const BufferLayout target = fresh(planar ? row_major(out) : channels_last(out));
  const bool has_lines = layer.taps.size() > 1;
  LinearMap map{has_lines ? float_taps(layer.taps[0]) : FloatTaps{{0, 0}, {1, 0}},
                float_taps(layer.taps.back()),
                planar ? in[0] * in[1] : in[0],
                has_lines ? in[2] : 1,
                in.back(),
                planar ? 1 : in[1]};
  act(
      [=, map = std::move(map)](Bases bases) {
        if (planar) {
          map.by_planes(at(bases, source), at(bases, target));
        } else {
          map.by_lines(at(bases, source), at(bases, target));
        }
      },
      {source, target});
  settle(layer.output, target);
}

void Emitter::group_norm(const Layer& layer) {
  const IntVector& sizes = value(layer.output).sizes;
  const memory::desc layout = channels_last(sizes);
  const BufferLayout source = place_in(layer.inputs[0], layout);
  const BufferLayout gamma = vector_of(layer.id * 2, layer.scale);
  const BufferLayout beta = vector_of(layer.id * 2 + 1, layer.shift);
  const GroupNorm norm{sizes[0], numel_of(sizes) / sizes[0] / sizes[1], sizes[1], layer.groups,
                       static_cast<float>(layer.eps)};
  const BufferLayout room = fresh(row_major(IntVector{norm.scratch()}));
  const FinishedRows finish = finished_rows(layer, source);
  const BufferLayout target = finish.target;
  act(
      [=](Bases bases) {
        const float* x = at(bases, source);
        const float* factors =
            group_norm_factors(norm, x, at(bases, gamma), at(bases, beta), at(bases, room));
        const ChannelLoops loops = channel_loops();
        finish.run(bases, norm.batch * norm.points, norm.channels,
                   [&](int64_t first, int64_t count, float* y) {
                     while (count > 0) {
                       const int64_t image = first / norm.points;
                       const int64_t part = std::min(count, (image + 1) * norm.points - first);
                       const float* f = factors + image * 2 * norm.channels;
                       loops.affine(x + first * norm.channels, part, norm.channels, f,
                                    f + norm.channels, y);
                       y += part * norm.channels;
                       first += part;
                       count -= part;
                     }
                   });
      },
      {source, gamma, beta, room, finish.summand, target});
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
