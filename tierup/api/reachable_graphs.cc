#include "tierup/api/reachable_graphs.h"

#include <unordered_set>

namespace tierup::api {
namespace {

class Walk {
 public:
  Walk(const GraphOf& graph_of, const std::function<void(const ir::Node&)>& visit)
      : graph_of_(graph_of), visit_(visit) {}

  void add(const Callable& callable) {
    if (seen_.insert(&callable).second) queue_.push_back(&ir::as_function(callable));
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
      const ir::Function* function = queue_.back();
      queue_.pop_back();
      visit(graph_of_(*function).block());
    }
  }

 private:
  void visit(const ir::Block& block) {
    for (const ir::Node* node : block.nodes()) {
      visit_(*node);
      if (node->is(ir::NodeKind::kCallFunction)) {
        add(*node->attr<Ref<Callable>>(ir::AttrName::kCallee));
      }
      if (node->is(ir::NodeKind::kCallMethod)) visit_method(*node);
      if (node->is(ir::NodeKind::kFork)) {
        visit(node->attr<std::shared_ptr<const ir::Graph>>(ir::AttrName::kCallee)->block());
      }
      for (const ir::Block* inner : node->blocks()) visit(*inner);
    }
  }

  void visit_method(const ir::Node& node) {
    const std::string& name = node.attr<std::string>(ir::AttrName::kName);
    const TypePtr& type = node.input(0)->type();
    if (type->is(TypeKind::kClass)) {
      if (const Ref<Callable> method = type->as_class()->find_method(name)) add(*method);
    } else {
      for (const Ref<Callable>& method : methods_[name]) add(*method);
    }
  }

  const GraphOf& graph_of_;
  const std::function<void(const ir::Node&)>& visit_;
  std::vector<const ir::Function*> queue_;
  std::unordered_set<const Callable*> seen_;
  std::unordered_set<const ObjectValue*> objects_;
  std::map<std::string, std::vector<Ref<Callable>>> methods_;
};

}  // namespace

void visit_reachable(const Model& model, const GraphOf& graph_of,
                     const std::function<void(const ir::Node&)>& visit) {
  Walk walk(graph_of, visit);
  walk.add_objects(*model.root());
  for (const ir::Function* method : model.methods()) walk.add(*method);
  walk.run();
}

std::map<std::string, size_t> count_operators(const Model& model) {
  std::map<std::string, size_t> counts;
  visit_reachable(
      model, [](const ir::Function& function) -> const ir::Graph& { return *function.graph(); },
      [&](const ir::Node& node) {
        if (node.op() != nullptr) ++counts[node.op()->schema().qualified_name()];
      });
  return counts;
}

}  // namespace tierup::api
