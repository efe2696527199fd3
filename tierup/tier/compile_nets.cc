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
              std::span<const ops::NeuralNet* const> older)
      : context_(context), cancelled_(cancelled), older_(older) {}

  void run() {
    while (compile_all() && !cancelled_.load()) passes::form_regions(context_, refusals_);
    if (is_changed_) refusals_.report(context_, context_.graph().block());
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
      if (compiled_.insert(net).second) compile(*net, node->inputs().subspan(1));
      if (net->refused_operation()) refused.push_back(node);
    }
  }

  void compile(ops::NeuralNet& net, std::span<ir::Value* const> inputs) {
    const int threads = context_.target().threads;
    const auto samples = passes::estimate_values(context_, inputs);
    if (!samples || threads == 0) return;
    const auto older = std::ranges::find_if(
        older_, [&](const ops::NeuralNet* other) { return net.differs_in_weights_alone(*other); });
    const bool is_compiled =
        net.prepare(*samples, threads, older != older_.end() ? *older : nullptr);
    context_.count(is_compiled ? "compiled" : "refused_nets");
    if (net.refused_operation()) return;
    for (const std::string& note : net.notes()) context_.note(note);
  }

  void take_apart(ir::Node* region) {
    const ops::NeuralNet& net = *passes::net_of(*region);
    const size_t at = *net.refused_operation();
    const ops::RefusedNet refusal = net.refusals().back();
    const std::vector<ir::Node*> operators = passes::dissolve_region(context_, region);
    refusals_.watch(operators);
    refusals_.exclude(operators.at(at), refusal);
    context_.count("taken_apart");
  }

  passes::PassContext& context_;
  const std::atomic<bool>& cancelled_;
  const std::span<const ops::NeuralNet* const> older_;
  std::unordered_set<const ops::NeuralNet*> compiled_;
  passes::RegionRefusals refusals_;
  bool is_changed_ = false;
};

}  // namespace

void compile_nets(passes::PassContext& context, const std::atomic<bool>& cancelled,
                  std::span<const ops::NeuralNet* const> older) {
  NetCompiler(context, cancelled, older).run();
}

}  // namespace tierup::tier
