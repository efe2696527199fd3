// See peephole.h: one function per role, each giving the value that stands for the node's output.
#include "tierup/passes/cleanup/peephole.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

class Peephole {
 public:
  explicit Peephole(PassContext& context)
      : context_(context), editor_(context.editor()), alias_(context.alias()) {
    for (Value* input : context.graph().inputs()) note_symbols(input);
  }

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (node->is(NodeKind::kListUnpack)) {
        take_apart(node);
        continue;
      }
      if (role_of(*node) == ops::Role::kMetadataAssert && is_assured(*node)) {
        editor_.remove(node);
        context_.count("assured");
        continue;
      }
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
      case ops::Role::kEqual: return of_comparison(node, true);
      case ops::Role::kNotEqual: return of_comparison(node, false);
      case ops::Role::kView:
      case ops::Role::kExpand: return of_view(node);
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

  // Which input has a size of this name.
  void note_symbols(Value* input) {
    const auto& sizes = input->type()->facts().sizes;
    for (size_t i = 0; sizes && i < sizes->size(); ++i) {
      const Dim& dim = (*sizes)[i];
      if (dim.kind == Dim::Kind::kSymbol)
        symbols_.try_emplace(dim.value, input, static_cast<int64_t>(i));
    }
  }

  Value* of_length(const Node& node) {
    if (const Node* sizes = sizes_behind(node.input())) return of_rank(*sizes);
    const Node* construct = construct_of(node.input());
    if (construct == nullptr) return nullptr;
    return editor_.constant(static_cast<int64_t>(construct->inputs().size()));
  }

  Value* of_item(const Node& node) {
    const IValue* index = constant_of(node.input(1));
    const Node* sizes = sizes_behind(node.input(0));
    if (sizes != nullptr && index != nullptr) return of_listed_size(node, *sizes, index->to_int());
    const Node* construct = construct_of(node.input(0));
    if (index == nullptr || construct == nullptr) return nullptr;
    const auto size = static_cast<int64_t>(construct->inputs().size());
    const int64_t at = index->to_int() < 0 ? index->to_int() + size : index->to_int();
    if (at < 0 || at >= size) return nullptr;
    Value* element = construct->input(static_cast<size_t>(at));
    return is_subtype(element->type(), node.output()->type()) ? element : nullptr;
  }

  static const TensorFacts& facts_of(const Node& node) { return node.input(0)->type()->facts(); }

  // The operator that made a list of sizes that is only read; null if there is none.
  static Node* sizes_behind(const Value* list) {
    Node* node = list->node();
    const bool is_sizes = node != nullptr && role_of(*node) == ops::Role::kSizes;
    return is_sizes && is_read_by_items(list) ? node : nullptr;
  }

  // `x.shape[i]` is `x.size(i)`, unless it raises.
  Value* of_listed_size(const Node& item, const Node& sizes, int64_t index) {
    if (!facts_of(sizes).sizes) return nullptr;
    const auto rank = static_cast<int64_t>(facts_of(sizes).sizes->size());
    if (index < -rank || index >= rank) return nullptr;
    return one_size(item, sizes.input(0), index);
  }

  // One size of a tensor, asked for by a new operator before `place` if it is no number.
  Value* one_size(const Node& place, Value* tensor, int64_t index) {
    editor_.set_range(place.range());
    const ops::Op* size = &context_.table().with(ops::Role::kSize);
    Value* dim = editor_.constant(index);
    Node* one = editor_.create_op(*size, std::array<Value*, 2>{tensor, dim});
    editor_.set_range({});
    editor_.set_insert_before(one);
    Value* known = of_size(*one);
    return known != nullptr ? known : one->output();
  }

