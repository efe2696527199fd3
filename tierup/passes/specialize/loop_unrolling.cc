// See loop_unrolling.h. Inner loops first, so that their copies are unrolled already.
#include "tierup/passes/specialize/loop_unrolling.h"

#include <algorithm>
#include <array>

#include "tierup/ops/table/index_arithmetic.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::IndexOp;

namespace {

size_t count_nodes(const Block& block) {
  size_t count = 0;
  for (const Node* node : block.nodes()) {
    ++count;
    for (const Block* inner : node->blocks()) count += count_nodes(*inner);
  }
  return count;
}

// Without constants, which take no time.
size_t count_steps(const Block& block) {
  size_t count = 0;
  for (const Node* node : block.nodes()) count += node->is(NodeKind::kConstant) ? 0 : 1;
  return count;
}

bool has_blocks(const Block& block) {
  for (const Node* node : block.nodes()) {
    if (!node->blocks().empty()) return true;
  }
  return false;
}

bool makes_tensors(const Block& block) {
  for (const Node* node : block.nodes()) {
    for (const Value* output : node->outputs()) {
      if (is_tensor(output)) return true;
    }
  }
  return false;
}

bool is_pointwise(const Block& block) {
  for (const Node* node : block.nodes()) {
    const bool has_body = node->is(NodeKind::kOp) && ops::op_of(*node->op()).body() != nullptr;
    if (!has_body && !node->is(NodeKind::kConstant)) return false;
  }
  return true;
}

bool has_waits(const Block& block) {
  for (const Node* node : block.nodes()) {
    if (node->is(NodeKind::kWait)) return true;
    for (const Block* inner : node->blocks()) {
      if (has_waits(*inner)) return true;
    }
  }
  return false;
}

bool is_true(const Value* value) {
  const IValue* constant = constant_of(value);
  return constant != nullptr && constant->is_bool() && constant->to_bool();
}

class Unroller {
 public:
  Unroller(PassContext& context, const LoopUnrollingOptions& options)
      : context_(context), editor_(context.editor()), options_(options) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (node->is(NodeKind::kLoop)) visit_loop(node);
    }
  }

 private:
  void visit_loop(Node* loop) {
    const Block& body = *loop->block();
    if (!is_true(loop->input(1)) || !is_true(body.returns()[0]) || has_waits(body)) return;
    const IValue* trips = constant_of(loop->input(0));
    if (trips != nullptr && trips->is_int() &&
        is_short(body, std::max<int64_t>(trips->to_int(), 0))) {
      unroll(loop, std::max<int64_t>(trips->to_int(), 0));
      context_.count("unrolled");
    } else if (options_.factor > 1 && count_steps(body) <= options_.max_body &&
               makes_tensors(body) && !has_blocks(body)) {
      unroll_in_part(loop);
      context_.count("unrolled_in_part");
    }
  }

  bool is_short(const Block& body, int64_t count) const {
    const auto is_within = [&](int64_t trips, size_t nodes) {
      return count <= trips && count_nodes(body) * static_cast<size_t>(count) <= nodes;
    };
    return is_within(options_.max_trips, options_.max_nodes) ||
           (is_pointwise(body) && is_within(options_.max_point_trips, options_.max_point_nodes));
  }

  void unroll(Node* loop, int64_t count) {
    const Block& body = *loop->block();
    std::vector<Value*> carried(loop->inputs().begin() + 2, loop->inputs().end());
    editor_.set_insert_before(loop);
    for (int64_t trip = 0; trip < count; ++trip) {
      ir::ValueMap map;
      add_outer_values(body, map);
      map[body.params()[0]] = editor_.constant(trip);
      for (size_t i = 0; i < carried.size(); ++i) map[body.params()[i + 1]] = carried[i];
      std::vector<Value*> next = editor_.inline_block(body, map);
      for (const auto& [original, copy] : map) take_over(original, copy);
      carried.assign(next.begin() + 1, next.end());
    }
    for (size_t i = 0; i < carried.size(); ++i) {
      keep_type(loop->output(i), carried[i]);
      editor_.replace_uses(loop->output(i), carried[i]);
    }
    editor_.remove(loop);
  }

  void unroll_in_part(Node* loop) {
    editor_.set_insert_before(loop);
    editor_.set_range(loop->range());
    Value* width = editor_.constant(options_.factor);
    Value* trips = number(IndexOp::kLargest, loop->input(0), editor_.constant(int64_t{0}));
    Value* rounds = number(IndexOp::kFloorDivide, trips, width);
    Value* done = number(IndexOp::kMultiply, rounds, width);
    Value* rest = number(IndexOp::kSubtract, trips, done);
    std::vector<Value*> carried(loop->inputs().begin() + 2, loop->inputs().end());
    carried = add_loop(
        loop, rounds, std::move(carried),
        [&](Value* counter, int64_t copy) {
          return number(IndexOp::kAdd, number(IndexOp::kMultiply, counter, width),
                        editor_.constant(copy));
        },
        options_.factor);
    carried = add_loop(
        loop, rest, std::move(carried),
        [&](Value* counter, int64_t) { return number(IndexOp::kAdd, counter, done); }, 1);
    for (size_t i = 0; i < carried.size(); ++i) editor_.replace_uses(loop->output(i), carried[i]);
    editor_.remove(loop);
  }

  Value* number(IndexOp op, Value* left, Value* right) {
    return editor_
        .create_op(*context_.table().find(ops::operator_for(op)), std::array{left, right})
        ->output();
  }

  // A loop in front of `loop` with so many copies of its body, and what it gives. `counter_of`
  // makes what the n-th copy takes for its counter of the new loop's.
  template <typename CounterOf>
  std::vector<Value*> add_loop(Node* loop, Value* trips, std::vector<Value*> carried,
                               const CounterOf& counter_of, int64_t copies) {
    const Block& body = *loop->block();
    std::vector<Value*> inputs{trips, loop->input(1)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    editor_.set_insert_before(loop);
    Node* made = editor_.create(NodeKind::kLoop, inputs);
    // Without sizes, as the copies of the body that give the next values: see take_over().
    for (Value* output : loop->outputs()) {
      Value* added = editor_.add_output(made, output->type(), output->name());
      context_.hints().copy(output, added);
      drop_sizes(editor_, added);
    }
    Block* block = editor_.add_block(made);
    std::vector<Value*> values;
    for (const Value* param : body.params()) {
      values.push_back(editor_.add_param(block, param->type(), param->name()));
      drop_sizes(editor_, values.back());
    }
    Value* counter = values.front();
    values.erase(values.begin());
    editor_.set_insert_end(block);
    for (int64_t copy = 0; copy < copies; ++copy) {
      ir::ValueMap map;
      add_outer_values(body, map);
      const bool counts = !body.params()[0]->uses().empty();
      map[body.params()[0]] = counts ? counter_of(counter, copy) : counter;
      for (size_t i = 0; i < values.size(); ++i) map[body.params()[i + 1]] = values[i];
      const std::vector<Value*> next = editor_.inline_block(body, map);
      for (const auto& [original, inlined] : map) take_over(original, inlined);
      values.assign(next.begin() + 1, next.end());
    }
    editor_.add_return(block, loop->input(1));
    for (Value* value : values) editor_.add_return(block, value);
    return {made->outputs().begin(), made->outputs().end()};
  }

  // What was seen of a value in all trips was seen of each copy, but a size's symbol names another
  // size in each trip.
  void take_over(const Value* original, Value* copy) {
    if (original == copy || copy->node() == nullptr || original->node() == nullptr) return;
    context_.hints().copy(original, copy);
    drop_sizes(editor_, copy);
  }

  // What was known of a loop's result holds for the value of the last trip, from which structures
  // around the loop have their types.
  void keep_type(const Value* result, Value* last) {
    if (result->type()->is(TypeKind::kTensor) && may_have(last, result->type()))
      set_type(last, result->type());
  }
  // What branches return has to have a branching's type: values from before it may do so only
  // where that branch is taken.
  static bool may_have(const Value* value, const TypePtr& type) {
    if (is_subtype(value->type(), type)) return true;
    const Node* node = value->node();
    if (!value->type()->is(TypeKind::kTensor) || node == nullptr) return false;
    if (node->blocks().empty()) return true;
    return node->is(NodeKind::kIf) && std::ranges::all_of(node->blocks(), [&](const Block* block) {
             const Value* returned = block->returns()[value->index()];
             const bool is_inner =
                 returned->node() != nullptr && returned->node()->owner() == block;
             return is_inner ? may_have(returned, type) : is_subtype(returned->type(), type);
           });
  }
  void set_type(Value* value, const TypePtr& type) {
    if (is_subtype(value->type(), type)) return;
    for (const Block* block : value->node()->blocks())
      set_type(block->returns()[value->index()], type);
    editor_.set_type(value, type);
  }

  // Values from around the loop stand for themselves in the copies.
  static void add_outer_values(const Block& block, ir::ValueMap& map) {
    const auto add = [&](Value* value) { map.emplace(value, value); };
    for (const Node* node : block.nodes()) {
      for (Value* input : node->inputs()) add(input);
      for (const Block* inner : node->blocks()) add_outer_values(*inner, map);
    }
    for (Value* value : block.returns()) add(value);
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const LoopUnrollingOptions& options_;
};

}  // namespace

void loop_unrolling(PassContext& context, const LoopUnrollingOptions& options) {
  Unroller(context, options).visit_block(context.graph().block());
}

}  // namespace tierup::passes
