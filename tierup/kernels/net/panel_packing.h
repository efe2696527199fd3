// Weights packed as panels, by several threads where there are many.
#pragma once

#include <cstdint>

#include "tierup/base/parallel.h"

namespace tierup::kernels::net {

// Calls pack(panel) for each of so many panels of `floats` numbers: many threads share the fresh
// pages of large weights, which take longer to be made than to be filled.
template <typename Pack>
void pack_panels(int64_t panels, int64_t floats, const Pack& pack) {
  constexpr int64_t kGrain = int64_t{1} << 16;  // Floats: a team of threads is worth them.
  parallel_for(0, panels, kGrain / floats + 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) pack(panel);
  });
}

}  // namespace tierup::kernels::net
