// FusedLoop: one run of a compiled group of point-wise members over actual tensors.
//
// The traversal is that of every point-wise kernel (strided_loop.h); what is looked up goes along
// as two operands, table and index.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/kernel_run.h"

namespace tierup::ops {

class FusedLoop {
 public:
  static constexpr size_t kMaxOperands = KernelRun::kMaxOperands;

  // Takes the input tensors out of `inputs`; they go back if the loop does not run.
  FusedLoop(const CompiledGroup& kernel, const GroupProgram& program,
            const std::vector<std::vector<uint32_t>>& support, std::span<IValue> inputs);
  FusedLoop(const FusedLoop&) = delete;
  FusedLoop& operator=(const FusedLoop&) = delete;
  ~FusedLoop();

  // False, with nothing done, if the shapes do not broadcast to one that all outputs have, the
  // inputs' layout is not the kernel's, or an index is out of range. Else the outputs go to
  // `results`.
  bool run(std::span<IValue> results);

 private:
  bool find_views();
  bool find_shape();
  bool find_viewed_shape();
  bool has_shape(const std::vector<uint32_t>& support) const;
  bool is_uniform_enough(const CompiledKernel& stage, const kernels::StridedLoop& loop) const;
  bool run_stage(const CompiledKernel& stage, IntSpan shape, std::span<const Tensor> outputs,
                 std::span<const Tensor> operands, const Loads* loads) const;
  bool run_part(uint32_t part) const;
  void make_outputs();
  Tensor reuse_input(ScalarType dtype);
  std::vector<IntVector> output_strides() const;
  bool lies_in_order() const;

  const CompiledGroup& kernel_;
  const GroupProgram& program_;
  const std::vector<std::vector<uint32_t>>& support_;
  std::span<IValue> homes_;
  SmallVector<Tensor, 8> inputs_;
  std::optional<GroupLoads> viewed_;  // If there are views, joined values or look-ups.
  std::vector<Loads> loads_;          // Then what stands for each stage's inputs.
  SmallVector<Tensor, 2> outputs_;
  IntVector shape_;
  bool all_plain_ = true;  // Every input is contiguous and of the loop's shape, or a 0-dim one.
};

}  // namespace tierup::ops
