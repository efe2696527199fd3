#include "tierup/api/model/reachable_graphs.h"

#include <unordered_map>
#include <unordered_set>

namespace tierup::api {
namespace {

class Walk {
 public:
  Walk(const GraphOf& graph_of, const NodeVisitor& visit) : graph_of_(graph_of), visit_(visit) {}

  void add(const Callable& callable, bool is_conditional) {
    const auto [found, inserted] = seen_.try_emplace(&callable, is_conditional);
    if (!inserted && (is_conditional || !found->second)) return;
    found->second = is_conditional;
    queue_.push_back({&ir::as_function(callable), is_conditional});
  }

  // An interface's method may be any class's: those of all objects in the module tree.
  void add_objects(const ObjectValue& object) {
    if (!objects_.insert(&object).second) return;
    for (const auto& [name, method] : object.type->methods()) methods_[name].push_back(method);
    for (const IValue& slot : object.slots) {
      if (slot.is_object()) add_objects(slot.to_object());
    }
  }

  void run() {
    while (!queue_.empty()) {
      const Task task = queue_.back();
      queue_.pop_back();
      visit(graph_of_(*task.function).block(), task.is_conditional);
    }
  }

 private:
  struct Task {
    const ir::Function* function;
    bool is_conditional;
  };

  void visit(const ir::Block& block, bool is_conditional) {
    for (const ir::Node* node : block.nodes()) {
      visit_(*node, is_conditional);
      switch (node->kind()) {
        case ir::NodeKind::kCallFunction:
          add(*node->attr<Ref<Callable>>(ir::AttrName::kCallee), is_conditional);
          break;
        case ir::NodeKind::kCallMethod:
          visit_method(*node, node->attr<std::string>(ir::AttrName::kName), is_conditional);
          break;
        case ir::NodeKind::kEnter: visit_method(*node, "__enter__", is_conditional); break;
        case ir::NodeKind::kExit: visit_method(*node, "__exit__", is_conditional); break;
        case ir::NodeKind::kFork:
          visit(node->attr<std::shared_ptr<const ir::Graph>>(ir::AttrName::kCallee)->block(),
                is_conditional);
          break;
        default: break;
      }
      for (const ir::Block* inner : node->blocks()) visit(*inner, true);
    }
  }

  void visit_method(const ir::Node& node, const std::string& name, bool is_conditional) {
    const TypePtr& type = node.input(0)->type();
    if (type->is(TypeKind::kClass)) {
      if (const Ref<Callable> method = type->as_class()->find_method(name)) {
        add(*method, is_conditional);
      }
    } else {
      for (const Ref<Callable>& method : methods_[name]) add(*method, true);
    }
  }

  const GraphOf& graph_of_;
  const NodeVisitor& visit_;
  std::vector<Task> queue_;
  std::unordered_map<const Callable*, bool> seen_;
  std::unordered_set<const ObjectValue*> objects_;
  std::map<std::string, std::vector<Ref<Callable>>> methods_;
};

}  // namespace

void visit_reachable(const Model& model, const GraphOf& graph_of, const NodeVisitor& visit) {
  Walk walk(graph_of, visit);
  walk.add_objects(*model.root());
  for (const ir::Function* method : model.methods()) walk.add(*method, false);
  walk.run();
}

std::map<std::string, size_t> count_operators(const Model& model) {
  std::map<std::string, size_t> counts;
  std::unordered_set<const ir::Node*> counted;
  visit_reachable(
      model, [](const ir::Function& function) -> const ir::Graph& { return *function.graph(); },
      [&](const ir::Node& node, bool) {
        if (node.op() != nullptr && counted.insert(&node).second) {
          ++counts[node.op()->schema().qualified_name()];
        }
      });
  return counts;
}

}  // namespace tierup::api
