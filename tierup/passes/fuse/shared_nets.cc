// See shared_nets.h.
#include "tierup/passes/fuse/shared_nets.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using kernels::net::Arg;
using kernels::net::Op;
using kernels::net::Program;

namespace {

bool same_argument(const Arg& a, const Arg& b) {
  return a.value == b.value && (a.is_value() || same_constant(a.constant, b.constant));
}

bool same_op(const Op& a, const Op& b) {
  return a.kind == b.kind && a.keeps_shape == b.keeps_shape && a.result_count == b.result_count &&
         a.outputs == b.outputs && a.last_reads == b.last_reads &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), same_argument);
}

bool same_program(const Program& a, const Program& b) {
  return a.value_count == b.value_count && a.inputs == b.inputs && a.outputs == b.outputs &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op);
}

}  // namespace

Ref<ops::NeuralNet> SharedNets::find(const Program& program,
                                     const std::vector<const ops::Op*>& rows,
                                     const std::vector<TensorFacts>& inputs) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.net->rows() == rows && entry.inputs == inputs &&
           same_program(entry.net->program(), program);
  });
  return found == entries_.end() ? nullptr : found->net;
}

void SharedNets::add(std::vector<TensorFacts> inputs, Ref<ops::NeuralNet> net) {
  entries_.push_back({std::move(inputs), std::move(net)});
}

}  // namespace tierup::passes
