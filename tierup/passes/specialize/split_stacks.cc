// See split_stacks.h. Forwards: which values consist of parts. From the unbinds backwards, and
// forwards again through what reads nothing but such values: which are wanted by parts. Then they
// are made, in the order of the program.
#include "tierup/passes/specialize/split_stacks.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "tierup/analysis/effects.h"
#include "tierup/ops/table/facts.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Role;

namespace {

constexpr size_t kMostParts = 8;
// Dimensions of a whole. Parts are vectors: what is computed of those lies in order, however they
// lie. Of matrices it lies as they do, and an entry of a stack always in order.
constexpr size_t kRank = 2;

// A value that consists, or could consist, of parts.
struct Split {
  int64_t dim;  // Of the whole, from its end on: negative.
  size_t count;
  const ir::Operator* stack;  // That made, or would make, the whole.
  bool is_plain;              // Its memory lies in order, since it comes of stacks alone.
  std::vector<Value*> parts;  // Once they are there.
  bool is_wanted = false;     // By parts.
  bool is_refused = false;    // Others read the whole and might see its layout.
};

// Of one block.
class StackSplitter {
 public:
  // `alias` is of the graph before any edit.
  StackSplitter(PassContext& context, const analysis::AliasAnalysis& alias, const Block& block)
      : context_(context), editor_(context.editor()), alias_(alias) {
    for (Node* node : block.nodes()) nodes_.push_back(node);
  }

  void run() {
    for (Node* node : nodes_) find(*node);
    if (!find_wanted()) return;
    for (Node* node : nodes_) make(*node);
    for (size_t i = nodes_.size(); i-- > 0;) remove_if_replaced(nodes_[i]);
  }

 private:
  // What is known beforehand.

  static std::optional<ScalarType> dtype_of(const Value* value) {
    if (const IValue* constant = constant_of(value)) return constant->to_tensor().dtype();
    return value->type()->facts().dtype;
  }
  bool is_steady(const Value* value) const {
    return constant_of(value) != nullptr || !alias_.has_writers(value);
  }
  // An argument's dimension, from the end on.
  static std::optional<int64_t> dim_from_end(const Value* argument, size_t rank) {
    const IValue* dim = constant_of(argument);
    if (dim == nullptr || !dim->is_int()) return std::nullopt;
    const auto count = static_cast<int64_t>(rank);
    const int64_t from_end = dim->to_int() < 0 ? dim->to_int() : dim->to_int() - count;
    return from_end >= -count && from_end < 0 ? std::optional(from_end) : std::nullopt;
  }
  Split* split_of(const Value* value) {
    const auto found = splits_.find(value);
    return found == splits_.end() ? nullptr : &found->second;
  }

  void find(Node& node) {
    if (node.is(NodeKind::kListUnpack)) return find_unpacked(node);
    if (!node.is(NodeKind::kOp)) return;
    if (ops::op_of(*node.op()).facts().join == ops::JoinKind::kStack) return find_stack(node);
    if (is_pointwise(node)) find_pointwise(node);
  }

  // Parts that a value was taken apart into before: its size in that dimension is sure from there
  // on.
  void find_unpacked(const Node& node) {
    const Node* unbind = node.input()->node();
    if (unbind == nullptr || role_of(*unbind) != Role::kUnbind) return;
    const Value* whole = unbind->input(0);
    const auto rank = rank_of(whole);
    const auto dim = rank ? dim_from_end(unbind->input(1), *rank) : std::nullopt;
    if (!dim || split_of(whole) != nullptr || !is_steady(whole)) return;
    unbound_.try_emplace(whole, Split{*dim,
                                      node.outputs().size(),
                                      nullptr,
                                      false,
                                      {node.outputs().begin(), node.outputs().end()}});
  }

