// See propagate_dtypes.h. One walk in program order; blocks see the values around them.
#include "tierup/passes/specialize/propagate_dtypes.h"

#include <algorithm>
#include <unordered_map>

#include "tierup/ops/regions/pointwise_meaning.h"
#include "tierup/ops/shapes/shape_context.h"
#include "tierup/ops/table/facts.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Role;

namespace {

using DType = std::optional<ScalarType>;

// Whether results have the dtype of the first argument, whatever that is.
bool keeps_dtype(Role role) {
  switch (role) {
    case Role::kExpand:
    case Role::kView:
    case Role::kSelect:
    case Role::kSlice:
    case Role::kUnbind:
    case Role::kParts:
    case Role::kTranspose:
    case Role::kRearrangement:
    case Role::kFlatten:
    case Role::kLinear:
    case Role::kMatmul: return true;
    default: return false;
  }
}

bool moves_elements(const Node& node) {
  return ops::op_of(*node.op()).facts().net == ops::OpKind::kRoll;
}

bool joins(const Node& node) { return ops::op_of(*node.op()).facts().join != ops::JoinKind::kNone; }

// What an operator is told to make. Norms of complex numbers are real, and our own operator leaves
// some dtypes alone.
DType given_dtype(const ir::Schema& schema, const IValue& wanted) {
  const auto dtype = static_cast<ScalarType>(wanted.to_int());
  const bool is_own = schema.name.starts_with("tierup::");
  return is_own || is_complex(dtype) ? std::nullopt : DType(dtype);
}

class DtypePropagation {
 public:
  explicit DtypePropagation(PassContext& context)
      : context_(context), editor_(context.editor()), alias_(context.alias()) {}

  void run() {
    find_changes(context_.graph().block());
    visit(context_.graph().block());
    for (const auto& [value, dtype] : found_) mark(value, dtype);
  }

 private:
  // Nodes that may give a tensor another storage, and with it another dtype.
  void find_changes(const Block& block) {
    for (const Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) find_changes(*inner);
      const bool is_op = node->is(NodeKind::kOp);
      if (is_op ? ops::changes_geometry(*node->op())
                : node->blocks().empty() && alias_.writes_anything(node)) {
        changes_.push_back(node);
      }
    }
  }
  bool is_steady(const Value* value) const {
    return std::none_of(changes_.begin(), changes_.end(),
                        [&](const Node* node) { return alias_.writes(node, value); });
  }

  // Of a tensor, or of all tensors of a list.
  DType of(const Value* value) const {
    if (const IValue* constant = constant_of(value)) {
      const TensorImpl* tensor = constant->tensor_impl();
      return tensor == nullptr ? std::nullopt : DType(tensor->dtype);
    }
    const auto found = found_.find(value);
    if (found != found_.end()) return found->second;
    return is_tensor(value) ? value->type()->facts().dtype : std::nullopt;
  }

  void set(const Value* value, DType dtype) {
    if (dtype && is_tensor(value) && !is_steady(value)) dtype.reset();
    if (dtype) {
      found_[value] = *dtype;
    } else {
      found_.erase(value);
    }
  }

  void visit(const Block& block) {
    for (const Node* node : block.nodes()) visit(*node);
  }

  void visit(const Node& node) {
    switch (node.kind()) {
      case NodeKind::kConstant: return set(node.output(), of(node.output()));
      case NodeKind::kListConstruct:
        if (is_only_read(node.output())) set(node.output(), common_dtype(node));
        return;
      case NodeKind::kListUnpack:
        for (const Value* output : node.outputs()) set(output, of(node.input()));
        return;
      case NodeKind::kIf: return visit_if(node);
      case NodeKind::kLoop: return visit_loop(node);
      case NodeKind::kOp: return visit_op(node);
      default:
        for (const Block* inner : node.blocks()) visit(*inner);
    }
  }

  // Of all tensors among the inputs; none if they differ, or there are none.
  DType common_dtype(const Node& node) const {
    DType common;
    for (const Value* input : node.inputs()) {
      if (!is_tensor(input)) continue;
      const DType dtype = of(input);
      if (!dtype || dtype != common.value_or(*dtype)) return std::nullopt;
      common = dtype;
    }
    return common;
  }

