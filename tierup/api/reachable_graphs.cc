#include "tierup/api/reachable_graphs.h"

#include <unordered_set>

namespace tierup::api {
namespace {

class Walk {
 public:
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

  std::map<std::string, size_t> run() {
    while (!queue_.empty()) {
      const ir::Function* function = queue_.back();
      queue_.pop_back();
      visit(function->graph()->block());
    }
    return std::move(counts_);
  }

 private:
  void visit(const ir::Block& block) {
    for (const ir::Node* node : block.nodes()) {
      if (node->op() != nullptr) ++counts_[node->op()->schema().qualified_name()];
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

  std::vector<const ir::Function*> queue_;
  std::unordered_set<const Callable*> seen_;
  std::unordered_set<const ObjectValue*> objects_;
  std::map<std::string, std::vector<Ref<Callable>>> methods_;
  std::map<std::string, size_t> counts_;
};

}  // namespace

std::map<std::string, size_t> count_operators(const Model& model) {
  Walk walk;
  walk.add_objects(*model.root());
  for (const ir::Function* method : model.methods()) walk.add(*method);
  return walk.run();
}

}  // namespace tierup::api
