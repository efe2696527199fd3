// One sweep in program order: a node's inputs are folded before the node, and the nodes of a
// branch that was taken come next in the list.
#include "tierup/passes/cleanup/constant_propagation.h"
#include "tierup/analysis/effects.h"

#include <algorithm>

#include "tierup/ops/table/op.h"
#include "tierup/passes/cleanup/inline_branch.h"
#include "tierup/passes/cleanup/lower_tuples.h"
#include "tierup/passes/core/run_operator.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

constexpr size_t kMaxElements = 256;
constexpr size_t kMaxText = 4096;  // Bytes: sums of texts would each be kept.

// A list of plain values.
bool is_plain_list(const IValue& value) {
  if (!value.is_list()) return false;
  const auto& items = value.to_list().items;
  return items.size() <= kMaxElements && std::all_of(items.begin(), items.end(), is_plain);
}

bool is_foldable(const IValue& value) {
  if (value.is_str()) return value.to_str().size() <= kMaxText;
  return is_plain(value) || is_plain_list(value);
}

// Whether an argument says that the result gets too long to be kept: [0] * n, "".ljust(width).
bool gets_long(const ir::Schema& schema, std::span<const IValue> arguments) {
  for (size_t i = 0; i < schema.arguments.size() && i < arguments.size(); ++i) {
    const std::string& name = schema.arguments[i].name;
    const bool is_count = name == "n";
    const bool is_width = name == "width" || name == "tabsize";
    if ((!is_count && !is_width) || !arguments[i].is_int()) continue;
    if (arguments[i].to_int() > static_cast<int64_t>(is_count ? kMaxElements : kMaxText)) {
      return true;
    }
  }
  return false;
}

