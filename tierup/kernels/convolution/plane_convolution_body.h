// One part of a convolution of planes; see plane_convolution.h. Compiled once per instruction set.
#pragma once

#include <algorithm>
#include <span>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/plane_shifts_body.h"
#include "tierup/kernels/convolution/plane_strip_body.h"
#include "tierup/kernels/convolution/plane_tile_body.h"
#include "tierup/kernels/convolution/single_correlation_body.h"
#include "tierup/kernels/convolution/single_plane_body.h"
#include "tierup/kernels/convolution/single_rows_body.h"
#include "tierup/kernels/convolution/small_planes_body.h"
#include "tierup/kernels/convolution/weave_body.h"
#include "tierup/kernels/memory/scratch.h"

namespace tierup::kernels {
namespace {

// A run of points that lie side by side both in a panel and in the strip, at most a vector long.
struct Piece {
  int32_t to;
  int32_t from;
};

typedef float HalfVector __attribute__((vector_size(kVectorBytes / 2)));

// For each number of a window: all pieces, from where it begins in the strip. Whole vectors are
// stored in order: what one has too much the next one overwrites. Never inlined: among the runner's
// own numbers these loops would not have registers enough.
template <typename Vector>
[[gnu::noinline]] void gather_pieces(std::span<const Piece> pieces, const float* strip,
                                     std::span<const int32_t> offsets, int64_t width,
                                     float* panel) {
  for (const int32_t offset : offsets) {
    const float* source = strip + offset;
    for (const Piece piece : pieces) {
      Vector numbers;
      std::memcpy(&numbers, source + piece.from, sizeof(numbers));
      std::memcpy(panel + piece.to, &numbers, sizeof(numbers));
    }
    panel += width;
  }
}

class PlaneRunner {
 public:
  explicit PlaneRunner(const PlanePart& part) : p_(part), is_direct_(is_direct(part)) {}

  void run() {
    const int64_t points = p_.last_point - p_.first_point;
    const int64_t blocks = (points + kPlaneBlock - 1) / kPlaneBlock;
    const int64_t vectors = (points + kVectorFloats - 1) / kVectorFloats;
    const int64_t even = (vectors + blocks - 1) / blocks * kVectorFloats;
    for (int64_t from = p_.first_point; from < p_.last_point; from += count_) {
      first_ = from;
      count_ = std::min(even, p_.last_point - from);
      // Long rows are cut, so that no strip is as long.
      if (p_.out_width > kPlaneBlock) {
        count_ = std::min(count_, p_.out_width - from % p_.out_width);
      }
      run_block();
    }
  }

 private:
  static bool is_direct(const PlanePart& p) {
    return p.kernel_points() == 1 && p.stride_y == 1 && p.stride_x == 1 && p.pad_top == 0 &&
           p.pad_left == 0 && p.out_height == p.height && p.out_width == p.width;
  }

  void run_block() {
    vectors_ = (count_ + kVectorFloats - 1) / kVectorFloats;
    const int64_t points = p_.kernel_points();
    const int64_t fitting = kPanelFloats / (vectors_ * kVectorFloats * points);
    const int64_t most = std::clamp<int64_t>(fitting, 1, p_.in_channels);
    const int64_t chunks = (p_.in_channels + most - 1) / most;
    const int64_t channels = (p_.in_channels + chunks - 1) / chunks;
    if (!is_direct_) lay_out();
    const int64_t room =
        reads_strip_ ? 0 : vectors_ * kVectorFloats * points * channels + kVectorFloats;
    const int64_t strip_floats = is_direct_ ? 0 : plane_floats_ * channels + kVectorFloats;
    panels_ = static_cast<float*>(
        thread_scratch(static_cast<size_t>(room + strip_floats) * sizeof(float)));
    strip_floats_ = panels_ + room;
    for (int64_t channel = 0; channel < p_.in_channels; channel += channels) {
      run_channels(channel, std::min(channels, p_.in_channels - channel));
    }
  }

