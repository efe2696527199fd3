// v1::PassGraph and its handles over executor::GraphRewrite.
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/executor/graph_rewrite.h"
#include "tierup/pass.h"

namespace tierup::v1 {
namespace {

const ir::Value& value_of(const void* value) { return *static_cast<const ir::Value*>(value); }
const ir::Node& node_of(const void* node) { return *static_cast<const ir::Node*>(node); }
executor::GraphRewrite& rewrite_of(void* rewrite) {
  return *static_cast<executor::GraphRewrite*>(rewrite);
}

}  // namespace

std::string PassValue::type() const { return value_of(value_).type()->to_string(); }
std::string PassValue::debug_name() const { return value_of(value_).name(); }
size_t PassValue::use_count() const { return value_of(value_).uses().size(); }

std::optional<Value> PassValue::constant() const {
  const IValue* constant = executor::GraphRewrite::constant_of(value_of(value_));
  if (constant == nullptr) return std::nullopt;
  return Access::wrap(*constant);
}

std::optional<PassNode> PassValue::producer() const {
  ir::Node* node = value_of(value_).node();
  if (node == nullptr) return std::nullopt;
  return PassNode(node);
}

std::string PassNode::name() const { return node_of(node_).display_name(); }
std::string PassNode::place() const { return node_of(node_).range().highlight(); }

std::vector<PassValue> PassNode::inputs() const {
  std::vector<PassValue> result;
  for (ir::Value* input : node_of(node_).inputs()) result.push_back(PassValue(input));
  return result;
}
std::vector<PassValue> PassNode::outputs() const {
  std::vector<PassValue> result;
  for (ir::Value* output : node_of(node_).outputs()) result.push_back(PassValue(output));
  return result;
}

PassValue PassNode::input(size_t index) const {
  return guarded([&] {
    require(index < node_of(node_).inputs().size(), ::tierup::ErrorCode::kOutOfRange,
            "'{}' has no input {}", name(), index);
    return PassValue(node_of(node_).input(index));
  });
}
PassValue PassNode::output(size_t index) const {
  return guarded([&] {
    require(index < node_of(node_).outputs().size(), ::tierup::ErrorCode::kOutOfRange,
            "'{}' has no output {}", name(), index);
    return PassValue(node_of(node_).output(index));
  });
}

std::vector<PassNode> PassGraph::nodes() const {
  return guarded([&] {
    std::vector<PassNode> result;
    for (ir::Node* node : rewrite_of(rewrite_).nodes()) result.push_back(PassNode(node));
    return result;
  });
}
std::vector<PassValue> PassGraph::inputs() const {
  std::vector<PassValue> result;
  for (ir::Value* value : rewrite_of(rewrite_).graph().inputs()) result.push_back(PassValue(value));
  return result;
}
std::vector<PassValue> PassGraph::outputs() const {
  std::vector<PassValue> result;
  for (ir::Value* value : rewrite_of(rewrite_).graph().outputs())
    result.push_back(PassValue(value));
  return result;
}

PassValue PassGraph::constant(const Value& value, PassNode before) {
  return guarded([&] {
    return PassValue(rewrite_of(rewrite_).constant(Access::unwrap(value),
                                                   *static_cast<ir::Node*>(before.node_)));
  });
}

PassNode PassGraph::insert(std::string_view op, const std::vector<PassValue>& inputs,
                           PassNode before) {
  return guarded([&] {
    std::vector<ir::Value*> values;
    for (const PassValue& input : inputs) values.push_back(static_cast<ir::Value*>(input.value_));
    return PassNode(rewrite_of(rewrite_).insert(op, values, *static_cast<ir::Node*>(before.node_)));
  });
}

void PassGraph::replace_uses(PassValue from, PassValue to) {
  guarded([&] {
    rewrite_of(rewrite_).replace_uses(*static_cast<ir::Value*>(from.value_),
                                      *static_cast<ir::Value*>(to.value_));
  });
}

PassNode PassGraph::replace(PassNode node, std::string_view op,
                            const std::vector<PassValue>& inputs) {
  return guarded([&] {
    const PassNode made = insert(op, inputs, node);
    const std::vector<PassValue> from = node.outputs();
    const std::vector<PassValue> to = made.outputs();
    require(from.size() == to.size(), ::tierup::ErrorCode::kInvalidArgument,
            "'{}' has {} outputs, '{}' {}", node.name(), from.size(), op, to.size());
    for (size_t i = 0; i < from.size(); ++i) replace_uses(from[i], to[i]);
    remove(node);
    return made;
  });
}

void PassGraph::remove(PassNode node) {
  guarded([&] { rewrite_of(rewrite_).remove(*static_cast<ir::Node*>(node.node_)); });
}

void PassGraph::note(std::string line) { rewrite_of(rewrite_).note(std::move(line)); }

std::vector<executor::UserPass> inner_passes(const std::vector<GraphPass>& passes) {
  std::vector<executor::UserPass> result;
  for (const GraphPass& pass : passes) {
    executor::UserPass& inner = result.emplace_back();
    inner.name = pass.name;
    inner.place = static_cast<executor::PassPlace>(pass.place);
    if (!pass.run) continue;
    inner.run = [run = pass.run](executor::GraphRewrite& rewrite) {
      PassGraph graph = Access::pass_graph(&rewrite);
      run(graph);
    };
  }
  return result;
}

}  // namespace tierup::v1
