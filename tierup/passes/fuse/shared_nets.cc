// See shared_nets.h.
#include "tierup/passes/fuse/shared_nets.h"

#include <algorithm>

#include "tierup/ops/regions/same_program.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

Ref<ops::NeuralNet> SharedNets::find(const kernels::net::Program& program,
                                     const std::vector<const ops::Op*>& rows,
                                     const std::vector<TensorFacts>& inputs) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.net->rows() == rows && entry.inputs == inputs &&
           ops::same_program(entry.net->program(), program, ops::is_same_constant_of);
  });
  return found == entries_.end() ? nullptr : found->net;
}

void SharedNets::add(std::vector<TensorFacts> inputs, Ref<ops::NeuralNet> net) {
  entries_.push_back({std::move(inputs), std::move(net)});
}

}  // namespace tierup::passes
