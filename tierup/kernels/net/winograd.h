// Winograd's convolution: 3x3 windows, stride 1, over channels that lie innermost.
//
// A tile of m x m results takes (m + 2)^2 products a pair of channels instead of 9 m^2, all of them
// as (m + 2)^2 matrix products over many tiles. Weights stand in memory as they are given and are
// transformed block by block in the cache: that costs less than reading the transformed ones, 16/9
// or 4 times as many, from memory at each run. Each thread takes a range of tiles or of output
// channels through all stages by itself; nothing waits inside.
//
// Where tiles are few, even the way of transformed weights to the cache and back takes as long as
// the products: they are then transformed in registers, anew for each few tiles
// (few_tiles_body.h).
#pragma once

#include <cstdint>
#include <span>

#include "tierup/base/machine.h"
#include "tierup/kernels/net/store_step.h"

namespace tierup::kernels::net {

struct Winograd {
  int64_t batch, height, width, in_channels;
  int64_t out_height, out_width, out_channels;
  int64_t pad_top, pad_left;
  int tile;                   // m: 2 or 4.
  bool in_registers = false;  // Weights are transformed there; for tiles of 4.

  int64_t tile_rows() const { return (out_height + tile - 1) / tile; }
  int64_t tile_columns() const { return (out_width + tile - 1) / tile; }
  int64_t source_count() const { return batch * height * width * in_channels; }
  int64_t target_count() const { return batch * out_height * out_width * out_channels; }
  int64_t tiles() const { return batch * tile_rows() * tile_columns(); }
};

// Fewer channels, in or out, are not convolved so: transforms take vectors of them.
constexpr int64_t kWinogradChannels = 16;
// Output channels that stand beside each other in packed weights, which the cache's products take.
constexpr int64_t kWinogradPanel = 32;
constexpr int64_t winograd_panel(const Winograd& problem) {
  return problem.in_registers ? kWinogradChannels : kWinogradPanel;
}

// Of the packed weights, in floats: [panel][in channel][9][winograd_panel()].
int64_t winograd_weight_count(const Winograd& problem);
// `weight`: [out, in, 3, 3], dense; `factors`: of the output channels (weight_factors.h), or null.
void pack_winograd_weight(const Winograd& problem, const float* weight, const float* factors,
                          float* packed);

// How the work is cut, for so many threads.
struct WinogradPlan {
  int64_t tile_parts = 1;
  int64_t channel_parts = 1;
  int64_t scratch_of_part = 0;  // Floats.
  int64_t parts() const { return tile_parts * channel_parts; }
  int64_t scratch() const { return parts() * scratch_of_part; }
};
WinogradPlan plan_winograd(const Winograd& problem, int threads);

// `scratch`: scratch_of_part floats for each part. The target's
// channels lie innermost, too.
void run_winograd(const Winograd& problem, const WinogradPlan& plan, const float* source,
                  const float* weights, const float* bias, std::span<const StoreStep> steps,
                  float* target, float* scratch);

// One part's work, per instruction set.
struct WinogradPart {
  const Winograd* problem;
  int64_t first_tile, last_tile;
  int64_t first_channel, last_channel;
  const float* source;
  const float* weights;
  const float* bias;
  std::span<const StoreStep> steps;
  float* target;
  float* scratch;
};
using WinogradPartFn = void (*)(const WinogradPart& part);
WinogradPartFn winograd_part_base();
WinogradPartFn winograd_part_avx2();
WinogradPartFn winograd_part_avx512();

// Tiles that go through the stages together, and the floats of memory that this takes.
struct WinogradBlock {
  int64_t tiles;
  bool keeps_weights;  // All of the part's transformed weights stay in the cache.
  int64_t scratch;
};
// As many tiles as fit a second-level cache of so many bytes, beside their weights.
WinogradBlock winograd_block(const Winograd& problem, int64_t tiles, int64_t channels,
                             int64_t cache_bytes = cache_sizes().second_level);
// From one point's numbers to the next one's, in floats: an odd number of lines of the cache, which
// would have few places for them otherwise.
constexpr int64_t winograd_apart(int64_t count) { return (count + 31) / 32 * 32 + 16; }
// Input channels that are multiplied at a time.
constexpr int64_t kWinogradDepth = 64;

// The same where weights are transformed in registers, and tiles whose sums stand in them together:
// some instruction sets have room for fewer.
constexpr int64_t kFewTilesDepth = 32;
constexpr int64_t kFewTiles = 4;

}  // namespace tierup::kernels::net
