// RecurrentStep: what a recurrent operator of a plan keeps between calls, its matrices packed.
//
// The operators of this kind have twins under tierup:: that take one as their first argument; a
// pass puts these in their place.
#pragma once

#include "tierup/kernels/recurrent/recurrent_weights.h"
#include "tierup/ops/table/holds_memory.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::ops {

class RecurrentStep final : public RefCounted, public HoldsMemory {
 public:
  kernels::RecurrentWeights& weights() { return weights_; }
  size_t held_bytes() const override { return weights_.bytes(); }

 private:
  kernels::RecurrentWeights weights_;
};

}  // namespace tierup::ops
