#include "tierup/executor/graph_rewrite.h"

#include "tierup/base/error.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::executor {
namespace {

void collect(const ir::Block& block, std::vector<ir::Node*>& nodes) {
  for (ir::Node* node : block.nodes()) {
    nodes.push_back(node);
    for (const ir::Block* inner : node->blocks()) collect(*inner, nodes);
  }
}

void require_there(const ir::Node& node) {
  require(node.owner() != nullptr, ErrorCode::kInvalidArgument, "the node was removed before");
}

}  // namespace

std::vector<ir::Node*> GraphRewrite::nodes() const {
  std::vector<ir::Node*> result;
  collect(graph().block(), result);
  return result;
}

const IValue* GraphRewrite::constant_of(const ir::Value& value) {
  const ir::Node* node = value.node();
  if (node == nullptr || !node->is(ir::NodeKind::kConstant)) return nullptr;
  return &node->attr<IValue>(ir::AttrName::kValue);
}

ir::Value* GraphRewrite::constant(IValue value, ir::Node& before) {
  require_there(before);
  editor_.set_insert_before(&before);
  editor_.set_range(before.range());
  return editor_.constant(std::move(value));
}

const ir::Operator& GraphRewrite::find(std::string_view op) const {
  if (const ops::Op* known = ops::OpTable::instance().find(op)) return *known;
  const ops::Op* own = operators_ == nullptr ? nullptr : operators_->find(op);
  require(own != nullptr, ErrorCode::kNotFound, "there is no operator '{}'", op);
  return *own;
}

ir::Node* GraphRewrite::insert(std::string_view op, std::span<ir::Value* const> inputs,
                               ir::Node& before) {
  require_there(before);
  const ir::Operator& known = find(op);
  const auto& arguments = known.schema().arguments;
  require(inputs.size() <= arguments.size(), ErrorCode::kInvalidArgument,
          "'{}' takes {} arguments, not {}", op, arguments.size(), inputs.size());
  std::vector<ir::Value*> all(inputs.begin(), inputs.end());
  for (size_t i = inputs.size(); i < arguments.size(); ++i) {
    const ir::Argument& argument = arguments[i];
    require(argument.default_value.has_value(), ErrorCode::kInvalidArgument,
            "argument '{}' of '{}' has no default", argument.name, op);
    all.push_back(constant(*argument.default_value, before));
  }
  editor_.set_insert_before(&before);
  editor_.set_range(before.range());
  editor_.set_call_chain(before.call_chain());
  ir::Node* node = editor_.create_op(known, all);
  editor_.set_call_chain(nullptr);
  return node;
}

void GraphRewrite::replace_uses(ir::Value& from, ir::Value& to) {
  require(is_subtype(to.type(), from.type()) || is_subtype(from.type(), to.type()),
          ErrorCode::kInvalidArgument, "a value of type {} cannot stand for one of type {}",
          to.type()->to_string(), from.type()->to_string());
  editor_.replace_uses(&from, &to);
}

void GraphRewrite::remove(ir::Node& node) {
  require_there(node);
  for (const ir::Value* output : node.outputs()) {
    require(output->uses().empty(), ErrorCode::kInvalidArgument,
            "'{}' cannot be removed: an output is used {} times", node.display_name(),
            output->uses().size());
  }
  editor_.remove(&node);
}

}  // namespace tierup::executor
