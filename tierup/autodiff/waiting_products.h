// WaitingProducts: terms of one gradient that become one product.
//
//   sum + g1' x1 + g2' x2 + ...        =>   sum + cat(g1, g2, ...)' cat(x1, x2, ...)
//
// What a loop over time leaves of a recurrent layer's weights: each step's product is narrow and
// reads and writes the whole sum. Terms wait while their rows take less memory than the sum, so
// little is held and copied. Which terms come together follows from sizes and order alone: a pass
// that is recorded, or traced for a compiled part, sums as any other one does, to the bit.
#pragma once

#include <vector>

#include "tierup/ops/table/run_context.h"
#include "tierup/tensor/tensor.h"

namespace tierup::autodiff {

// Of one sum. One thread.
class WaitingProducts {
 public:
  // sum += a b, now or later. False, and nothing is done, if these are not matrices of f32 or f64
  // whose sizes fit, or nothing has come yet to be added to.
  bool take(Tensor& sum, const Tensor& a, const Tensor& b, ops::RunContext& context);
  // Adds what waits: before anything else is added to the sum, and before anybody reads it.
  void flush(Tensor& sum, ops::RunContext& context);

 private:
  struct Term {
    Tensor a;
    Tensor b;
  };
  Term joined(ops::RunContext& context);

  std::vector<Term> terms_;
  int64_t numbers_ = 0;  // Of all terms.
};

}  // namespace tierup::autodiff
