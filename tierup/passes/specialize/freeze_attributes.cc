#include "tierup/passes/specialize/freeze_attributes.h"
#include "tierup/analysis/effects.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tierup::passes {
namespace {

using ir::AttrName;
using ir::Node;
using ir::NodeKind;
using ir::Value;

template <typename Visit>
void each_node(const ir::Block& block, const Visit& visit) {
  for (Node* node : block.nodes()) {
    visit(node);
    for (const ir::Block* inner : node->blocks()) each_node(*inner, visit);
  }
}

// Values without identity that a constant can hold.
bool is_plain(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::kNone:
    case IValue::Tag::kInt:
    case IValue::Tag::kFloat:
    case IValue::Tag::kBool:
    case IValue::Tag::kDevice:
    case IValue::Tag::kStr:
    case IValue::Tag::kComplex:
    case IValue::Tag::kEnum: return true;
    case IValue::Tag::kTuple: {
      const auto& items = value.to_tuple().items;
      return std::all_of(items.begin(), items.end(), is_plain);
    }
    default: return false;
  }
}

class Freezer {
 public:
  Freezer(PassContext& context, const Ref<ObjectValue>& self, const ConstantObserver& observer)
      : context_(context), observer_(observer) {
    objects_.emplace(context.graph().inputs()[0], self);
  }

  void run() {
    if (!find_writes()) return;
    choose(context_.alias());
    for (const auto& [node, value] : frozen_) replace(node, value);
  }

 private:
  // Names that the graph sets; false if it calls code that may set anything.
  bool find_writes() {
    bool closed = true;
    each_node(context_.graph().block(), [&](const Node* node) {
      if (node->is(NodeKind::kSetAttr)) written_.insert(node->attr<std::string>(AttrName::kName));
      closed = closed && !node->is(NodeKind::kCallFunction) && !node->is(NodeKind::kCallMethod) &&
               !node->is(NodeKind::kFork) &&
               (analysis::is_region_mark(*node) ||
                (!node->is(NodeKind::kEnter) && !node->is(NodeKind::kExit)));
    });
    if (!closed) context_.count("kept");
    return closed;
  }

  // Decides first, by the alias sets of the graph as it stands, and edits afterwards.
  void choose(const analysis::AliasAnalysis& alias) {
    each_node(context_.graph().block(), [&](Node* node) {
      if (!node->is(NodeKind::kGetAttr)) return;
      const auto holder = objects_.find(node->input());
      if (holder == objects_.end()) return;
      const std::string& name = node->attr<std::string>(AttrName::kName);
      const auto slot = holder->second->type->find_attribute(name);
      if (!slot || written_.contains(name)) {
        context_.count("written");
        return;
      }
      observer_.attribute(holder->second, *slot);
      const IValue value = holder->second->slots[*slot];
      if (value.is_object()) {
        objects_.emplace(node->output(), value.object_ref());
      } else if (value.is_tensor() && !alias.has_writers(node->output())) {
        observer_.storage(value.to_tensor().storage());
        frozen_.emplace_back(node, value);
      } else if (is_plain(value)) {
        frozen_.emplace_back(node, value);
      } else {
        context_.count("kept");
      }
    });
  }

  void replace(Node* node, const IValue& value) {
    ir::GraphEditor& editor = context_.editor();
    editor.set_insert_before(node);
    editor.set_range(node->range());
    Value* output = node->output();
    Value* constant = editor.constant(value, value.is_none() ? Type::none() : value.type());
    editor.set_name(constant, output->name());
    editor.replace_uses(output, constant);
    editor.remove(node);
    context_.count("frozen");
  }

  PassContext& context_;
  const ConstantObserver& observer_;
  std::unordered_map<const Value*, Ref<ObjectValue>> objects_;
  std::set<std::string, std::less<>> written_;
  std::vector<std::pair<Node*, IValue>> frozen_;
};

}  // namespace

void freeze_attributes(PassContext& context, const Ref<ObjectValue>& self,
                       const ConstantObserver& observer) {
  Freezer(context, self, observer).run();
}

}  // namespace tierup::passes
