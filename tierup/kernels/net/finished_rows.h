// FinishedRows: a layer that writes its result block by block, each of which its epilogue is done
// on before it leaves the nearest cache.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/step_loops.h"

namespace tierup::kernels::net {

// write(first row, how many, where to) for blocks of so many rows, and the steps on each.
template <typename Write>
void run_finished_rows(int64_t rows, int64_t width, std::span<const StoreStep> steps,
                       const float* summand, float* target, const Write& write) {
  constexpr int64_t kBlock = 4096;  // Numbers.
  const StepLoops loops = step_loops();
  const int64_t each = std::max<int64_t>(1, kBlock / width);
  const int64_t blocks = (rows + each - 1) / each;
  parallel_for(0, blocks, grain_of(each * width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * each;
      const int64_t count = std::min(each, rows - first);
      write(first, count, target + first * width);
      apply_steps(loops, steps, summand + first * width, count * width, target + first * width);
    }
  });
}

struct Emitter::FinishedRows {
  BufferLayout target;
  BufferLayout summand;  // The target itself where there is none.
  std::vector<StoreStep> steps;

  template <typename Write>
  void run(Bases bases, int64_t rows, int64_t width, const Write& write) const {
    run_finished_rows(rows, width, steps, at(bases, summand), at(bases, target), write);
  }
};

}  // namespace tierup::kernels::net
