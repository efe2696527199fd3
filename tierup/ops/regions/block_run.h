// BlockRun: a compiled kernel over a whole shape in blocks, whatever its operands are.
//
// For shapes in which runs would be short, or what is looked up changes from element to element:
// operands that do not lie one after another are brought into blocks (block_source.h), so that the
// machine code always goes over long runs. Outputs are contiguous.
#pragma once

#include <optional>

#include "tierup/ops/regions/block_source.h"
#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/kernel_run.h"

namespace tierup::ops {

class BlockRun {
 public:
  // `loads` is null if nothing is looked up. Refers to all of them.
  BlockRun(const KernelRun& plan, IntSpan shape, std::span<const Tensor> outputs,
           std::span<const Tensor> operands, const Loads* loads);

  // Over threads above `grain` elements. False if an index is out of range; then outputs are
  // undefined.
  bool run(int64_t grain) const;

 private:
  // Its first element, or the one that it has; else it goes through blocks.
  struct Operand {
    char* data = nullptr;
    int64_t step = 0;
    std::optional<BlockSource> source;
  };

  bool run_range(int64_t begin, int64_t end) const;

  const KernelRun& plan_;
  int64_t count_;
  SmallVector<Operand, 8> operands_;  // Outputs first.
};

}  // namespace tierup::ops
