// missing_operators of module_loader.h: a walk over all code that the root's methods can reach.
//
// A call by interface may mean any class that has the method, so all classes of the module tree
// and all that reached code creates are candidates.
#include <unordered_set>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace tierup::frontend::torchscript {
namespace {

class Reachability {
 public:
  void add_classes_of(const IValue& value);
  void add_method(const ClassType& type, std::string_view name) {
    if (const Ref<Callable> method = type.find_method(name)) add(*method);
  }
  std::vector<MissingOperator> walk();

 private:
  void add(const Callable& callable) {
    if (seen_.insert(&callable).second) queue_.push_back(&callable);
  }
  void add_class(const ClassType* type);
  void visit(const ScriptFunction& function);
  void visit(const ir::Block& block);
  void visit(const ir::Node& node);
  void call_by_name(const TypePtr& type, const std::string& name);
  void report(const MissingOperator& missing) {
    if (reported_.insert(missing.name + missing.reason).second) result_.push_back(missing);
  }

  std::vector<const Callable*> queue_;
  std::unordered_set<const Callable*> seen_;
  std::unordered_set<const void*> seen_values_;
  std::vector<const ClassType*> classes_;
  std::unordered_set<const ClassType*> seen_classes_;
  std::unordered_set<std::string> interface_calls_;
  std::unordered_set<std::string> reported_;
  std::vector<MissingOperator> result_;
};

void Reachability::add_class(const ClassType* type) {
  if (type == nullptr || !seen_classes_.insert(type).second) return;
  classes_.push_back(type);
  for (const std::string& name : interface_calls_) add_method(*type, name);
}

void Reachability::add_classes_of(const IValue& root) {
  std::vector<IValue> stack = {root};
  while (!stack.empty()) {
    const IValue value = std::move(stack.back());
    stack.pop_back();
    if (value.is_object()) {
      const ObjectValue& object = value.to_object();
      if (!seen_values_.insert(&object).second) continue;
      add_class(object.type.get());
      stack.insert(stack.end(), object.slots.begin(), object.slots.end());
    } else if (value.is_list() && seen_values_.insert(&value.to_list()).second) {
      if (!value.to_list().element->is(TypeKind::kTensor)) {
        const auto& items = value.to_list().items;
        stack.insert(stack.end(), items.begin(), items.end());
      }
    } else if (value.is_tuple() && seen_values_.insert(&value.to_tuple()).second) {
      const auto& items = value.to_tuple().items;
      stack.insert(stack.end(), items.begin(), items.end());
    } else if (value.is_dict() && seen_values_.insert(&value.to_dict()).second) {
      for (auto& [key, item] : value.to_dict().entries()) stack.push_back(item);
    }
  }
}

void Reachability::call_by_name(const TypePtr& type, const std::string& name) {
  const ClassType* class_type = type->as_class();
  if (class_type == nullptr) return;
  if (!type->is(TypeKind::kInterface)) {
    add_method(*class_type, name);
    return;
  }
  if (!interface_calls_.insert(name).second) return;
  for (const ClassType* candidate : classes_) add_method(*candidate, name);
}

void Reachability::visit(const ir::Node& node) {
  switch (node.kind()) {
    case ir::NodeKind::kCallFunction: add(*node.attr<Ref<Callable>>(ir::AttrName::kCallee)); break;
    case ir::NodeKind::kCallMethod:
      call_by_name(node.input()->type(), node.attr<std::string>(ir::AttrName::kName));
      break;
    case ir::NodeKind::kEnter: call_by_name(node.input()->type(), "__enter__"); break;
    case ir::NodeKind::kExit: call_by_name(node.input()->type(), "__exit__"); break;
    case ir::NodeKind::kFork:
      visit(node.attr<std::shared_ptr<const ir::Graph>>(ir::AttrName::kCallee)->block());
      break;
    case ir::NodeKind::kCreateObject:
      add_class(node.attr<TypePtr>(ir::AttrName::kType)->as_class());
      break;
    case ir::NodeKind::kConstant: {
      const IValue& value = node.attr<IValue>(ir::AttrName::kValue);
      if (value.is_function()) add(value.to_function());
      break;
    }
    default: break;
  }
  for (const ir::Block* block : node.blocks()) visit(*block);
}

void Reachability::visit(const ir::Block& block) {
  for (const ir::Node* node : block.nodes()) visit(*node);
}

void Reachability::visit(const ScriptFunction& function) {
  try {
    for (const MissingOperator& missing : function.missing_operators()) report(missing);
    visit(function.graph()->block());
  } catch (const Error& error) {
    report(
        {function.name(), error.what(), function.file()->range(function.definition().name_span)});
  }
}

std::vector<MissingOperator> Reachability::walk() {
  for (size_t i = 0; i < queue_.size(); ++i) {
    if (const auto* function = dynamic_cast<const ScriptFunction*>(queue_[i])) visit(*function);
  }
  return std::move(result_);
}

}  // namespace

std::vector<MissingOperator> missing_operators(const ObjectValue& root,
                                               const std::vector<std::string>& methods) {
  Reachability reachability;
  reachability.add_classes_of(IValue(Ref<ObjectValue>(const_cast<ObjectValue*>(&root))));
  const ClassType& type = *root.type;
  if (methods.empty()) {
    for (const auto& [name, method] : type.methods()) reachability.add_method(type, name);
  } else {
    for (const std::string& name : methods) reachability.add_method(type, name);
    for (const auto* hooks : {&type.forward_pre_hooks(), &type.forward_hooks()}) {
      for (const std::string& name : *hooks) reachability.add_method(type, name);
    }
  }
  return reachability.walk();
}

}  // namespace tierup::frontend::torchscript