  void find_stack(const Node& node) {
    const Node* list = node.input(0)->node();
    const auto rank = rank_of(node.output());
    const auto dim = rank ? dim_from_end(node.input(1), *rank) : std::nullopt;
    const bool is_known = dim && *rank == kRank && dtype_of(node.output()) && list != nullptr &&
                          list->is(NodeKind::kListConstruct) && is_only_read(list->output()) &&
                          !list->inputs().empty() && list->inputs().size() <= kMostParts &&
                          is_steady(node.output());
    if (!is_known) return;
    for (const Value* part : list->inputs()) {
      if (!is_steady(part) || dtype_of(part) != dtype_of(node.output())) return;
    }
    splits_.try_emplace(node.output(), Split{*dim,
                                             list->inputs().size(),
                                             node.op(),
                                             true,
                                             {list->inputs().begin(), list->inputs().end()}});
  }

  static bool is_pointwise(const Node& node) {
    const ir::Schema& schema = node.op()->schema();
    return ops::op_of(*node.op()).body() != nullptr && node.outputs().size() == 1 &&
           !schema.is_vararg && !schema.is_mutating() && schema.returns[0].alias.empty() &&
           is_tensor(node.output());
  }

  void find_pointwise(const Node& node) {
    const Split* first = nullptr;
    for (const Value* input : node.inputs()) {
      if (first == nullptr && is_tensor(input)) first = split_of(input);
    }
    if (first == nullptr || !dtype_of(node.output()) || !is_steady(node.output()) ||
        rank_of(node.output()) != kRank) {
      return;
    }
    std::optional<ScalarType> dtype;
    bool is_mixed = false;
    bool has_vectors = false;  // Whose parts are numbers: they have less say in promotion.
    bool is_plain = true;
    for (const Value* input : node.inputs()) {
      if (!is_tensor(input)) {
        // Absent, or a tensor that nobody knows.
        if (input->type()->is(TypeKind::kOptional)) return;
        continue;
      }
      if (!can_part(input, *first)) return;
      is_mixed |= dtype_of(input) != dtype.value_or(*dtype_of(input));
      dtype = dtype_of(input);
      has_vectors |= rank_of(input) == 1;
      is_plain &= lies_plainly(input, node);
    }
    if ((is_mixed && has_vectors) || !is_of_elements(node)) return;
    splits_.try_emplace(node.output(), Split{first->dim, first->count, first->stack, is_plain, {}});
  }
  // Whether the row takes its operands as they are: some (gated units) take parts of them, or
  // spread them along another dimension.
  static bool is_of_elements(const Node& node) {
    std::vector<ops::MeaningArgument> arguments;
    for (const Value* input : node.inputs()) {
      std::optional<ops::MeaningArgument> argument =
          meaning_argument(input, is_tensor(input) ? dtype_of(input) : std::optional<ScalarType>());
      if (!argument) return false;
      arguments.push_back(*std::move(argument));
    }
    return !ops::meaning_of(ops::op_of(*node.op()), arguments).refusal;
  }
  // Whether an operand leaves the result in order, where another one lies so.
  bool lies_plainly(const Value* value, const Node& node) {
    if (const Split* own = split_of(value))
      return own->is_plain && rank_of(value) == rank_of(node.output());
    const IValue* constant = constant_of(value);
    return *rank_of(value) <= 1 || (constant != nullptr && constant->to_tensor().is_contiguous());
  }

  // Whether an operand can be read by parts.
  bool can_part(const Value* value, const Split& like) {
    if (const Split* own = split_of(value)) return own->dim == like.dim && own->count == like.count;
    if (!is_steady(value) || !dtype_of(value)) return false;
    const auto rank = rank_of(value);
    if (!rank) return false;
    if (static_cast<int64_t>(*rank) < -like.dim) return true;
    const auto found = unbound_.find(value);
    if (found != unbound_.end() && found->second.dim == like.dim)
      return found->second.count == like.count;
    const std::optional<int64_t> size = size_of(value, like.dim);
    return size == 1 || size == static_cast<int64_t>(like.count);
  }
  static std::optional<int64_t> size_of(const Value* value, int64_t dim) {
    if (const IValue* constant = constant_of(value)) return constant->to_tensor().size(dim);
    const auto& sizes = *value->type()->facts().sizes;
    const std::optional<IntVector> known = static_sizes(
        std::vector<Dim>{sizes[static_cast<size_t>(static_cast<int64_t>(sizes.size()) + dim)]});
    return known ? std::optional((*known)[0]) : std::nullopt;
  }

