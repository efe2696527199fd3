// How the weights of our own convolutions are cut: into panels of output channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {

// The most output channels that stand beside one another in packed weights, and what work is cut
// by.
constexpr int64_t kPanelChannels = 64;
// Panels have a multiple of this.
constexpr int64_t kPanelGrain = 16;

// Of a panel for a level's kernels, as many as these keep in registers at a time. Of a wider one
// they would read some of each line, and the lines at hand, 256 bytes apart, would meet in a
// quarter of a first-level cache.
constexpr int64_t panel_channels(InstructionSet set) {
  return set == InstructionSet::kAvx512 ? kPanelChannels : kPanelGrain;
}

// Of the panel that begins with channel `first` of so many; the last one may have less than `most`.
constexpr int64_t panel_width(int64_t most, int64_t channels, int64_t first) {
  return std::min(most, (channels - first + kPanelGrain - 1) / kPanelGrain * kPanelGrain);
}
constexpr int64_t panel_count(int64_t most, int64_t channels) {
  return (channels + most - 1) / most;
}

}  // namespace tierup::kernels::net
