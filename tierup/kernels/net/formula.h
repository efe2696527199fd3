// Formulas: point-wise work on values of the same sizes, step by step on blocks that stay in the
// nearest cache. Each step is a body of tier 0 in float32, with its bits; results between steps
// never get to memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels::net {

struct FormulaOperand {
  enum class Kind : uint8_t { kInput, kStep, kNumber };
  Kind kind = Kind::kInput;
  uint32_t index = 0;  // Among the layer's inputs, or of an earlier step.
  float number = 0;
  friend bool operator==(const FormulaOperand&, const FormulaOperand&) = default;
};

struct FormulaStep {
  Body body = Body::kIdentity;
  std::vector<FormulaOperand> operands;  // As many as the body takes.
  friend bool operator==(const FormulaStep&, const FormulaStep&) = default;
};

// The last step gives the result.
using Formula = std::vector<FormulaStep>;

// Steps are limited by what of their results stays in the nearest cache.
inline constexpr size_t kMostFormulaSteps = 12;
// Of a formula's inputs.
inline constexpr size_t kMostFormulaInputs = 8;

// `later` with the steps of `earlier` before it, in the place of its input `joined`. The inputs are
// the values that the formulas read; later_inputs becomes those of the result.
Formula join_formulas(const Formula& earlier, std::span<const int> earlier_inputs,
                      const Formula& later, std::vector<int>& later_inputs, int joined);

// A formula ready to run: loops for this processor, numbers written out.
class FormulaRun {
 public:
  explicit FormulaRun(const Formula& formula);
  // On `count` numbers, by all threads; `out` may be one of the inputs.
  void run(std::span<const float* const> inputs, int64_t count, float* out) const;

 private:
  // Numbers of a block: the results of kMostFormulaSteps steps take 24 KiB.
  static constexpr int64_t kBlock = 512;

  void run_block(std::span<const float* const> inputs, int64_t first, int64_t count,
                 float* out) const;

  struct Step {
    BlockRun run;
    std::vector<FormulaOperand> operands;  // Of numbers: `index` among numbers_.
  };
  std::vector<Step> steps_;
  std::vector<std::vector<float>> numbers_;  // A block of each.
};

}  // namespace tierup::kernels::net
