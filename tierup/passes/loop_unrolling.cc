// See loop_unrolling.h. Inner loops first, so that their copies are unrolled already.
#include "tierup/passes/loop_unrolling.h"

#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

size_t count_nodes(const Block& block) {
  size_t count = 0;
  for (const Node* node : block.nodes()) {
    ++count;
    for (const Block* inner : node->blocks()) count += count_nodes(*inner);
  }
  return count;
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
    const IValue* trips = constant_of(loop->input(0));
    const Block& body = *loop->block();
    if (trips == nullptr || !trips->is_int() || !is_true(loop->input(1)) ||
        !is_true(body.returns()[0]) || has_waits(body)) {
      return;
    }
    const int64_t count = std::max<int64_t>(trips->to_int(), 0);
    if (count > options_.max_trips ||
        count_nodes(body) * static_cast<size_t>(count) > options_.max_nodes) {
      return;
    }
    unroll(loop, count);
    context_.count("unrolled");
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
      editor_.replace_uses(loop->output(i), carried[i]);
    }
    editor_.remove(loop);
  }

  // What was seen of a value in all trips was seen of each copy, but a size's symbol names another
  // size in each trip.
  void take_over(const Value* original, Value* copy) {
    if (original == copy || copy->node() == nullptr || original->node() == nullptr) return;
    context_.hints().copy(original, copy);
    drop_sizes(editor_, copy);
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
