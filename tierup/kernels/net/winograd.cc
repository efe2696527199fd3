#include "tierup/kernels/net/winograd.h"

#include <algorithm>
#include <cstring>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/net/panel_packing.h"
#include "tierup/kernels/net/weight_factors.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

WinogradPartFn part_function() {
  return TIERUP_VARIANT(instruction_set(), winograd_part_base, winograd_part_avx2,
                        winograd_part_avx512)();
}

int64_t points_of(int tile) { return int64_t{tile + 2} * (tile + 2); }
int64_t rounded_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

int64_t panels_of(const Winograd& problem) {
  return (problem.out_channels - 1) / winograd_panel(problem) + 1;
}

struct Range {
  int64_t begin, end;
};

Range tiles_of(const Winograd& problem, const WinogradPlan& plan, int64_t part) {
  const int64_t place = part / plan.channel_parts;
  return {problem.tiles() * place / plan.tile_parts,
          problem.tiles() * (place + 1) / plan.tile_parts};
}

Range channels_of(const Winograd& problem, const WinogradPlan& plan, int64_t part) {
  const int64_t width = winograd_panel(problem);
  const int64_t panels = panels_of(problem);
  const int64_t place = part % plan.channel_parts;
  return {panels * place / plan.channel_parts * width,
          std::min(problem.out_channels, panels * (place + 1) / plan.channel_parts * width)};
}

// Floats of transformed inputs, where weights are transformed in registers.
int64_t few_tiles_scratch(const Winograd& problem) {
  return rounded_up(problem.tiles(), kFewTiles) * points_of(problem.tile) *
         rounded_up(problem.in_channels, kFewTilesDepth);
}

}  // namespace

int64_t winograd_weight_count(const Winograd& problem) {
  return panels_of(problem) * winograd_panel(problem) * problem.in_channels * 9;
}

// Some input channels of all columns at a time: see pack_convolution_weight.
void pack_winograd_weight(const Winograd& problem, const float* weight, const float* factors,
                          float* packed) {
  constexpr int64_t kTogether = 16;
  const int64_t width = winograd_panel(problem);
  const int64_t in_channels = problem.in_channels;
  pack_panels(panels_of(problem), in_channels * 9 * width, [&](int64_t index) {
    const int64_t first = index * width;
    const int64_t count = std::min(width, problem.out_channels - first);
    float* panel = packed + first * in_channels * 9;
    if (count < width) std::fill_n(panel, in_channels * 9 * width, 0.0F);
    for (int64_t begin = 0; begin < in_channels; begin += kTogether) {
      const int64_t numbers = std::min(in_channels - begin, kTogether) * 9;
      float* to = panel + begin * 9 * width;
      turn_rows(to, width, weight + (first * in_channels + begin) * 9, in_channels * 9, count,
                numbers);
      if (factors != nullptr) multiply_panel(to, numbers, width, factors + first, count);
    }
  });
}

WinogradBlock winograd_block(const Winograd& problem, int64_t tiles, int64_t channels,
                             int64_t cache_bytes) {
  // Some of the cache is for sources and targets on their way.
  const int64_t cached = cache_bytes / static_cast<int64_t>(sizeof(float)) * 5 / 6;
  const int64_t kept = cached * 3 / 4;  // Of weights among them.
  const int64_t points = points_of(problem.tile);
  const int64_t columns = rounded_up(channels, kWinogradPanel);
  const int64_t block_weights = points * winograd_apart(kWinogradDepth * kWinogradPanel);
  const int64_t all_weights = (problem.in_channels + kWinogradDepth - 1) / kWinogradDepth *
                              (columns / kWinogradPanel) * block_weights;
  const bool keeps = all_weights <= kept;
  const int64_t weights = keeps ? all_weights : block_weights;
  const int64_t each = points * (kWinogradDepth + columns);
  const int64_t most = std::max<int64_t>(14, (cached - weights) / each);
  const int64_t blocks = (tiles + most - 1) / most;
  const int64_t at_a_time = (tiles + blocks - 1) / blocks;
  return {at_a_time, keeps,
          weights + points * (winograd_apart(at_a_time * kWinogradDepth) +
                              winograd_apart(at_a_time * columns))};
}

// Over output channels where there are weights for it: each part then reads its own ones, and only
// the inputs' transform is done more than once.
WinogradPlan plan_winograd(const Winograd& problem, int threads) {
  constexpr int64_t kChannelsOfPart = 64;
  WinogradPlan plan;
  const int64_t panels = panels_of(problem);
  if (problem.in_registers) {
    plan.channel_parts = std::min<int64_t>(threads, panels);
    plan.scratch_of_part = few_tiles_scratch(problem);
    return plan;
  }
  const bool by_tiles = problem.out_channels < kChannelsOfPart * threads;
  if (by_tiles) {
    plan.tile_parts = std::min<int64_t>(threads, problem.tiles());
  } else {
    plan.channel_parts = std::min<int64_t>(threads, panels);
  }
  // A smaller part may take more: one whose weights fit keeps them all.
  for (int64_t i = 0; i < plan.parts(); ++i) {
    const Range tiles = tiles_of(problem, plan, i);
    const Range channels = channels_of(problem, plan, i);
    const WinogradBlock block =
        winograd_block(problem, tiles.end - tiles.begin, channels.end - channels.begin);
    plan.scratch_of_part = std::max(plan.scratch_of_part, rounded_up(block.scratch, 16));
  }
  return plan;
}

void run_winograd(const Winograd& problem, const WinogradPlan& plan, const float* source,
                  const float* weights, const float* bias, std::span<const StoreStep> steps,
                  float* target, float* scratch) {
  const WinogradPartFn run = part_function();
  parallel_for(0, plan.parts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Range tiles = tiles_of(problem, plan, i);
      const Range channels = channels_of(problem, plan, i);
      WinogradPart part{};
      part.problem = &problem;
      part.first_tile = tiles.begin;
      part.last_tile = tiles.end;
      part.first_channel = channels.begin;
      part.last_channel = channels.end;
      part.source = source;
      part.weights = weights;
      part.bias = bias;
      part.steps = steps;
      part.target = target;
      part.scratch = scratch + i * plan.scratch_of_part;
      run(part);
    }
  });
}

}  // namespace tierup::kernels::net
