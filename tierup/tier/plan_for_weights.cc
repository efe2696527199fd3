#include "tierup/tier/plan_for_weights.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/verifier.h"
#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/ops/rows/recurrent_step.h"
#include "tierup/passes/core/weight_reads.h"
#include "tierup/runtime/lower.h"
#include "tierup/runtime/weight_successors.h"

namespace tierup::tier {
namespace {

using runtime::WeightSuccessors;

bool have_same_numbers(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return true;
  return a.is_contiguous() && b.is_contiguous() && a.bytes() == b.bytes() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// The older plan's graph with successors in the place of weights.
class Successor {
 public:
  Successor(const InstalledPlan& older, const WeightSuccessors& successors)
      : older_(older), successors_(successors) {}

  // Null where a constant has no successor.
  std::shared_ptr<const ir::Graph> graph_of(const ir::Graph& older) {
    const std::shared_ptr<ir::Graph> graph = older.clone();
    ir::GraphEditor editor(*graph);
    return replace(editor, graph->block()) ? graph : nullptr;
  }

 private:
  bool replace(ir::GraphEditor& editor, const ir::Block& block) {
    for (ir::Node* node : block.nodes()) {
      if (!replace_attributes(editor, node)) return false;
      for (const ir::Block* inner : node->blocks()) {
        if (!replace(editor, *inner)) return false;
      }
    }
    return true;
  }

  // The value of a constant, and bodies.
  bool replace_attributes(ir::GraphEditor& editor, ir::Node* node) {
    const std::vector<std::pair<ir::AttrName, ir::AttrValue>> attributes(node->attrs().begin(),
                                                                         node->attrs().end());
    for (const auto& [name, value] : attributes) {
      if (const auto* constant = std::get_if<IValue>(&value)) {
        std::optional<IValue> successor = successor_of(*constant);
        if (!successor) return false;
        editor.set_attr(node, name, std::move(*successor));
      } else if (const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value)) {
        std::shared_ptr<const ir::Graph> successor = graph_of(**body);
        if (successor == nullptr) return false;
        editor.set_attr(node, name, std::move(successor));
      }
    }
    return true;
  }

  std::optional<IValue> successor_of(const IValue& constant) {
    switch (constant.tag()) {
      case IValue::Tag::kTensor: return tensor_after(constant);
      case IValue::Tag::kCapsule: return step_after(constant);
      case IValue::Tag::kList: return if_without_weights(constant, constant.to_list().items);
      case IValue::Tag::kTuple: return if_without_weights(constant, constant.to_tuple().items);
      case IValue::Tag::kDict:
      case IValue::Tag::kObject:
      case IValue::Tag::kFuture: return std::nullopt;
      default: return constant;
    }
  }

  // The program's own constants stay. A view of a weight, made while compiling, is not known.
  std::optional<IValue> tensor_after(const IValue& constant) const {
    const TensorImpl* tensor = constant.tensor_impl();
    if (tensor == nullptr) return constant;
    const bool is_of_weight = older_.guard.observes(tensor->storage.get());
    const Tensor successor = is_of_weight ? successors_.of(*tensor) : constant.to_tensor();
    return successor.defined() ? std::optional<IValue>(successor) : std::nullopt;
  }

  std::optional<IValue> if_without_weights(const IValue& constant,
                                           const std::vector<IValue>& items) {
    for (const IValue& item : items) {
      const std::optional<IValue> successor = successor_of(item);
      if (!successor || !successor->is_same(item)) return std::nullopt;
    }
    return constant;
  }

  // Equal lines of a graph have one step.
  std::optional<IValue> step_after(const IValue& constant) {
    const RefCounted* older = constant.to_capsule();
    const auto known = steps_.find(older);
    if (known != steps_.end()) return known->second;
    std::optional<IValue> successor;
    if (const auto* net = dynamic_cast<const ops::NeuralNet*>(older)) {
      const Ref<ops::NeuralNet> newer =
          net->over([this](const IValue& value) { return successor_of(value); });
      if (newer) successor = IValue::capsule(Ref<RefCounted>(newer.get()));
    } else if (const auto* group = dynamic_cast<const ops::FusionGroup*>(older)) {
      if (!has_weights(group->program())) successor = constant;
    } else if (dynamic_cast<const ops::RecurrentStep*>(older) != nullptr) {
      successor = IValue::capsule(Ref<RefCounted>(make_ref<ops::RecurrentStep>().get()));
    }
    if (successor) steps_.emplace(older, *successor);
    return successor;
  }

  // Beside its inputs. Kernels hold none: they are kept by content.
  bool has_weights(const ops::GroupProgram& program) {
    const auto is_other = [this](const IValue& value) {
      const std::optional<IValue> successor = successor_of(value);
      return !successor || !successor->is_same(value);
    };
    const auto any_in = [&](const ops::GroupMember& member) {
      return std::ranges::any_of(member.arguments, [&](const ops::GroupArgument& argument) {
        return is_other(argument.constant) || is_other(argument.from_back);
      });
    };
    const auto any_before = [&](const ops::ViewChain& chain) {
      return std::ranges::any_of(chain.steps, [&](const ops::ViewStep& step) {
        return std::ranges::any_of(step.rest, is_other);
      });
    };
    return std::ranges::any_of(program.constants,
                               [&](const Tensor& tensor) { return is_other(IValue(tensor)); }) ||
           std::ranges::any_of(program.members, any_in) ||
           std::ranges::any_of(program.chains, any_before);
  }

  const InstalledPlan& older_;
  const WeightSuccessors& successors_;
  std::unordered_map<const RefCounted*, IValue> steps_;
};

// Before any is packed for nothing.
bool serve_other_weights(const InstalledPlan& older) {
  return std::ranges::all_of(older.compiled_steps, [](const ops::HasTwin* step) {
    const auto* net = dynamic_cast<const ops::NeuralNet*>(step);
    return net == nullptr || net->serves_other_weights();
  });
}

// Whether what the older plan may have read of its weights is the same in the new ones.
bool decide_alike(const InstalledPlan& older, const WeightSuccessors& successors) {
  return std::ranges::all_of(successors.tensors(), [&](const WeightSuccessors::Pair& pair) {
    return passes::is_free_weight(*pair.older.impl()) ||
           !older.guard.observes(pair.older.storage().get()) ||
           have_same_numbers(pair.older, pair.newer);
  });
}

}  // namespace

Ref<InstalledPlan> plan_for_weights(const SpecializeRequest& request,
                                    const TieringOptions& options) {
  const InstalledPlan& older = *request.older;
  const bool is_possible = request.self && request.older_self && !older.reads_weights &&
                           older.trial.branched() == nullptr && older.guard.weights_hold();
  if (!is_possible || !serve_other_weights(older)) return nullptr;
  const auto begin = std::chrono::steady_clock::now();
  const WeightSuccessors successors(request.older_self, request.self);
  if (!successors.fit()) return nullptr;
  // First: versions are read before the numbers are.
  std::optional<runtime::EntryGuard> guard = older.guard.over(successors);
  if (!guard || !decide_alike(older, successors)) return nullptr;
  const std::shared_ptr<const ir::Graph> graph =
      Successor(older, successors).graph_of(older.plan->graph());
  if (graph == nullptr) return nullptr;
  if (options.verify_passes) ir::verify_graph(*graph, "other weights");
  const Ref<InstalledPlan> plan = start_plan(request, options);
  plan->guard = std::move(*guard);
  find_holders(graph->block(), *plan);
  plan->has_nets = older.has_nets;
  plan->has_groups = older.has_groups;
  if (older.trial.is_offered(PlanTrial::Contender::kAlone))
    plan->trial.offer(PlanTrial::Contender::kAlone);
  plan->plan = runtime::lower(graph);
  plan->sized.take_layouts(older.sized);
  plan->compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  const auto weights = static_cast<int64_t>(successors.tensors().size());
  plan->steps.push_back({"other_weights", plan->compile_ms, {{"weights", weights}}, {}, {}});
  return plan;
}

}  // namespace tierup::tier
