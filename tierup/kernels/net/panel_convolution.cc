#include "tierup/kernels/net/panel_convolution.h"

#include <algorithm>

#include "tierup/base/machine.h"
#include "tierup/base/piece_queue.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/net/panel_packing.h"
#include "tierup/kernels/net/weight_factors.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

ConvolutionPartFn part_function() {
  return TIERUP_VARIANT(instruction_set(), convolution_part_base, convolution_part_avx2,
                        convolution_part_avx512)();
}

int64_t rounded_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }
int64_t parts_of(int64_t count, int64_t each) { return (count + each - 1) / each; }

// Few parts that threads can't share evenly keep some waiting: more parts of the rows, where these
// remain long enough for a panel to be worth its way to the first-level cache.
int64_t evenly_shared(int64_t row_parts, int64_t channel_parts, int64_t rows, int threads) {
  constexpr int64_t kManyPartsOfThread = 4;
  constexpr int64_t kFewestRows = 16;
  if (row_parts * channel_parts >= kManyPartsOfThread * threads) return row_parts;
  for (int64_t times = 1; times <= threads && row_parts * times * kFewestRows <= rows; ++times) {
    if (row_parts * times * channel_parts % threads == 0) return row_parts * times;
  }
  return row_parts;
}

// Whether rows so many floats apart meet in a first-level cache, which has as many places for lines
// a page apart as it has pages: fewer than there are rows at hand, and asked for beside them.
bool rows_meet(int64_t stride) {
  constexpr int64_t kPage = 4096;
  constexpr int64_t kRows = int64_t{6} + 6;
  return stride * static_cast<int64_t>(sizeof(float)) % kPage == 0 &&
         cache_sizes().first_level / kPage < kRows;
}

// From row to row, once all are gathered.
int64_t gathered_stride(const PanelConvolution& p) {
  return rows_meet(p.depth()) ? p.depth() + kPanelGrain : p.depth();
}

// What is left to do then.
PanelConvolution of_gathered_rows(const PanelConvolution& p) {
  PanelConvolution rows{1, 1, p.rows(), p.depth(), 1, p.rows(), p.out_channels, 1, 1,
                        1, 1, 1,        1,         0, 0};
  rows.panel = p.panel;
  rows.row_stride = gathered_stride(p);
  return rows;
}

// Zeros for what lies outside.
void gather_window(const PanelConvolution& p, const float* image, int64_t top, int64_t left,
                   float* row) {
  for (int64_t i = 0; i < p.kernel_height; ++i) {
    for (int64_t j = 0; j < p.kernel_width; ++j, row += p.in_channels) {
      const int64_t y = top + i * p.dilation_y;
      const int64_t x = left + j * p.dilation_x;
      if (y < 0 || y >= p.height || x < 0 || x >= p.width) {
        std::fill_n(row, p.in_channels, 0.0F);
      } else {
        std::copy_n(image + (y * p.width + x) * p.in_channels, p.in_channels, row);
      }
    }
  }
}

void gather_all_rows(const PanelConvolution& p, const float* source, float* rows) {
  constexpr int64_t kGrain = 8192;  // Floats.
  parallel_for(0, p.rows(), kGrain / p.depth() + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / (p.out_height * p.out_width);
      const int64_t y = row / p.out_width % p.out_height;
      const int64_t x = row % p.out_width;
      gather_window(p, source + image * p.height * p.width * p.in_channels,
                    y * p.stride_y - p.pad_top, x * p.stride_x - p.pad_left,
                    rows + row * gathered_stride(p));
    }
  });
}

// Calls pack(first channel, width, place) for each panel of the weights.
template <typename Pack>
void for_panels(const PanelConvolution& problem, float* packed, const Pack& pack) {
  const int64_t most = problem.panel;
  const int64_t count = panel_count(most, problem.out_channels);
  pack_panels(count, problem.depth() * most, [&](int64_t panel) {
    const int64_t first = panel * most;
    pack(first, panel_width(most, problem.out_channels, first), packed + first * problem.depth());
  });
}

