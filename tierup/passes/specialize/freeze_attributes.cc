#include "tierup/passes/specialize/freeze_attributes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tierup/analysis/effects.h"
#include "tierup/passes/core/value_queries.h"

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
    for (const auto& [node, holder] : read_) read_first(node, holder);
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
      if (observer_.reads_tensors && holder->second->slots[*slot].is_tensor()) {
        read_.emplace_back(node, holder->second.get());
        return;
      }
      observer_.attribute(holder->second, *slot);
      const IValue value = holder->second->slots[*slot];
      if (value.is_object()) {
        objects_.emplace(node->output(), value.object_ref());
        holders_.emplace(&value.to_object(), std::pair(holder->second.get(), name));
      } else if (value.is_tensor() && !alias.has_writers(node->output())) {
        observer_.tensor(value.to_tensor());
        frozen_.emplace_back(node, value);
      } else if (is_plain(value)) {
        frozen_.emplace_back(node, value);
      } else if (observer_.list && value.is_list() &&
                 is_kept_list(node->output(), value.to_list().items, alias)) {
        observer_.list(value.list_ref());
        const ListValue& list = value.to_list();
        frozen_.emplace_back(node, IValue(make_ref<ListValue>(list.element, list.items)));
      } else {
        context_.count("kept");
      }
    });
  }

  // A short list of numbers or names that the graph reads and never changes or hands out: the
  // dilations of a stack of layers.
  static bool is_kept_list(const Value* read, const std::vector<IValue>& items,
                           const analysis::AliasAnalysis& alias) {
    constexpr size_t kMostItems = 64;  // They are compared in each call.
    return items.size() <= kMostItems && std::all_of(items.begin(), items.end(), is_plain) &&
           !alias.has_writers(read) && is_read_by_items(read);
  }

  // Moves a read to the beginning of the graph; equal ones become one.
  void read_first(Node* node, const ObjectValue* holder) {
    const auto key = std::pair(holder, node->attr<std::string>(AttrName::kName));
    Value*& first = reads_[key];
    if (first == nullptr) first = attribute_of(holder, key.second, node->output()->type());
    context_.editor().replace_uses(node->output(), first);
    if (node == begin_) begin_ = node->next();
    context_.editor().remove(node);
    context_.count("read");
  }

  Value* attribute_of(const ObjectValue* holder, const std::string& name, const TypePtr& type) {
    Value* object = value_of(holder);
    ir::GraphEditor& editor = context_.editor();
    if (begin_ == nullptr) begin_ = context_.graph().block().first();
    if (begin_ != nullptr) {
      editor.set_insert_before(begin_);
    } else {
      editor.set_insert_end(&context_.graph().block());
    }
    editor.set_range({});
    Node* read = editor.create(NodeKind::kGetAttr, {object});
    editor.set_attr(read, AttrName::kName, name);
    return editor.add_output(read, type, name);
  }

  // The module's value, or a read of a submodule at the beginning.
  Value* value_of(const ObjectValue* object) {
    const auto place = holders_.find(object);
    if (place == holders_.end()) return context_.graph().inputs()[0];
    const auto& [holder, name] = place->second;
    Value*& first = reads_[{holder, name}];
    if (first == nullptr) {
      const auto slot = holder->type->find_attribute(name);
      first = attribute_of(holder, name, holder->type->attributes()[*slot].type);
    }
    return first;
  }

  void replace(Node* node, const IValue& value) {
    ir::GraphEditor& editor = context_.editor();
    editor.set_insert_before(node);
    editor.set_range(node->range());
    Value* output = node->output();
    // What is known of an attribute that is a tensor stays known where a structure holds it.
    const bool keeps_type = value.is_tensor() && output->type()->is(TypeKind::kTensor);
    Value* constant = editor.constant(value, value.is_none() ? Type::none()
                                             : keeps_type    ? output->type()
                                                             : value.type());
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
  // Of tensors that are read first: their nodes; where submodules were found; what was read.
  std::vector<std::pair<Node*, const ObjectValue*>> read_;
  std::unordered_map<const ObjectValue*, std::pair<const ObjectValue*, std::string>> holders_;
  std::map<std::pair<const ObjectValue*, std::string>, Value*> reads_;
  Node* begin_ = nullptr;
};

}  // namespace

void freeze_attributes(PassContext& context, const Ref<ObjectValue>& self,
                       const ConstantObserver& observer) {
  Freezer(context, self, observer).run();
}

}  // namespace tierup::passes