  void visit_if(const Node& node) {
    for (const Block* inner : node.blocks()) visit(*inner);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const DType dtype = of(node.block(0)->returns()[i]);
      set(node.output(i), dtype == of(node.block(1)->returns()[i]) ? dtype : std::nullopt);
    }
  }

  // Carried values are taken to keep the dtype that they start with. Where a trip gives another,
  // nothing is known of them, and the body gone over again; not deep inside of other loops, whose
  // bodies are gone over again too.
  void visit_loop(const Node& node) {
    constexpr int kDeepest = 3;
    const Block& body = *node.block();
    const size_t count = node.outputs().size();
    std::vector<DType> carried(count);
    for (size_t i = 0; i < count; ++i) {
      const bool changes = body.returns()[i + 1] != body.params()[i + 1];
      if (!changes || depth_ < kDeepest) carried[i] = of(node.input(i + 2));
    }
    ++depth_;
    for (bool again = true; again;) {
      for (size_t i = 0; i < count; ++i) set(body.params()[i + 1], carried[i]);
      visit(body);
      again = false;
      for (size_t i = 0; i < count; ++i) {
        if (!carried[i] || of(body.returns()[i + 1]) == carried[i]) continue;
        carried[i].reset();
        again = true;
      }
    }
    --depth_;
    for (size_t i = 0; i < count; ++i) set(node.output(i), carried[i]);
  }

  void visit_op(const Node& node) {
    const ir::Schema& schema = node.op()->schema();
    for (const Value* output : node.outputs()) set(output, std::nullopt);
    if (node.outputs().size() != 1 || schema.is_vararg || schema.arguments.empty() ||
        node.inputs().size() != schema.arguments.size()) {
      return;
    }
    set(node.output(), result_dtype(node, schema));
  }

  // Of the tensor whose dtype this number is.
  DType asked_dtype(const Value* number) const {
    const Node* node = number->node();
    const bool asks = node != nullptr && role_of(*node) == Role::kElementType;
    return asks ? of(node->input(0)) : std::nullopt;
  }

  DType result_dtype(const Node& node, const ir::Schema& schema) const {
    const DType first = of(node.input(0));
    const TypePtr& type = node.output()->type();
    if (type->is(TypeKind::kList)) {
      const bool shows = keeps_dtype(role_of(node)) && is_only_read(node.output());
      return shows ? first : std::nullopt;
    }
    if (!is_tensor(node.output())) return std::nullopt;
    // In place a tensor stays what it is.
    if (schema.arguments[0].alias.is_write) return first;
    if (schema.is_mutating()) return std::nullopt;
    if (const std::optional<size_t> place = schema.find_argument("dtype")) {
      const Value* given = node.input(*place);
      const IValue* wanted = constant_of(given);
      if (wanted != nullptr && wanted->is_int()) return given_dtype(schema, *wanted);
      if (const DType other = asked_dtype(given)) {
        return given_dtype(schema, IValue(static_cast<int64_t>(*other)));
      }
      const bool is_default = wanted != nullptr && wanted->is_none();
      // Of integers, sums are wider.
      return is_default && first && is_floating(*first) ? first : std::nullopt;
    }
    if (keeps_dtype(role_of(node)) || joins(node) || moves_elements(node)) return first;
    return ops::op_of(*node.op()).body() != nullptr ? pointwise_dtype(node) : std::nullopt;
  }

  // As the row says for these arguments. How many dimensions they have matters where dtypes differ.
  DType pointwise_dtype(const Node& node) const {
    const bool is_alike = common_dtype(node).has_value();
    std::vector<ops::MeaningArgument> arguments;
    for (const Value* input : node.inputs()) {
      const DType dtype = is_tensor(input) ? of(input) : std::nullopt;
      const bool is_known = !is_tensor(input) || is_alike || has_dimensions(input);
      std::optional<ops::MeaningArgument> argument = meaning_argument(input, dtype);
      if (!argument || !is_known) return std::nullopt;
      arguments.push_back(*std::move(argument));
    }
    const ops::PointwiseMeaning meaning = meaning_of(ops::op_of(*node.op()), arguments);
    return meaning.refusal ? std::nullopt : DType(meaning.result.dtype);
  }

  static bool has_dimensions(const Value* value) {
    if (const IValue* constant = constant_of(value)) return !constant->to_tensor().sizes().empty();
    const auto& sizes = value->type()->facts().sizes;
    return sizes && !sizes->empty();
  }

  void mark(const Value* value, ScalarType dtype) {
    if (!is_tensor(value) || value->type()->facts().dtype) return;
    TensorFacts facts = value->type()->facts();
    facts.dtype = dtype;
    editor_.set_type(const_cast<Value*>(value), Type::tensor_with(std::move(facts)));
    context_.count("known");
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const analysis::AliasAnalysis& alias_;
  int depth_ = 0;  // Of loops around the place.
  std::vector<const Node*> changes_;
  std::unordered_map<const Value*, ScalarType> found_;
};

}  // namespace

void propagate_dtypes(PassContext& context) { DtypePropagation(context).run(); }

}  // namespace tierup::passes