class ConstantPropagation {
 public:
  explicit ConstantPropagation(PassContext& context)
      : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node = block.first(); node != nullptr;) {
      Node* const previous = node->previous();
      if (visit_node(node)) {  // Gone, with others in its place.
        node = previous != nullptr ? previous->next() : block.first();
      } else {
        node = node->next();
      }
    }
  }

 private:
  // Whether nodes came that are to be visited in place of this one.
  bool visit_node(Node* node) {
    switch (node->kind()) {
      case NodeKind::kConstant: return false;
      case NodeKind::kOp: return fold_by_type(node) || fold_op(node);
      case NodeKind::kIf: return visit_if(node);
      case NodeKind::kLoop: return visit_loop(node);
      case NodeKind::kTupleConstruct:
      case NodeKind::kListConstruct: return fold_construct(node);
      case NodeKind::kTupleIndex:
      case NodeKind::kTupleUnpack:
      case NodeKind::kTupleSlice: return forward_tuple(context_, node) || fold_tuple_part(node);
      case NodeKind::kUncheckedCast: return fold_cast(node);
      case NodeKind::kIsInstance: return fold_isinstance(node);
      default:
        for (const Block* inner : node->blocks()) visit_block(*inner);
        return false;
    }
  }

  bool replace(Node* node, std::span<const IValue> results) {
    editor_.set_insert_before(node);
    editor_.set_range(node->range());
    for (size_t i = 0; i < results.size(); ++i) {
      Value* constant = editor_.constant(results[i], node->output(i)->type());
      editor_.set_name(constant, node->output(i)->name());
      editor_.replace_uses(node->output(i), constant);
    }
    editor_.set_range({});
    editor_.remove(node);
    context_.count("folded");
    return true;
  }
  bool replace(Node* node, const IValue& result) { return replace(node, std::span(&result, 1)); }

  // The constants behind all inputs; empty if there is another.
  static std::optional<std::vector<IValue>> constant_inputs(const Node& node) {
    std::vector<IValue> values;
    for (const Value* input : node.inputs()) {
      const IValue* value = constant_of(input);
      if (value == nullptr || !is_foldable(*value)) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }

  // `x is None` for x of a type that cannot be None, and for None itself.
  bool fold_by_type(Node* node) {
    const ops::Role role = role_of(*node);
    if (role != ops::Role::kIs && role != ops::Role::kIsNot) return false;
    const auto is_none = [](const Value* value) { return value->type()->is(TypeKind::kNone); };
    const auto never_none = [](const Value* value) {
      const TypePtr& type = value->type();
      return !is_subtype(Type::none(), type) && !analysis::is_open(*type);
    };
    const Value* a = node->input(0);
    const Value* b = node->input(1);
    if (is_none(a) && is_none(b)) return replace(node, IValue(role == ops::Role::kIs));
    if ((is_none(a) && never_none(b)) || (is_none(b) && never_none(a))) {
      return replace(node, IValue(role == ops::Role::kIsNot));
    }
    return false;
  }

  bool fold_op(Node* node) {
    const ops::Op& op = ops::op_of(*node->op());
    if (node->inputs().empty() || !can_run(*node, op)) return false;
    const auto fits = [](const Value* output) {
      return !is_mutable(output->type()) ||
             (output->type()->is(TypeKind::kList) && is_only_read(output));
    };
    if (!std::all_of(node->outputs().begin(), node->outputs().end(), fits)) return false;
    auto arguments = constant_inputs(*node);
    if (!arguments || gets_long(op.schema(), *arguments)) return false;
    const auto results = run_operator(context_, op, *arguments, node->outputs().size());
    if (!results) context_.count("raised");
    if (!results || !std::all_of(results->begin(), results->end(), is_foldable)) return false;
    return replace(node, *results);
  }

  bool fold_construct(Node* node) {
    const bool is_list = node->is(NodeKind::kListConstruct);
    if (is_list && !is_only_read(node->output())) return false;
    if (node->inputs().size() > kMaxElements) return false;
    for (const Value* input : node->inputs()) {
      const IValue* value = constant_of(input);
      if (value == nullptr || !is_plain(*value)) return false;
    }
    std::vector<IValue> items = *constant_inputs(*node);
    const TypePtr& type = node->output()->type();
    if (is_list) return replace(node, make_ref<ListValue>(type->element(), std::move(items)));
    return replace(node,
                   make_ref<TupleValue>(std::move(items), type->name().empty() ? nullptr : type));
  }

  bool fold_tuple_part(Node* node) {
    const IValue* tuple = constant_of(node->input());
    if (tuple == nullptr || !is_plain(*tuple)) return false;
    const std::vector<IValue>& items = tuple->to_tuple().items;
    if (node->is(NodeKind::kTupleIndex)) {
      const IValue item = items.at(static_cast<size_t>(node->attr<int64_t>(ir::AttrName::kIndex)));
      return replace(node, item);
    }
    if (node->is(NodeKind::kTupleUnpack)) {
      return replace(node, std::vector<IValue>(items));
    }
    const auto begin = items.begin() + node->attr<int64_t>(ir::AttrName::kBegin);
    const auto end = items.begin() + node->attr<int64_t>(ir::AttrName::kEnd);
    return replace(node, make_ref<TupleValue>(std::vector<IValue>(begin, end)));
  }

  bool fold_cast(Node* node) {
    const IValue* value = constant_of(node->input());
    if (value == nullptr || !is_plain(*value) || !value->is_instance(node->output()->type())) {
      return false;
    }
    return replace(node, IValue(*value));
  }

  bool fold_isinstance(Node* node) {
    const auto& types = node->attr<std::vector<TypePtr>>(ir::AttrName::kTypes);
    const TypePtr& type = node->input()->type();
    if (std::any_of(types.begin(), types.end(),
                    [&](const TypePtr& wanted) { return is_subtype(type, wanted); })) {
      return replace(node, IValue(true));
    }
    return false;
  }

  bool visit_if(Node* node) {
    const IValue* condition = constant_of(node->input());
    if (condition != nullptr && condition->is_bool()) {
      inline_branch(editor_, node, condition->to_bool() ? 0 : 1);
      context_.count("branches");
      return true;
    }
    for (const Block* inner : node->blocks()) visit_block(*inner);
    forward_same_returns(node);
    return false;
  }

  // An output that is the same outer value, or the same constant, in both branches.
  void forward_same_returns(Node* node) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* output = node->output(i);
      Value* a = node->block(0)->returns()[i];
      Value* b = node->block(1)->returns()[i];
      if (output->uses().empty()) continue;
      const IValue* x = constant_of(a);
      const IValue* y = constant_of(b);
      if (a == b) {
        if (is_subtype(a->type(), output->type())) editor_.replace_uses(output, a);
      } else if (x != nullptr && y != nullptr && is_plain(*x) && x->tag() == y->tag() &&
                 !x->is_tuple() && !x->is_float() && !x->is_complex() && values_equal(*x, *y)) {
        editor_.set_insert_after(node);
        editor_.replace_uses(output, editor_.constant(*x, output->type()));
        context_.count("folded");
      }
    }
  }

  bool visit_loop(Node* node) {
    const IValue* trips = constant_of(node->input(0));
    const IValue* condition = constant_of(node->input(1));
    if ((trips != nullptr && trips->is_int() && trips->to_int() <= 0) ||
        (condition != nullptr && condition->is_bool() && !condition->to_bool())) {
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        editor_.replace_uses(node->output(i), node->input(i + 2));
      }
      editor_.remove(node);
      context_.count("loops");
      return true;
    }
    visit_block(*node->block());
    return false;
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void constant_propagation(PassContext& context) {
  ConstantPropagation(context).visit_block(context.graph().block());
}

}  // namespace tierup::passes
