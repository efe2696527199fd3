// missing_operators of module_loader.h: a walk over all code that the root's methods can reach.
//
// A call by interface may mean any class that has the method, so all classes of the module tree
// and all that reached code creates are candidates.
#include <unordered_map>
#include <unordered_set>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace tierup::frontend::torchscript {
namespace {

class Reachability {
 public:
  void add_classes_of(const IValue& value);
  void add_method(const ClassType& type, std::string_view name, bool is_conditional) {
    if (const Ref<Callable> method = type.find_method(name)) add(*method, is_conditional);
  }
  std::vector<MissingOperator> walk();

 private:
  struct Task {
    const Callable* callable;
    bool is_conditional;
  };
  // A function that was only reached conditionally is walked again when it turns out otherwise.
  void add(const Callable& callable, bool is_conditional) {
    const auto [found, inserted] = seen_.try_emplace(&callable, is_conditional);
    if (!inserted && (is_conditional || !found->second)) return;
    found->second = is_conditional;
    queue_.push_back({&callable, is_conditional});
  }
  void add_class(const ClassType* type);
  void visit(const ScriptFunction& function, bool is_conditional);
  void visit(const ir::Block& block, bool is_conditional);
  void visit(const ir::Node& node, bool is_conditional);
  void call_by_name(const TypePtr& type, const std::string& name, bool is_conditional);
  void report(MissingOperator missing);

  std::vector<Task> queue_;
  std::unordered_map<const Callable*, bool> seen_;
  std::unordered_set<const void*> seen_values_;
  std::vector<const ClassType*> classes_;
  std::unordered_set<const ClassType*> seen_classes_;
  std::unordered_set<std::string> interface_calls_;
  std::unordered_map<std::string, size_t> reported_;
  std::vector<MissingOperator> result_;
};

void Reachability::report(MissingOperator missing) {
  const auto [found, inserted] =
      reported_.try_emplace(missing.name + '\n' + missing.reason, result_.size());
  if (inserted) {
    result_.push_back(std::move(missing));
  } else if (!missing.is_conditional) {
    result_[found->second].is_conditional = false;
  }
}

void Reachability::add_class(const ClassType* type) {
  if (type == nullptr || !seen_classes_.insert(type).second) return;
  classes_.push_back(type);
  for (const std::string& name : interface_calls_) add_method(*type, name, true);
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

// Which class an interface stands for is not known, so its methods count as conditional.
void Reachability::call_by_name(const TypePtr& type, const std::string& name, bool is_conditional) {
  const ClassType* class_type = type->as_class();
  if (class_type == nullptr) return;
  if (!type->is(TypeKind::kInterface)) {
    add_method(*class_type, name, is_conditional);
    return;
  }
  if (!interface_calls_.insert(name).second) return;
  for (const ClassType* candidate : classes_) add_method(*candidate, name, true);
}

void Reachability::visit(const ir::Node& node, bool is_conditional) {
  switch (node.kind()) {
    case ir::NodeKind::kCallFunction:
      add(*node.attr<Ref<Callable>>(ir::AttrName::kCallee), is_conditional);
      break;
    case ir::NodeKind::kCallMethod:
      call_by_name(node.input()->type(), node.attr<std::string>(ir::AttrName::kName),
                   is_conditional);
      break;
    case ir::NodeKind::kEnter:
      call_by_name(node.input()->type(), "__enter__", is_conditional);
      break;
    case ir::NodeKind::kExit: call_by_name(node.input()->type(), "__exit__", is_conditional); break;
    case ir::NodeKind::kFork:
      visit(node.attr<std::shared_ptr<const ir::Graph>>(ir::AttrName::kCallee)->block(),
            is_conditional);
      break;
    case ir::NodeKind::kCreateObject:
      add_class(node.attr<TypePtr>(ir::AttrName::kType)->as_class());
      break;
    case ir::NodeKind::kConstant: {
      const IValue& value = node.attr<IValue>(ir::AttrName::kValue);
      if (value.is_function()) add(value.to_function(), is_conditional);
      break;
    }
    case ir::NodeKind::kTrap:
      if (!node.has_attr(ir::AttrName::kName)) break;
      report({node.attr<std::string>(ir::AttrName::kName),
              node.attr<std::string>(ir::AttrName::kNote), node.range(), is_conditional});
      break;
    default: break;
  }
  for (const ir::Block* block : node.blocks()) visit(*block, true);
}

void Reachability::visit(const ir::Block& block, bool is_conditional) {
  for (const ir::Node* node : block.nodes()) visit(*node, is_conditional);
}

void Reachability::visit(const ScriptFunction& function, bool is_conditional) {
  try {
    visit(function.graph()->block(), is_conditional);
  } catch (const Error& error) {
    report({function.name(), error.what(), function.file()->range(function.definition().name_span),
            is_conditional});
  }
}

std::vector<MissingOperator> Reachability::walk() {
  for (size_t i = 0; i < queue_.size(); ++i) {
    const Task task = queue_[i];
    const auto* function = dynamic_cast<const ScriptFunction*>(task.callable);
    // A task may be out of date: the function has since been reached unconditionally.
    if (function == nullptr || task.is_conditional != seen_[task.callable]) continue;
    visit(*function, task.is_conditional);
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
    for (const auto& [name, method] : type.methods()) reachability.add_method(type, name, false);
  } else {
    for (const std::string& name : methods) reachability.add_method(type, name, false);
    for (const auto* hooks : {&type.forward_pre_hooks(), &type.forward_hooks()}) {
      for (const std::string& name : *hooks) reachability.add_method(type, name, false);
    }
  }
  return reachability.walk();
}

}  // namespace tierup::frontend::torchscript
