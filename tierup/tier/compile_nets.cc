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
  NetCompiler(passes::PassContext& context, const std::atomic<bool>& cancelled)
      : context_(context), cancelled_(cancelled) {}

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
    context_.count(net.prepare(*samples, threads) ? "compiled" : "refused_nets");
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
  std::unordered_set<const ops::NeuralNet*> compiled_;
  passes::RegionRefusals refusals_;
  bool is_changed_ = false;
};

}  // namespace

void compile_nets(passes::PassContext& context, const std::atomic<bool>& cancelled) {
  NetCompiler(context, cancelled).run();
}

}  // namespace tierup::tier