  // How the block's windows are read. Vectors stand side by side in the strip where rows are whole
  // vectors, otherwise in shifts; where they are not read there, panels are gathered from the
  // strip.
  void lay_out() {
    const int64_t top = first_ / p_.out_width;
    const int64_t rows = (first_ + count_ - 1) / p_.out_width - top + 1;
    const int64_t left = rows == 1 ? first_ % p_.out_width : 0;
    const int64_t columns = rows == 1 ? count_ : p_.out_width;
    const bool are_whole = first_ % kVectorFloats == 0 && p_.out_width % kVectorFloats == 0;
    strip_ = strip_of(p_, top, rows, left, columns);
    has_shifts_ = false;
    if (may_read_strip() && !are_whole && p_.kernel_width <= Shifts::kMost) {
      shifts_ = Shifts(p_, top, rows, left, columns);
      // Windows that reach over many rows fill shifts with what few points read.
      has_shifts_ = shifts_.plane(p_) <= strip_.plane() + p_.kernel_points() * count_;
    }
    reads_strip_ = has_shifts_ || (may_read_strip() && are_whole);
    if (has_shifts_) {
      shifts_.offsets(p_, offsets_);
      plane_floats_ = shifts_.plane(p_);
      const int64_t first = first_ - top * p_.out_width - left;
      for (int64_t v = 0; v < vectors_; ++v)
        places_[v] = static_cast<int32_t>(first + v * kVectorFloats);
      return;
    }
    strip_.offsets(p_, offsets_);
    plane_floats_ = strip_.plane();
    if (!reads_strip_) return find_pieces();
    for (int64_t v = 0; v < vectors_; ++v) places_[v] = place_of(v * kVectorFloats);
  }

  void fill(const float* planes, int64_t channels) {
    if (has_shifts_) return shifts_.fill(p_, planes, channels, strip_floats_);
    fill_strip(p_, strip_, planes, channels, strip_floats_);
  }

  // Of `wide` vectors of points, from vector `first` of the block on, and a part of the depth.
  struct Panel {
    const float* numbers;
    int64_t first;
    int64_t wide;
    int64_t channel;
    int64_t depth;
  };

  void run_channels(int64_t channel, int64_t channels) {
    const int64_t depth = channels * p_.kernel_points();
    const float* planes = p_.input + channel * p_.height * p_.width;
    if (!is_direct_) fill(planes, channels);
    channels_ = channels;
    // Two panels are multiplied by turns, so that weights come from far away once and steadily;
    // of more, each stays in the nearest cache meanwhile.
    constexpr int64_t kTurns = 2;
    const bool by_turns = vectors_ <= kTurns * kPanelVectors;
    Panel panels[kTurns];
    int64_t count = 0;
    float* numbers = panels_;
    int64_t piece = 0;
    for (int64_t v = 0; v < vectors_;) {
      const Panel panel{numbers, v, panel_vectors(vectors_ - v), channel, depth};
      if (is_direct_) {
        copy_panel(planes, panel, numbers);
      } else if (!reads_strip_) {
        piece = gather_panel(piece, panel.wide * kVectorFloats, channels, numbers);
      }
      if (by_turns) {
        panels[count++] = panel;
      } else {
        for (int64_t row = 0; row < p_.rows; row += kTileRows) multiply(panel, row);
      }
      numbers += panel.wide * kVectorFloats * depth;
      v += panel.wide;
    }
    for (int64_t row = 0; count > 0 && row < p_.rows; row += kTileRows) {
      for (int64_t i = 0; i < count; ++i) multiply(panels[i], row);
    }
  }

  // A tile of output channels from `row` on.
  void multiply(const Panel& panel, int64_t row) {
    const int64_t from = panel.channel * p_.kernel_points();
    const bool is_last = from + panel.depth == p_.depth();
    const int64_t column = panel.first * kVectorFloats;
    TileProduct t{};
    t.rows = std::min<int64_t>(kTileRows, p_.rows - row);
    t.a_stride = p_.depth();
    t.a = p_.weight + row * t.a_stride + from;
    t.ahead = row + 2 * kTileRows <= p_.rows ? t.a + kTileRows * t.a_stride : t.a;
    t.panel = panel.numbers;
    t.depth = panel.depth;
    t.out_stride = p_.out_points();
    t.out = p_.output + row * t.out_stride + first_ + column;
    t.columns = std::min(panel.wide * kVectorFloats, count_ - column);
    t.continues = from > 0;
    t.bias = is_last && p_.bias != nullptr ? p_.bias + row : nullptr;
    if (!reads_strip_) return multiply_panel(t, panel.wide);
    multiply_strip(t,
                   {strip_floats_, plane_floats_, channels_, offsets_, p_.kernel_points(),
                    places_ + panel.first},
                   panel.wide);
  }

  // Whether vectors of points are read where they stand, without panels. There they may lie in two
  // lines of the cache, for each tile of rows again; for a panel they are loaded, so, and stored
  // once: as much as a dozen tiles of vectors as long as a line lose, and more of shorter ones.
  bool may_read_strip() const {
    constexpr int64_t kMostTiles = 12 * 64 / kVectorBytes;
    return p_.rows <= kMostTiles * kTileRows;
  }