  // What is wanted.

  // The number of the part that an operator takes of a value that consists of parts.
  std::optional<size_t> selected_part(const Node& node) {
    if (role_of(node) != Role::kSelect) return std::nullopt;
    const Split* split = split_of(node.input(0));
    const IValue* index = constant_of(node.input(2));
    if (split == nullptr || index == nullptr || !index->is_int()) return std::nullopt;
    if (dim_from_end(node.input(1), *rank_of(node.input(0))) != split->dim) return std::nullopt;
    const auto count = static_cast<int64_t>(split->count);
    const int64_t place = index->to_int() < 0 ? index->to_int() + count : index->to_int();
    return place >= 0 && place < count ? std::optional(static_cast<size_t>(place)) : std::nullopt;
  }
  // Whether all entries of such a value are unpacked here.
  bool unpacks_parts(const Node& unpack) {
    if (!unpack.is(NodeKind::kListUnpack)) return false;
    const Node* unbind = unpack.input()->node();
    if (unbind == nullptr || role_of(*unbind) != Role::kUnbind ||
        unbind->owner() != unpack.owner() || !is_only_read(unbind->output())) {
      return false;
    }
    const Split* split = split_of(unbind->input(0));
    return split != nullptr && unpack.outputs().size() == split->count &&
           dim_from_end(unbind->input(1), *rank_of(unbind->input(0))) == split->dim;
  }
  // The value that a node takes apart, if parts may take the place of its results.
  const Value* taken_apart_by(const Node& node) {
    const bool selects = selected_part(node).has_value();
    if (!selects && !unpacks_parts(node)) return nullptr;
    const bool hides_layout = std::ranges::all_of(
        node.outputs(), [](const Value* output) { return is_computed_with(output); });
    if (!hides_layout) return nullptr;
    return selects ? node.input(0) : node.input()->node()->input(0);
  }
  // Whether all that reads a value, or slices of it, makes new tensors: a part lies in order, an
  // entry of the whole with steps.
  static bool is_computed_with(const Value* value) {
    return std::ranges::all_of(value->uses(), [](const ir::Use& use) {
      if (use.user == nullptr) return false;
      if (use.user->is(NodeKind::kListConstruct)) {
        return is_only_read(use.user->output()) && is_computed_with(use.user->output());
      }
      if (!use.user->is(NodeKind::kOp)) return false;
      const Role role = role_of(*use.user);
      if (role == Role::kSlice || role == Role::kSelect)
        return is_computed_with(use.user->output());
      if (role == Role::kSize || role == Role::kSizes || role == Role::kRank) return true;
      // What gives numbers of a tensor may ask for its strides.
      const ir::Schema& schema = use.user->op()->schema();
      return !schema.is_mutating() && std::ranges::all_of(use.user->outputs(), is_tensor) &&
             std::ranges::all_of(schema.returns, [](const auto& r) { return r.alias.empty(); });
    });
  }

  // Whether any value is to be made by parts.
  bool find_wanted() {
    bool any = false;
    for (bool again = true; again;) {
      for (auto& [value, split] : splits_) split.is_wanted = false;
      any = false;
      for (const Node* node : nodes_) {
        const Value* whole = taken_apart_by(*node);
        any |= whole != nullptr && want(whole);
      }
      again = false;
      for (auto& [value, split] : splits_) {
        if (!split.is_wanted || split.is_plain || !is_read_as_whole(value)) continue;
        split.is_refused = true;
        again = true;
      }
    }
    for (const Node* node : nodes_) {
      if (!any || node->outputs().size() != 1) continue;
      const Split* split = split_of(node->output());
      const bool is_plain = split != nullptr && split->is_plain && split->parts.empty();
      if (is_plain && reads_wanted(*node)) want(node->output());
    }
    return any;
  }
  bool reads_wanted(const Node& node) {
    return std::ranges::any_of(node.inputs(), [&](const Value* input) {
      const Split* own = split_of(input);
      return own != nullptr && own->is_wanted;
    });
  }

