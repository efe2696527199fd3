// FinishedRows: a layer that writes its result block by block, each of which its epilogue is done
// on before it leaves the nearest cache.
#pragma once

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/step_loops.h"

namespace tierup::kernels::net {

struct Emitter::FinishedRows {
  BufferLayout target;
  BufferLayout summand;  // The target itself where there is none.
  std::vector<StoreStep> steps;

  // write(first row, how many, where to) for blocks of so many rows.
  template <typename Write>
  void run(Bases bases, int64_t rows, int64_t width, const Write& write) const {
    constexpr int64_t kBlock = 4096;  // Numbers.
    constexpr int64_t kGrain = 16384;
    const StepLoops loops = step_loops();
    const int64_t each = std::max<int64_t>(1, kBlock / width);
    const int64_t blocks = (rows + each - 1) / each;
    float* y = at(bases, target);
    const float* added = at(bases, summand);
    parallel_for(
        0, blocks, std::max<int64_t>(1, kGrain / (each * width)), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i * each;
            const int64_t count = std::min(each, rows - first);
            write(first, count, y + first * width);
            apply_steps(loops, steps, added + first * width, count * width, y + first * width);
          }
        });
  }
};

}  // namespace tierup::kernels::net
