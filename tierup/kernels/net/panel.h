// How the weights of our own convolutions are cut: into panels of output channels.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tierup::kernels::net {

// Output channels that stand beside one another in packed weights; the last panel may have less.
constexpr int64_t kPanelChannels = 64;
// Panels have a multiple of this.
constexpr int64_t kPanelGrain = 16;

// Of the panel that begins with channel `first` of so many.
constexpr int64_t panel_width(int64_t channels, int64_t first) {
  return std::min(kPanelChannels, (channels - first + kPanelGrain - 1) / kPanelGrain * kPanelGrain);
}
constexpr int64_t panel_count(int64_t channels) {
  return (channels + kPanelChannels - 1) / kPanelChannels;
}

}  // namespace tierup::kernels::net