  // With all that it is computed of; false if any of that is refused.
  bool want(const Value* value) {
    Split& split = *split_of(value);
    if (split.is_wanted || split.is_refused) return split.is_wanted;
    const bool is_computed = split.parts.empty();
    for (const Value* input : value->node()->inputs()) {
      if (!is_computed || split_of(input) == nullptr || want(input)) continue;
      split.is_refused = true;
      return false;
    }
    split.is_wanted = true;
    return true;
  }

  // By others than those that take it apart, or are computed by parts themselves.
  bool is_read_as_whole(const Value* value) {
    return std::ranges::any_of(value->uses(), [&](const ir::Use& use) {
      if (use.user == nullptr || use.user->owner() != value->node()->owner()) return true;
      if (selected_part(*use.user)) return taken_apart_by(*use.user) == nullptr;
      if (role_of(*use.user) == Role::kUnbind) {
        return !std::ranges::all_of(use.user->output()->uses(), [&](const ir::Use& of_list) {
          return of_list.user != nullptr && taken_apart_by(*of_list.user) == value;
        });
      }
      const Split* result =
          use.user->outputs().size() == 1 ? split_of(use.user->output()) : nullptr;
      return result == nullptr || !result->is_wanted;
    });
  }

  // What is made.

  void make(Node& node) {
    if (const Value* whole = taken_apart_by(node)) {
      const Split& split = *split_of(whole);
      if (!split.is_wanted) return;
      const std::optional<size_t> place = selected_part(node);
      for (size_t i = 0; i < node.outputs().size(); ++i)
        editor_.replace_uses(node.outputs()[i], split.parts[place.value_or(i)]);
      replaced_.insert(&node);
      return;
    }
    Split* split = node.outputs().size() == 1 ? split_of(node.output()) : nullptr;
    if (split == nullptr || !split->is_wanted) return;
    replaced_.insert(&node);
    if (split->parts.empty()) make_parts(node, *split);
  }

  void make_parts(Node& node, Split& split) {
    editor_.set_insert_before(&node);
    editor_.set_range(node.range());
    editor_.set_call_chain(node.call_chain());
    std::vector<Value*> parts;
    for (size_t i = 0; i < split.count; ++i) {
      std::vector<Value*> inputs;
      for (Value* input : node.inputs())
        inputs.push_back(is_tensor(input) ? part_of(input, split, i) : input);
      parts.push_back(editor_.create_op(*node.op(), inputs)->output());
      describe(parts.back(), node.output(), split.dim);
    }
    split.parts = parts;
    if (is_read_as_whole(node.output())) stack_parts(node.output(), split);
    editor_.set_range({});
    context_.count("split");
  }

  // For those that read the whole.
  void stack_parts(Value* value, const Split& split) {
    Node* list = editor_.create(NodeKind::kListConstruct, split.parts);
    Value* items = editor_.add_output(list, Type::list(Type::tensor()));
    const std::array<Value*, 2> arguments{items, editor_.constant(split.dim)};
    Value* whole = editor_.create_op(*split.stack, arguments)->output();
    editor_.set_type(whole, value->type());
    context_.hints().copy(value, whole);
    editor_.replace_uses(value, whole);
    splits_.emplace(whole, split);
  }

