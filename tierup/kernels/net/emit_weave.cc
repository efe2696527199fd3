// Results of a transposed convolution's parts, woven together; see resolve_transposed.cc.
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/short_rows.h"
#include "tierup/kernels/net/emitter.h"

namespace tierup::kernels::net {
namespace {

// One result, or part of it, with channels innermost: [batch, height, width, channels].
struct WovenPart {
  BufferLayout place;
  int64_t height, width;
};

struct Weave {
  std::vector<WovenPart> parts;  // One for each place within the stride, or one of all places.
  int64_t channels, width, stride_y, stride_x;

  // Line y of an image.
  void run_line(Bases bases, int64_t image, int64_t y, float* line) const {
    const bool is_one = parts.size() == 1;
    const int64_t step = is_one ? stride_y * stride_x * channels : channels;
    // Places of a line that lie beside one another in a part.
    const int64_t together = is_one ? stride_x : 1;
    for (int64_t x = 0; x < std::min(stride_x, width); x += together) {
      const int64_t place = y % stride_y * stride_x + x;
      const WovenPart& part = parts[is_one ? 0 : static_cast<size_t>(place)];
      const float* from = at(bases, part.place) +
                          (image * part.height + y / stride_y) * part.width * step +
                          (is_one ? place * channels : 0);
      copy_points(from, step, together * channels, line + x * channels, (width - x) * channels);
    }
  }

 private:
  // `count` numbers of each point, these `step` apart, to every place of the kind, as far as there
  // is room.
  void copy_points(const float* from, int64_t step, int64_t count, float* to, int64_t room) const {
    constexpr auto kWidth = static_cast<int64_t>(sizeof(float));
    const int64_t apart = stride_x * channels;
    if (apart == count) {
      const int64_t whole = room / count;
      copy_short_rows(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), kWidth,
                      count, kWidth, whole, step * kWidth);
      from += whole * step;
      to += whole * count;
      room -= whole * count;
    }
    for (; room > 0; room -= apart, from += step, to += apart)
      std::copy_n(from, std::min(count, room), to);
  }
};

}  // namespace

void Emitter::weave(const Layer& layer) {
  out_.spreads_given_nans |= layer.has_empty_taps;
  const ConvGeometry& g = layer.conv;
  Weave weave{{}, g.out_channels, g.out[2], g.stride[1], g.stride[2]};
  for (const int input : layer.inputs) {
    const IntVector& sizes = value(input).sizes;
    const BufferLayout place = place_in(input, channels_last(sizes));
    touch(place);
    weave.parts.push_back({place, g.rank == 1 ? 1 : sizes[2], sizes.back()});
  }
  const BufferLayout target = fresh(channels_last(value(layer.output).sizes));
  const int64_t height = g.out[1];
  const int64_t length = g.out[2] * g.out_channels;
  act(
      [=, lines = g.batch * height](Bases bases) {
        parallel_for(0, lines, grain_of(length), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            weave.run_line(bases, i / height, i % height, at(bases, target) + i * length);
        });
      },
      {target});
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