  // Sizes that are unpacked are asked for one by one.
  void take_apart(Node* node) {
    const Node* sizes = sizes_behind(node->input());
    if (sizes == nullptr || !facts_of(*sizes).sizes ||
        facts_of(*sizes).sizes->size() != node->outputs().size()) {
      return;
    }
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      editor_.set_insert_before(node);
      editor_.replace_uses(node->output(i),
                           one_size(*node, sizes->input(0), static_cast<int64_t>(i)));
    }
    editor_.remove(node);
    context_.count("unpacked");
  }

  Value* of_rank(const Node& node) {
    if (!facts_of(node).sizes) return nullptr;
    return editor_.constant(static_cast<int64_t>(facts_of(node).sizes->size()));
  }

  // A number, or the size of an input that is the same.
  Value* of_size(Node& node) {
    const IValue* index = constant_of(node.input(1));
    if (!facts_of(node).sizes || index == nullptr) return nullptr;
    const auto& sizes = *facts_of(node).sizes;
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t at = index->to_int() < 0 ? index->to_int() + rank : index->to_int();
    if (at < 0 || at >= rank) return nullptr;
    const Dim& dim = sizes[static_cast<size_t>(at)];
    if (dim.kind == Dim::Kind::kStatic) return editor_.constant(dim.value);
    const auto same = symbols_.find(dim.value);
    if (dim.kind != Dim::Kind::kSymbol || same == symbols_.end()) return nullptr;
    const auto [input, place] = same->second;
    if (node.input(0) != input || index->to_int() != place) {
      editor_.set_input(&node, 0, input);
      editor_.set_input(&node, 1, editor_.constant(place));
      context_.count("sizes");
    }
    return nullptr;
  }

  // Of one number, or of one size of one tensor, with itself.
  Value* of_comparison(const Node& node, bool is_equal) {
    return is_same_number(node.input(0), node.input(1)) ? editor_.constant(is_equal) : nullptr;
  }
  static bool is_same_number(const Value* a, const Value* b) {
    if (a == b) return true;
    const Node* x = a->node();
    const Node* y = b->node();
    if (x == nullptr || y == nullptr || role_of(*x) != ops::Role::kSize ||
        role_of(*y) != ops::Role::kSize || x->input(0) != y->input(0)) {
      return false;
    }
    const IValue* i = constant_of(x->input(1));
    const IValue* j = constant_of(y->input(1));
    return facts_of(*x).sizes && i != nullptr && j != nullptr && same_constant(*i, *j);
  }

  // Whether all that ever happens to a tensor is that operators read it, or views of it.
  static bool is_private(const Value* tensor) {
    return std::all_of(tensor->uses().begin(), tensor->uses().end(), [](const ir::Use& use) {
      if (is_only_read_by(use)) return true;
      return use.user != nullptr && makes_view(role_of(*use.user)) &&
             is_private(use.user->output());
    });
  }
  static bool makes_view(ops::Role role) {
    return role == ops::Role::kView || role == ops::Role::kExpand || role == ops::Role::kSelect ||
           role == ops::Role::kSlice || role == ops::Role::kTranspose;
  }

  // The place of the size that a view is to work out, by its list; none if there is no such size.
  static std::optional<size_t> rest_of(const Value* list) {
    std::vector<const IValue*> sizes;
    if (const IValue* constant = constant_of(list); constant != nullptr && constant->is_list()) {
      for (const IValue& item : constant->to_list().items) sizes.push_back(&item);
    } else if (list->node() != nullptr && list->node()->is(NodeKind::kListConstruct)) {
      for (const Value* item : list->node()->inputs()) sizes.push_back(constant_of(item));
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != nullptr && sizes[i]->is_int() && sizes[i]->to_int() == -1) return i;
    }
    return std::nullopt;
  }

  // Whether a view raises where one of the sizes is zero: the rest of nothing may be any size.
  static bool needs_elements(const Node& node, const std::vector<Dim>& sizes) {
    const auto rest = role_of(node) == ops::Role::kView ? rest_of(node.input(1)) : std::nullopt;
    for (size_t i = 0; rest && i < sizes.size(); ++i) {
      const bool is_filled = sizes[i].kind == Dim::Kind::kStatic && sizes[i].value != 0;
      if (i != *rest && !is_filled) return true;
    }
    return false;
  }

  // A view of the same sizes, of memory that nobody writes, and that nobody outside gets to see.
  Value* of_view(const Node& node) {
    Value* viewed = node.input(0);
    const auto& sizes = node.output()->type()->facts().sizes;
    const auto is_known = [](const Dim& dim) { return dim.kind != Dim::Kind::kUnknown; };
    if (!sizes || sizes != facts_of(node).sizes ||
        !std::all_of(sizes->begin(), sizes->end(), is_known) || needs_elements(node, *sizes)) {
      return nullptr;
    }
    const bool may_go = !alias_.has_writers(node.output()) && is_private(node.output()) &&
                        is_subtype(viewed->type(), node.output()->type());
    return may_go ? viewed : nullptr;
  }

  Value* of_sizes(const Node& node) {
    const std::optional<IntVector> sizes = static_sizes(facts_of(node).sizes);
    if (!sizes || !is_only_read(node.output())) return nullptr;
    std::vector<IValue> items(sizes->begin(), sizes->end());
    return editor_.constant(make_ref<ListValue>(Type::integer(), std::move(items)),
                            node.output()->type());
  }

  Value* of_element_type(const Node& node) {
    if (!facts_of(node).dtype) return nullptr;
    return editor_.constant(static_cast<int64_t>(*facts_of(node).dtype));
  }

  // Whether the tensor is known to be of the dtype and on the device that are asked for, and no
  // more is. torch.export puts such a question before each conversion: it would part what fuses.
  static bool is_assured(const Node& node) {
    const auto wanted = [&](size_t i) { return constant_of(node.input(i)); };
    for (size_t i = 1; i < 5; ++i) {
      if (wanted(i) == nullptr) return false;
    }
    const TensorFacts& facts = facts_of(node);
    const bool has_dtype =
        wanted(3)->is_none() || (facts.dtype && wanted(3)->is_int() &&
                                 wanted(3)->to_int() == static_cast<int64_t>(*facts.dtype));
    const bool has_device = wanted(4)->is_none() || (facts.device && wanted(4)->is_device() &&
                                                     wanted(4)->to_device() == *facts.device);
    return wanted(1)->is_none() && wanted(2)->is_none() && has_dtype && has_device;
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;  // Nodes only go away, or read another tensor's size.
  std::unordered_map<int64_t, std::pair<Value*, int64_t>> symbols_;  // Inputs' sizes by name.
};

}  // namespace

void peephole(PassContext& context) { Peephole(context).visit_block(context.graph().block()); }

}  // namespace tierup::passes