  void remove_if_replaced(Node* node) {
    const bool is_unbind = role_of(*node) == Role::kUnbind && split_of(node->input(0)) != nullptr &&
                           split_of(node->input(0))->is_wanted;
    if ((!replaced_.contains(node) && !is_unbind) || !is_unused(*node)) return;
    const bool is_stack =
        node->is(NodeKind::kOp) && ops::op_of(*node->op()).facts().join == ops::JoinKind::kStack;
    if (is_stack && !have_equal_sizes(node->input(0)->node()->inputs())) {
      begin_behind(*node);
      const std::array<Value*, 1> list{node->input(0)};
      editor_.create_op(*context_.table().find("tierup::check_stack"), list);
      editor_.set_range({});
    }
    editor_.remove(node);
  }
  // As late as nobody notices: a node that may raise parts the groups around it.
  void begin_behind(const Node& node) {
    const Node* next = node.next();
    const auto is_pure = [](const Node& at) {
      const bool writes = at.is(NodeKind::kOp) && at.op()->schema().is_mutating();
      return at.blocks().empty() && !writes && (analysis::effects_of(at) & ~ir::kMayRaise) == 0;
    };
    while (next != nullptr && is_pure(*next)) next = next->next();
    if (next == nullptr) {
      editor_.set_insert_end(node.owner());
    } else {
      editor_.set_insert_before(const_cast<Node*>(next));
    }
    editor_.set_range(node.range());
    editor_.set_call_chain(node.call_chain());
  }
  // As far as types tell.
  static bool have_equal_sizes(std::span<Value* const> parts) {
    const auto sizes_of = [](const Value* part) {
      const IValue* constant = constant_of(part);
      if (constant == nullptr) return part->type()->facts().sizes;
      std::vector<Dim> sizes;
      for (const int64_t size : constant->to_tensor().sizes())
        sizes.push_back({Dim::Kind::kStatic, size});
      return std::optional(sizes);
    };
    const auto first = sizes_of(parts[0]);
    return first &&
           std::ranges::none_of(*first,
                                [](const Dim& dim) { return dim.kind == Dim::Kind::kUnknown; }) &&
           std::ranges::all_of(parts, [&](const Value* part) { return sizes_of(part) == first; });
  }

  Value* part_of(Value* value, const Split& like, size_t index) {
    if (const Split* own = split_of(value)) return own->parts[index];
    const auto rank = static_cast<int64_t>(*rank_of(value));
    if (rank < -like.dim) return value;
    const auto found = unbound_.find(value);
    if (found != unbound_.end() && found->second.dim == like.dim) return found->second.parts[index];
    const int64_t place = size_of(value, like.dim) == 1 ? 0 : static_cast<int64_t>(index);
    const std::array<Value*, 3> arguments{value, editor_.constant(like.dim),
                                          editor_.constant(place)};
    Value* part = editor_.create_op(context_.table().with(Role::kSelect), arguments)->output();
    describe(part, value, like.dim);
    return part;
  }

  // A part is like the whole, less a dimension.
  void describe(Value* part, const Value* whole, int64_t dim) {
    const auto without = [dim](const std::optional<std::vector<Dim>>& dims) {
      std::optional<std::vector<Dim>> rest = dims;
      if (rest) rest->erase(rest->end() + dim);
      return rest;
    };
    TensorFacts facts;
    facts.dtype = dtype_of(whole);
    facts.sizes = without(whole->type()->facts().sizes);
    editor_.set_type(part, Type::tensor_with(facts));
    if (const TensorFacts* seen = context_.hints().find(whole)) {
      facts.sizes = without(seen->sizes);
      context_.hints().set(part, facts);
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;
  std::vector<Node*> nodes_;
  std::unordered_map<const Value*, Split> splits_;
  std::unordered_map<const Value*, Split> unbound_;  // Values of other origin, by their parts.
  std::unordered_set<const Node*> replaced_;
};

// Inner blocks first: what is new in them no outer one sees.
void visit(PassContext& context, const analysis::AliasAnalysis& alias, const Block& block) {
  for (const Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) visit(context, alias, *inner);
  }
  StackSplitter(context, alias, block).run();
}

}  // namespace

void split_stacks(PassContext& context) {
  visit(context, context.alias(), context.graph().block());
}

}  // namespace tierup::passes
