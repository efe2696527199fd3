// MatrixPlan: where everything of a group with products lies in runs over inputs of certain sizes
// and strides. Made once for each such layout and kept.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tierup/base/recently_used.h"
#include "tierup/ops/regions/input_form.h"
#include "tierup/ops/regions/matrix_meta_tensors.h"
#include "tierup/ops/regions/matrix_stage.h"

namespace tierup::ops {

struct MatrixPlan final : public RefCounted, public UseMark {
  // Something that a stage reads or writes: of an input or a member, from its first element on.
  struct Place {
    uint32_t value = 0;  // Inputs first, then members.
    int64_t offset = 0;  // In bytes.
  };
  // An argument of a row member.
  struct Argument {
    Tensor layout;          // Without data; undefined for a constant.
    bool is_whole = false;  // An input as it is.
  };
  struct Step {
    const MatrixStage* stage = nullptr;
    std::vector<Place> places;  // Of a kernel.
    std::vector<int64_t> strides;
    std::vector<int64_t> sizes;
    std::vector<Argument> arguments;  // Of a row member.
  };
  struct Output {
    IntVector sizes;
    IntVector strides;
    bool is_contiguous = true;
  };

  bool fits = false;              // Else the twin is to run.
  std::vector<InputForm> inputs;  // Of the call.
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::vector<int64_t> scratch;  // By member: where it begins, or -1.
  int64_t scratch_bytes = 0;
  bool has_calls = false;  // Of row members, which read tensors.
};

// The call's inputs, then the group's constants; borrowed.
using MatrixInputs = SmallVector<const TensorImpl*, 16>;

Ref<const MatrixPlan> plan_of(const GroupProgram& program, const CompiledMatrices& kernels,
                              const MatrixInputs& inputs);

// The plans of a group. Readers never wait.
class MatrixPlans {
 public:
  // That of these inputs, made if there is none.
  Ref<const MatrixPlan> find(const GroupProgram& program, const CompiledMatrices& kernels,
                             const MatrixInputs& inputs) const;

 private:
  static constexpr size_t kMost = 16;

  mutable RecentlyUsed<MatrixPlan> plans_;
  mutable std::mutex mutex_;  // Of those who add.
};

}  // namespace tierup::ops
