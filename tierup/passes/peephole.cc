// See peephole.h: one function per role, each giving the value that stands for the node's output.
#include "tierup/passes/peephole.h"

#include <algorithm>

#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

class Peephole {
 public:
  explicit Peephole(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      Value* result = simpler(*node);
      if (result == nullptr) continue;
      editor_.replace_uses(node->output(), result);
      editor_.remove(node);
      context_.count("rewritten");
    }
  }

 private:
  // The value to use in the node's stead; null if there is none.
  Value* simpler(Node& node) {
    editor_.set_insert_before(&node);
    switch (role_of(node)) {
      case ops::Role::kNot: return of_not(node);
      case ops::Role::kUnwrapOptional: return of_unwrap(node);
      case ops::Role::kListLength: return of_length(node);
      case ops::Role::kListItem: return of_item(node);
      case ops::Role::kRank: return of_rank(node);
      case ops::Role::kSize: return of_size(node);
      case ops::Role::kSizes: return of_sizes(node);
      case ops::Role::kElementType: return of_element_type(node);
      default: return nullptr;
    }
  }

  static Value* of_not(const Node& node) {
    const Node* inner = node.input()->node();
    if (inner == nullptr || role_of(*inner) != ops::Role::kNot) return nullptr;
    return inner->input();
  }

  static Value* of_unwrap(const Node& node) {
    Value* value = node.input();
    const bool is_plain =
        !is_subtype(Type::none(), value->type()) && !analysis::is_open(*value->type());
    return is_plain && equal(value->type(), node.output()->type()) ? value : nullptr;
  }

  // The construct behind a list that nobody changes; null if there is none.
  static const Node* construct_of(const Value* list) {
    const Node* node = list->node();
    const bool is_made = node != nullptr && node->is(NodeKind::kListConstruct);
    return is_made && is_read_by_items(list) ? node : nullptr;
  }

  Value* of_length(const Node& node) {
    const Node* construct = construct_of(node.input());
    if (construct == nullptr) return nullptr;
    return editor_.constant(static_cast<int64_t>(construct->inputs().size()));
  }

  static Value* of_item(const Node& node) {
    const IValue* index = constant_of(node.input(1));
    const Node* construct = construct_of(node.input(0));
    if (index == nullptr || construct == nullptr) return nullptr;
    const auto size = static_cast<int64_t>(construct->inputs().size());
    const int64_t at = index->to_int() < 0 ? index->to_int() + size : index->to_int();
    if (at < 0 || at >= size) return nullptr;
    Value* element = construct->input(static_cast<size_t>(at));
    return equal(element->type(), node.output()->type()) ? element : nullptr;
  }

  // As is_only_read, but the list's own items may be taken out of it.
  static bool is_read_by_items(const Value* list) {
    return std::all_of(list->uses().begin(), list->uses().end(), [](const ir::Use& use) {
      if (use.user == nullptr) return false;
      const ops::Role role = role_of(*use.user);
      if (role == ops::Role::kListItem || role == ops::Role::kListLength) return true;
      if (!use.user->is(NodeKind::kOp)) return false;
      const auto& arguments = use.user->op()->schema().arguments;
      return use.index < arguments.size() && arguments[use.index].alias.empty() &&
             std::none_of(use.user->outputs().begin(), use.user->outputs().end(),
                          [](const Value* output) { return analysis::is_open(*output->type()); });
    });
  }

  static const TensorFacts& facts_of(const Node& node) { return node.input(0)->type()->facts(); }

  Value* of_rank(const Node& node) {
    if (!facts_of(node).sizes) return nullptr;
    return editor_.constant(static_cast<int64_t>(facts_of(node).sizes->size()));
  }

  Value* of_size(const Node& node) {
    const IValue* index = constant_of(node.input(1));
    if (!facts_of(node).sizes || index == nullptr) return nullptr;
    const auto& sizes = *facts_of(node).sizes;
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t at = index->to_int() < 0 ? index->to_int() + rank : index->to_int();
    if (at < 0 || at >= rank) return nullptr;
    const Dim& dim = sizes[static_cast<size_t>(at)];
    return dim.kind == Dim::Kind::kStatic ? editor_.constant(dim.value) : nullptr;
  }

  Value* of_sizes(const Node& node) {
    if (!facts_of(node).sizes || !is_only_read(node.output())) return nullptr;
    std::vector<IValue> items;
    for (const Dim& dim : *facts_of(node).sizes) {
      if (dim.kind != Dim::Kind::kStatic) return nullptr;
      items.emplace_back(dim.value);
    }
    return editor_.constant(make_ref<ListValue>(Type::integer(), std::move(items)),
                            node.output()->type());
  }

  Value* of_element_type(const Node& node) {
    if (!facts_of(node).dtype) return nullptr;
    return editor_.constant(static_cast<int64_t>(*facts_of(node).dtype));
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void peephole(PassContext& context) { Peephole(context).visit_block(context.graph().block()); }

}  // namespace tierup::passes