// Of a weight whose rows lie side by side, each thread's panels row by row: a row of one panel
// alone is a quarter of a kilobyte in a page of its own, which comes from memory at a third of the
// pace.
void pack_rows(const PanelConvolution& problem, const float* weight, int64_t row_stride,
               float* packed) {
  const int64_t most = problem.panel;
  const int64_t depth = problem.depth();
  pack_panel_ranges(panel_count(most, problem.out_channels), depth * most,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t k = 0; k < depth; ++k) {
                        for (int64_t first = begin * most; first < end * most; first += most) {
                          const int64_t width = panel_width(most, problem.out_channels, first);
                          const int64_t count = std::min(width, problem.out_channels - first);
                          float* to = packed + first * depth + k * width;
                          std::copy_n(weight + k * row_stride + first, count, to);
                          std::fill_n(to + count, width - count, 0.0F);
                        }
                      }
                    });
}

}  // namespace

bool convolution_gathers_first(const PanelConvolution& p) {
  constexpr int64_t kMostNumbers = int64_t{1} << 18;
  constexpr int64_t kLeastChannels = 4 * kPanelChannels;
  if (p.is_planar) return false;
  if (convolution_reads_lines(p) && p.out_width >= 2 * kConvolutionInside) return false;
  if (convolution_reads_rows(p)) {
    const int64_t bytes = p.source_count() * static_cast<int64_t>(sizeof(float));
    return p.row_stride == 0 && p.out_channels >= kLeastChannels && rows_meet(p.depth()) &&
           2 * bytes <= cache_sizes().last_level;  // Else the copy costs more than it saves.
  }
  return p.kernel_height * p.kernel_width == 1 ||
         (p.rows() * p.depth() <= kMostNumbers && p.out_channels >= kLeastChannels);
}

int64_t gathered_count(const PanelConvolution& problem, int64_t rows) {
  if (convolution_reads_rows(problem)) return 0;
  return problem.is_planar ? kConvolutionDepth * convolution_apart(rows)
                           : kConvolutionStride * rows;
}

int64_t convolution_weight_count(const PanelConvolution& problem) {
  return rounded_up(problem.out_channels, kPanelGrain) * problem.depth();
}

namespace {

// Some input channels of all columns at a time, so that lines of the cache are read and written
// whole.
void pack_panel(const PanelConvolution& problem, const float* weight, int64_t count, int64_t width,
                float* to) {
  constexpr int64_t kTogether = 16;
  const int64_t windows = problem.kernel_height * problem.kernel_width;
  const int64_t channels = problem.in_channels;
  if (windows == 1 && count == width) return turn_lines(width, channels, weight, channels, to);
  if (count < width) std::fill_n(to, problem.depth() * width, 0.0F);
  for (int64_t begin = 0; begin < channels; begin += kTogether) {
    const int64_t end = std::min(channels, begin + kTogether);
    for (int64_t o = 0; o < count; ++o) {
      const float* from = weight + (o * channels + begin) * windows;
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t k = 0; k < windows; ++k) to[(k * channels + c) * width + o] = *from++;
      }
    }
  }
}

}  // namespace

void pack_convolution_weight(const PanelConvolution& problem, const float* weight,
                             const float* factors, float* packed) {
  const int64_t depth = problem.depth();
  for_panels(problem, packed, [&](int64_t first, int64_t width, float* to) {
    const int64_t count = std::min(width, problem.out_channels - first);
    pack_panel(problem, weight + first * depth, count, width, to);
    if (factors != nullptr) multiply_panel(to, depth, width, factors + first, count);
  });
}

void pack_product_weight(const PanelConvolution& problem, const float* weight, int64_t depth_stride,
                         int64_t column_stride, float* packed) {
  if (depth_stride == 1 && column_stride == problem.depth())
    return pack_convolution_weight(problem, weight, nullptr, packed);
  if (column_stride == 1) return pack_rows(problem, weight, depth_stride, packed);
  for_panels(problem, packed, [&](int64_t first, int64_t width, float* to) {
    const int64_t count = std::min(width, problem.out_channels - first);
    for (int64_t k = 0; k < problem.depth(); ++k, to += width) {
      const float* from = weight + k * depth_stride + first * column_stride;
      for (int64_t o = 0; o < count; ++o) to[o] = from[o * column_stride];
      std::fill_n(to + count, width - count, 0.0F);
    }
  });
}

