#include "tierup/tier/compile_nets.h"

#include <unordered_set>
#include <vector>

#include "tierup/passes/core/estimate_value.h"
#include "tierup/passes/fuse/neural_regions.h"
#include "tierup/passes/fuse/region_bodies.h"

namespace tierup::tier {
namespace {

class NetCompiler {
 public:
  NetCompiler(passes::PassContext& context, const std::atomic<bool>& cancelled,
              NetComparison comparison, std::span<const ops::NeuralNet* const> older)
      : context_(context), cancelled_(cancelled), comparison_(comparison), older_(older) {}

  std::vector<Ref<ops::NeuralNet>> run() {
    while (compile_all() && !cancelled_.load()) passes::form_regions(context_, refusals_);
    if (is_changed_) refusals_.report(context_, context_.graph().block());
    return std::move(unconfirmed_);
  }

 private:
  // Whether a region came apart.
  bool compile_all() {
    std::vector<ir::Node*> refused;
    visit(context_.graph().block(), refused);
    for (ir::Node* region : refused) take_apart(region);
    is_changed_ |= !refused.empty();
    return !refused.empty();
  }

  void visit(const ir::Block& block, std::vector<ir::Node*>& refused) {
    for (ir::Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) visit(*inner, refused);
      ops::NeuralNet* net = passes::net_of(*node);
      if (net == nullptr || cancelled_.load()) continue;
      // Equal lines have one net.
      if (compiled_.insert(net).second) compile(*net, *node);
      if (net->refused_operation()) refused.push_back(node);
    }
  }

  void compile(ops::NeuralNet& net, const ir::Node& node) {
    const int threads = context_.target().threads;
    const auto samples = passes::estimate_values(context_, node.inputs().subspan(1));
    if (!samples || threads == 0) return;
    const bool is_compiled = prepare(net, node, *samples, threads);
    context_.count(is_compiled ? "compiled" : "refused_nets");
    if (net.refused_operation()) return;
    for (const std::string& note : net.notes()) context_.note(note);
  }

  bool prepare(ops::NeuralNet& net, const ir::Node& node, std::span<const IValue> samples,
               int threads) {
    const auto older = std::ranges::find_if(
        older_, [&](const ops::NeuralNet* other) { return net.differs_in_weights_alone(*other); });
    if (older != older_.end()) return net.prepare(samples, threads, *older);
    auto strides = comparison_ == NetComparison::kLater
                       ? passes::estimate_strides(context_, node.outputs())
                       : std::nullopt;
    if (!strides) return net.prepare(samples, threads);
    if (!net.prepare_unconfirmed(samples, threads, std::move(*strides))) return false;
    unconfirmed_.emplace_back(&net);
    return true;
  }

  void take_apart(ir::Node* region) {
    const ops::NeuralNet& net = *passes::net_of(*region);
    const size_t at = *net.refused_operation();
    const ops::RefusedNet refusal = net.refusals().back();
    const std::vector<ir::Node*> operators = passes::dissolve_region(context_, region);
    refusals_.watch(operators);
    // A number that is needed outside, too, stood beside its region, and would join the next one in
    // the place of the operator that is excluded.
    const bool is_of_numbers = ops::gives_no_tensor(net.program().ops.at(at).kind);
    for (size_t i = 0; i < operators.size(); ++i) {
      if (i == at || is_of_numbers) refusals_.exclude(operators[i], refusal);
    }
    context_.count("taken_apart");
  }

  passes::PassContext& context_;
  const std::atomic<bool>& cancelled_;
  const NetComparison comparison_;
  const std::span<const ops::NeuralNet* const> older_;
  std::vector<Ref<ops::NeuralNet>> unconfirmed_;
  std::unordered_set<const ops::NeuralNet*> compiled_;
  passes::RegionRefusals refusals_;
  bool is_changed_ = false;
};

}  // namespace

std::vector<Ref<ops::NeuralNet>> compile_nets(passes::PassContext& context,
                                              const std::atomic<bool>& cancelled,
                                              NetComparison comparison,
                                              std::span<const ops::NeuralNet* const> older) {
  return NetCompiler(context, cancelled, comparison, older).run();
}

}  // namespace tierup::tier
