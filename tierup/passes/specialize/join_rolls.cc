// See join_rolls.h.
#include "tierup/passes/specialize/join_rolls.h"

#include <algorithm>
#include <array>
#include <map>

#include "tierup/ops/table/facts.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

struct Roll {
  Node* node;
  std::map<int64_t, int64_t> shifts;  // By dimension.
};
struct Reach {
  int64_t before = 0, after = 0;
};

class RollJoiner {
 public:
  explicit RollJoiner(PassContext& context)
      : context_(context), editor_(context.editor()), alias_(context.alias()) {}

  void visit(const Block& block) {
    std::vector<Value*> order;
    std::map<const Value*, std::vector<Roll>> rolls;
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit(*inner);
      std::optional<Roll> roll = roll_of(*node);
      if (!roll) continue;
      std::vector<Roll>& family = rolls[node->input(0)];
      if (family.empty()) order.push_back(node->input(0));
      family.push_back(*std::move(roll));
    }
    for (Value* value : order) families_.emplace_back(value, std::move(rolls[value]));
  }

  void run() {
    visit(context_.graph().block());
    for (const auto& [value, rolls] : families_) {
      const std::map<int64_t, Reach> reach = reach_of(rolls);
      if (is_worth_it(*value, rolls, reach)) join(value, rolls, reach);
    }
  }

 private:
  std::optional<Roll> roll_of(Node& node) const {
    const bool rolls = node.is(NodeKind::kOp) && node.inputs().size() == 3 &&
                       ops::op_of(*node.op()).facts().net == ops::OpKind::kRoll;
    if (!rolls || is_written(node.input(0)) || is_written(node.output()) || !is_computed_with(node))
      return std::nullopt;
    const std::optional<IValue> shifts = known_argument(node.input(1));
    const std::optional<IValue> dims = known_argument(node.input(2));
    const auto& sizes = node.input(0)->type()->facts().sizes;
    if (!shifts || !dims || !sizes || !shifts->is_list() || !dims->is_list()) return std::nullopt;
    const auto& by = shifts->to_list().items;
    const auto& along = dims->to_list().items;
    const auto rank = static_cast<int64_t>(sizes->size());
    if (along.empty() || by.size() != along.size()) return std::nullopt;
    Roll roll{&node, {}};
    for (size_t i = 0; i < along.size(); ++i) {
      const int64_t dim = along[i].to_int();
      if (dim < -rank || dim >= rank) return std::nullopt;
      roll.shifts[dim < 0 ? dim + rank : dim] += by[i].to_int();
    }
    return roll;
  }
  bool is_written(const Value* value) const {
    return constant_of(value) == nullptr && alias_.has_writers(value);
  }
  // Whether all that reads it computes new values, element by element.
  static bool is_computed_with(const Node& node) {
    const auto uses = node.output()->uses();
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
      if (use.user == nullptr || !use.user->is(NodeKind::kOp)) return false;
      const ir::Schema& schema = use.user->op()->schema();
      return ops::op_of(*use.user->op()).body() != nullptr && schema.returns.size() == 1 &&
             schema.returns[0].alias.empty() && use.user->owner() == node.owner();
    });
  }

  static std::map<int64_t, Reach> reach_of(const std::vector<Roll>& rolls) {
    std::map<int64_t, Reach> reach;
    for (const Roll& roll : rolls) {
      for (const auto& [dim, shift] : roll.shifts) {
        Reach& own = reach[dim];
        own.before = std::max(own.before, shift);
        own.after = std::max(own.after, -shift);
      }
    }
    return reach;
  }
  bool is_worth_it(const Value& value, const std::vector<Roll>& rolls,
                   const std::map<int64_t, Reach>& reach) const {
    const TensorFacts* seen = context_.hints().find(&value);
    std::optional<IntVector> sizes = seen == nullptr ? std::nullopt : static_sizes(seen->sizes);
    if (!sizes) sizes = static_sizes(value.type()->facts().sizes);
    if (rolls.size() < 2 || !sizes) return false;
    const int64_t elements = numel_of(*sizes);
    for (const auto& [dim, own] : reach) {
      const auto d = static_cast<size_t>(dim);
      if (d >= sizes->size()) return false;
      (*sizes)[d] += own.before + own.after;
    }
    return numel_of(*sizes) <= 2 * elements;
  }

  void join(Value* value, const std::vector<Roll>& rolls, const std::map<int64_t, Reach>& reach) {
    IntVector dims;
    IntVector before;
    IntVector after;
    for (const auto& [dim, own] : reach) {
      dims.push_back(dim);
      before.push_back(own.before);
      after.push_back(own.after);
    }
    begin_before(*rolls.front().node);
    const std::array<Value*, 4> arguments{value, editor_.constant(IValue(make_int_list(dims))),
                                          editor_.constant(IValue(make_int_list(before))),
                                          editor_.constant(IValue(make_int_list(after)))};
    Value* wrapped = editor_.create_op(*context_.table().find("tierup::wrap"), arguments)->output();
    for (const Roll& roll : rolls) take_place(roll, wrapped, reach);
    editor_.set_range({});
  }
  void begin_before(Node& node) {
    editor_.set_insert_before(&node);
    editor_.set_range(node.range());
    editor_.set_call_chain(node.call_chain());
  }
  // y[i] = x[i - shift] = wrapped[i - shift + before].
  void take_place(const Roll& roll, Value* wrapped, const std::map<int64_t, Reach>& reach) {
    begin_before(*roll.node);
    Value* slice = wrapped;
    for (const auto& [dim, own] : reach) {
      const auto found = roll.shifts.find(dim);
      const int64_t shift = found == roll.shifts.end() ? 0 : found->second;
      const int64_t rest = own.after + shift;
      const std::array<Value*, 5> arguments{
          slice, editor_.constant(dim), editor_.constant(own.before - shift),
          rest == 0 ? editor_.constant(IValue()) : editor_.constant(-rest),
          editor_.constant(int64_t{1})};
      slice = editor_.create_op(context_.table().with(ops::Role::kSlice), arguments)->output();
    }
    const Value* result = roll.node->output();
    editor_.set_type(slice, result->type());
    context_.hints().copy(result, slice);
    editor_.replace_uses(roll.node->output(), slice);
    editor_.remove(roll.node);
    context_.count("joined");
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;
  std::vector<std::pair<Value*, std::vector<Roll>>> families_;
};

}  // namespace

void join_rolls(PassContext& context) { RollJoiner(context).run(); }

}  // namespace tierup::passes
