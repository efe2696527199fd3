// Weights packed as panels, by several threads where there are many.
#pragma once

#include <cstdint>

#include "tierup/base/parallel.h"

namespace tierup::kernels::net {

// Calls pack(first panel, past the last one) for each thread's part of so many panels of `floats`
// numbers.
template <typename Pack>
void pack_panel_ranges(int64_t panels, int64_t floats, const Pack& pack) {
  constexpr int64_t kGrain = int64_t{1} << 16;  // Floats: a team of threads is worth them.
  parallel_for(0, panels, kGrain / floats + 1, pack);
}

// Calls pack(panel) for each of them.
template <typename Pack>
void pack_panels(int64_t panels, int64_t floats, const Pack& pack) {
  pack_panel_ranges(panels, floats, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) pack(panel);
  });
}

}  // namespace tierup::kernels::net
