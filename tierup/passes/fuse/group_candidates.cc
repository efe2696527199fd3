// See group_candidates.h.
#include "tierup/passes/fuse/group_candidates.h"

#include <algorithm>

#include "tierup/analysis/effects.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::GroupRefusal;

namespace {

constexpr Dim kOne{Dim::Kind::kStatic, 1};

// Whether `column` has one element for each row of `whole`.
bool is_column(const Shape& column, const std::vector<Dim>& whole) {
  return column && column->size() == whole.size() && !whole.empty() && column->back() == kOne &&
         std::equal(whole.begin(), whole.end() - 1, column->begin(),
                    [](const Dim& a, const Dim& b) { return !differ(a, b); });
}

// Whether one call may give both: all or one of a row's elements, or results of one form.
bool go_together(ops::RowSpace a, ops::RowSpace b) {
  const auto has_rows = [](ops::RowSpace space) {
    return space == ops::RowSpace::kFull || space == ops::RowSpace::kColumn;
  };
  return a == b || (has_rows(a) && has_rows(b));
}

// Also notes the result's form and shape.
ops::RefusedGroup meaning_refusal(const Node& node, ValueForms& forms) {
  Shape shape = std::vector<Dim>{};
  for (const Value* input : node.inputs()) {
    if (is_tensor(input)) shape = broadcast(shape, forms.shape(input));
  }
  const ops::PointwiseMeaning meaning = point_meaning(node, forms);
  if (meaning.refusal) return meaning.refusal;
  const Shape& seen = forms.shape(node.output());
  forms.set(node.output(), meaning.result, seen ? Shape(seen) : shape);
  return {};
}

}  // namespace

bool has_row_role(const Node& node) { return role_of(node) == ops::Role::kRowwise; }

ops::PointwiseMeaning point_meaning(const Node& node, ValueForms& forms) {
  std::vector<ops::MeaningArgument> arguments;
  for (const Value* input : node.inputs()) {
    is_tensor(input) ? arguments.push_back({forms.form(input), IValue()})
                     : arguments.push_back({std::nullopt, *constant_of(input)});
  }
  return meaning_of(ops::op_of(*node.op()), arguments);
}

ops::RefusedGroup point_refusal(const Node& node, const analysis::AliasAnalysis& alias,
                                ValueForms& forms) {
  bool has_tensor = false;
  for (const Value* input : node.inputs()) {
    const IValue* constant = constant_of(input);
    if (is_tensor(input)) {
      has_tensor = true;
      if (constant != nullptr && !constant->is_tensor()) return GroupRefusal::kUndefinedArgument;
    } else if (constant == nullptr) {
      return GroupRefusal::kVaryingNumber;
    }
  }
  if (!has_tensor) return GroupRefusal::kNoTensor;
  if (alias.has_writers(node.output())) return GroupRefusal::kWrittenResult;
  return meaning_refusal(node, forms);
}

void refuse_group(PassContext& context, Node* node, const ops::RefusedGroup& refusal) {
  context.editor().set_attr(node, ir::AttrName::kNote, "not fused: " + refusal.text());
  context.refuse(
      {"group", std::string(refusal.name()), refusal.text(), node->display_name(), node->range()});
}

bool reads_only_kept_memory(const Node& node, const analysis::AliasAnalysis& alias) {
  const auto is_written = [&](const Value* value) {
    return is_tensor(value) && constant_of(value) == nullptr && alias.has_writers(value);
  };
  return std::none_of(node.inputs().begin(), node.inputs().end(), is_written) &&
         std::none_of(node.outputs().begin(), node.outputs().end(),
                      [&](const Value* value) { return alias.has_writers(value); });
}

bool can_move(const Node& node, const analysis::AliasAnalysis& alias) {
  if (!node.blocks().empty() || alias.has_effects(&node) || alias.writes_anything(&node)) {
    return false;
  }
  // Behind another draw it would get the numbers that were that one's.
  if ((analysis::effects_of(node) & ir::kRandom) != 0) return false;
  const auto is_written = [&](const Value* value) { return alias.has_writers_inside(value); };
  return std::none_of(node.inputs().begin(), node.inputs().end(), is_written) &&
         std::none_of(node.outputs().begin(), node.outputs().end(), is_written);
}

// On rows of a tensor whose rank is known. Also notes the result's form and shape.
std::optional<RowCall> row_call_of(const Node& node, const analysis::AliasAnalysis& alias,
                                   ValueForms& forms) {
  if (!has_row_role(node) || analysis::effects_of(node) != ir::kNoEffect ||
      !reads_only_kept_memory(node, alias)) {
    return std::nullopt;
  }
  const Value* self = node.input(0);
  const Shape& shape = forms.shape(self);
  if (!is_tensor(self) || !shape) return std::nullopt;
  RowCall call;
  for (const Value* input : node.inputs()) {
    if (is_tensor(input)) {
      if (constant_of(input) != nullptr && !constant_of(input)->is_tensor()) return std::nullopt;
      const size_t place = call.arguments.size();
      if (place > 0 && is_for_each_row(ops::op_of(*node.op()), place) &&
          !is_column(forms.shape(input), *shape)) {
        return std::nullopt;
      }
      call.arguments.push_back({forms.form(input), IValue()});
      continue;
    }
    std::optional<IValue> value = known_argument(input);
    if (!value) return std::nullopt;
    call.arguments.push_back({std::nullopt, std::move(*value)});
  }
  const ops::Op& op = ops::op_of(*node.op());
  if (ops::count_from_back(op, call.arguments, static_cast<int64_t>(shape->size()))) {
    call.rank = static_cast<uint32_t>(shape->size());
  }
  call.meaning = row_meaning_of(op, call.arguments);
  const size_t outer = call.goes_over_part() ? 0 : 1;  // Dimensions that must be there.
  if (call.meaning.refusal || shape->size() < call.meaning.row_rank + outer) return std::nullopt;
  for (size_t i = 1; i < node.outputs().size(); ++i) {
    call.more.push_back(row_meaning_of(op, call.arguments, i));
    if (call.more.back().refusal || !go_together(call.more.back().space, call.meaning.space)) {
      return std::nullopt;
    }
  }
  const std::vector<Dim> whole = *shape;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const ops::RowMeaning& meaning = i == 0 ? call.meaning : call.more[i - 1];
    std::vector<Dim> result = whole;
    const auto rows = result.end() - static_cast<ptrdiff_t>(meaning.row_rank);
    const auto kept = rows + static_cast<ptrdiff_t>(meaning.folded);
    switch (meaning.space) {
      case ops::RowSpace::kFull: break;
      case ops::RowSpace::kColumn: std::fill(rows, result.end(), kOne); break;
      case ops::RowSpace::kFlat: result.erase(rows, result.end()); break;
      case ops::RowSpace::kPart: std::fill(rows, kept, kOne); break;
      case ops::RowSpace::kFlatPart: result.erase(rows, kept); break;
    }
    forms.set(node.outputs()[i], meaning.result, std::move(result));
  }
  return call;
}

}  // namespace tierup::passes