  // Where in the strip a point of the block begins to be read.
  int32_t place_of(int64_t point) const {
    const int64_t column = (first_ + point) % p_.out_width;
    const int64_t row = (first_ + point) / p_.out_width - first_ / p_.out_width;
    return static_cast<int32_t>(row * p_.stride_y * strip_.pitch + column - strip_.first_column);
  }

  // A 1x1 window reads the planes as they lie.
  void copy_panel(const float* planes, const Panel& to, float* panel) const {
    const int64_t wide = to.wide;
    const int64_t plane = p_.height * p_.width;
    const int64_t column = to.first * kVectorFloats;
    const float* source = planes + first_ + column;
    const int64_t whole = std::min(wide, (count_ - column) / kVectorFloats);
    const int64_t left = count_ - column - whole * kVectorFloats;
    for (int64_t c = 0; c < to.depth; ++c, source += plane, panel += wide * kVectorFloats) {
      for (int64_t i = 0; i < whole; ++i) {
        store_vector(panel + i * kVectorFloats, load_vector(source + i * kVectorFloats));
      }
      if (whole < wide) {
        store_vector(panel + whole * kVectorFloats,
                     load_part(source + whole * kVectorFloats, left));
      }
    }
  }

  // Cuts the block's points at the ends of rows, of panels and of vectors.
  void find_pieces() {
    int64_t count = 0;
    int64_t panel_start = 0;
    int64_t panel_end = 0;
    int64_t vector = 0;
    for (int64_t i = 0; i < count_;) {
      if (i == panel_end) {
        panel_start = panel_end;
        const int64_t wide = panel_vectors(vectors_ - vector);
        vector += wide;
        panel_end = std::min(count_, panel_end + wide * kVectorFloats);
      }
      const int64_t column = (first_ + i) % p_.out_width;
      const int64_t length =
          std::min<int64_t>({kVectorFloats, p_.out_width - column, panel_end - i});
      pieces_[count++] = {static_cast<int32_t>(i - panel_start), place_of(i)};
      i += length;
    }
    piece_count_ = count;
  }

  // Returns the first piece of the next panel.
  int64_t gather_panel(int64_t piece, int64_t width, int64_t channels, float* panel) const {
    int64_t end = piece + 1;
    while (end < piece_count_ && pieces_[end].to != 0) ++end;
    const std::span pieces(pieces_ + piece, pieces_ + end);
    const std::span offsets(offsets_, static_cast<size_t>(p_.kernel_points()));
    // A long vector for a short piece would be stored over two lines of the cache.
    const auto gather =
        p_.out_width <= kVectorFloats / 2 ? gather_pieces<HalfVector> : gather_pieces<FloatVector>;
    for (int64_t c = 0; c < channels; ++c) {
      gather(pieces, strip_floats_ + c * plane_floats_, offsets, width, panel);
      panel += p_.kernel_points() * width;
    }
    return end;
  }

  static constexpr int64_t kPanelFloats = kPlaneBlock * 192;  // Half of a near cache.
  const PlanePart& p_;
  const bool is_direct_;
  int64_t first_ = 0;  // Of the points at hand.
  int64_t count_ = 0;
  int64_t vectors_ = 0;
  Strip strip_{};
  Shifts shifts_;
  int64_t plane_floats_ = 0;  // Of the strip or the shifts.
  int64_t channels_ = 0;      // At hand.
  bool reads_strip_ = false;
  bool has_shifts_ = false;                      // In the strip's place.
  int32_t places_[kPlaneBlock / kVectorFloats];  // In the strip, of each vector.
  int64_t piece_count_ = 0;
  Piece pieces_[kPlaneBlock];
  int32_t offsets_[kMostKernelPoints];  // In the strip, of each number of a window.
  float* panels_ = nullptr;
  float* strip_floats_ = nullptr;
};

constexpr PlaneKernels kPlaneKernels{
    [](const PlanePart& part) { PlaneRunner(part).run(); },
    [](const PlanePart& part) {
      if (SingleRowsRunner::fits(part)) {
        SingleRowsRunner(part).run();
      } else {
        SinglePlaneRunner(part).run();
      }
    },
    [](const PlanePart& part) { SingleCorrelation(part).run(); },
    [](const PlanePart& whole, int64_t channels, int64_t begin, int64_t end) {
      SmallPlanesRunner(whole, channels).run(begin, end);
    },
    kVectorFloats,
    &weave_rows};

}  // namespace
}  // namespace tierup::kernels
