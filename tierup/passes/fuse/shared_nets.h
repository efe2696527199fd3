// SharedNets: lines of layers that are the same have one net among them.
//
// A loop that was written out makes the same line again and again, over the same weights. One net
// for all of them is compiled once, packs the weights once, and keeps them in the nearest cache.
// Lines that were seen with other sizes have nets of their own, so that a net's sizes do not push
// each other out.
#pragma once

#include <vector>

#include "tierup/ops/regions/neural_net.h"

namespace tierup::passes {

class SharedNets {
 public:
  // The net of an equal line whose inputs looked like these; null if there is none.
  Ref<ops::NeuralNet> find(const kernels::net::Program& program,
                           const std::vector<const ops::Op*>& rows,
                           const std::vector<TensorFacts>& inputs) const;
  void add(std::vector<TensorFacts> inputs, Ref<ops::NeuralNet> net);

 private:
  struct Entry {
    std::vector<TensorFacts> inputs;
    Ref<ops::NeuralNet> net;
  };
  std::vector<Entry> entries_;
};

}  // namespace tierup::passes