// Each part of the rows reads all weights, each part of the channels all rows. Parts are small
// enough for threads to share the work evenly, and large enough that a panel is worth its way to
// the cache (it comes from memory at the pace of 48 rows) and that gathering rows is little beside
// multiplying them.
ConvolutionPlan plan_convolution(const PanelConvolution& problem, int threads) {
  if (convolution_gathers_first(problem)) {
    ConvolutionPlan plan = plan_convolution(of_gathered_rows(problem), threads);
    plan.gathered = problem.rows() * gathered_stride(problem);
    return plan;
  }
  constexpr int64_t kPartsOfThread = 8;
  constexpr int64_t kLeastRows = 48;
  constexpr int64_t kMostRows = 192;
  ConvolutionPlan plan;
  const int64_t rows = problem.rows();
  const int64_t panels = panel_count(kPanelChannels, problem.out_channels);
  const int64_t wanted = threads > 1 ? threads * kPartsOfThread : 1;
  plan.row_parts = std::clamp(std::min(wanted, rows / kLeastRows), parts_of(rows, kMostRows), rows);
  // One part more than the others have keeps all others waiting.
  if (plan.row_parts > threads)
    plan.row_parts = std::min(rounded_up(plan.row_parts, threads), rows);
  const int64_t panels_of_part = convolution_reads_rows(problem) || rows < kLeastRows ? 1 : 2;
  plan.channel_parts = std::min(parts_of(panels, panels_of_part), parts_of(wanted, plan.row_parts));
  plan.row_parts = evenly_shared(plan.row_parts, plan.channel_parts, rows, threads);
  plan.by_channels = problem.out_channels > rows;
  plan.workers = piece_workers(plan.parts(), threads);
  const int64_t channels = std::min(rounded_up(problem.out_channels, kPanelGrain),
                                    parts_of(panels, plan.channel_parts) * kPanelChannels);
  const bool is_deep = problem.depth() > convolution_part_depth(problem);
  const int64_t each = parts_of(rows, plan.row_parts);
  plan.scratch_of_worker =
      rounded_up(gathered_count(problem, each) + (is_deep ? each * channels : 0), 16);
  return plan;
}

void run_convolution(const PanelConvolution& problem, const ConvolutionPlan& plan,
                     const float* source, const float* weights, const float* bias,
                     std::span<const StoreStep> steps, float* target, float* scratch) {
  if (convolution_gathers_first(problem)) {
    float* rows = scratch + plan.workers * plan.scratch_of_worker;
    gather_all_rows(problem, source, rows);
    return run_convolution(of_gathered_rows(problem), plan, rows, weights, bias, steps, target,
                           scratch);
  }
  const ConvolutionPartFn run = part_function();
  const int64_t panels = panel_count(kPanelChannels, problem.out_channels);
  parallel_pieces(plan.parts(), plan.workers, [&](int64_t i, int64_t worker) {
    const int64_t row_part = plan.by_channels ? i % plan.row_parts : i / plan.channel_parts;
    const int64_t channel_part = plan.by_channels ? i / plan.row_parts : i % plan.channel_parts;
    ConvolutionPart part{};
    part.problem = &problem;
    part.first_row = problem.rows() * row_part / plan.row_parts;
    part.last_row = problem.rows() * (row_part + 1) / plan.row_parts;
    part.first_channel = panels * channel_part / plan.channel_parts * kPanelChannels;
    part.last_channel = std::min(problem.out_channels,
                                 panels * (channel_part + 1) / plan.channel_parts * kPanelChannels);
    part.source = source;
    part.weights = weights;
    part.bias = bias;
    part.steps = steps;
    part.target = target;
    part.scratch = scratch + worker * plan.scratch_of_worker;
    run(part);
  });
}

}  // namespace tierup::kernels::net
