// See value_queries.h.
#include "tierup/passes/core/value_queries.h"

#include <algorithm>
#include <bit>

#include "tierup/analysis/alias.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

const IValue* constant_of(const Value* value) {
  const Node* node = value->node();
  if (node == nullptr || !node->is(NodeKind::kConstant)) return nullptr;
  return &node->attr<IValue>(ir::AttrName::kValue);
}

std::optional<IValue> known_argument(const Value* value) {
  if (const IValue* constant = constant_of(value)) {
    if (constant->is_tensor()) return std::nullopt;
    return *constant;
  }
  const Node* node = value->node();
  if (node == nullptr || !node->is(NodeKind::kListConstruct) || !is_only_read(value)) {
    return std::nullopt;
  }
  IntVector items;
  for (const Value* input : node->inputs()) {
    const IValue* item = constant_of(input);
    if (item == nullptr || !item->is_int()) return std::nullopt;
    items.push_back(item->to_int());
  }
  return IValue(make_int_list(items));
}

bool is_plain(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::kNone:
    case IValue::Tag::kInt:
    case IValue::Tag::kFloat:
    case IValue::Tag::kBool:
    case IValue::Tag::kDevice:
    case IValue::Tag::kStr:
    case IValue::Tag::kComplex:
    case IValue::Tag::kEnum: return true;
    case IValue::Tag::kTuple: {
      const auto& items = value.to_tuple().items;
      return std::all_of(items.begin(), items.end(), is_plain);
    }
    default: return false;
  }
}

namespace {

bool reads_only(const Node& user, size_t index) {
  if (!user.is(NodeKind::kOp)) return user.is(NodeKind::kListUnpack);
  const ir::Schema& schema = user.op()->schema();
  if (index >= schema.arguments.size()) return false;
  const ir::Argument& argument = schema.arguments[index];
  if (!argument.alias.empty() || argument.element_alias.is_write) return false;
  // Without marks an operator keeps nothing, but one whose result is of an open type may hand its
  // argument on.
  return std::none_of(user.outputs().begin(), user.outputs().end(),
                      [](const Value* output) { return analysis::is_open(*output->type()); });
}

}  // namespace

bool is_only_read_by(const ir::Use& use) {
  return use.user != nullptr && reads_only(*use.user, use.index);
}

bool is_only_read(const Value* container) {
  return std::all_of(container->uses().begin(), container->uses().end(), is_only_read_by);
}

bool is_read_by_items(const Value* list) {
  return std::all_of(list->uses().begin(), list->uses().end(), [](const ir::Use& use) {
    if (use.user == nullptr) return false;
    const ops::Role role = role_of(*use.user);
    return role == ops::Role::kListItem || role == ops::Role::kListLength || is_only_read_by(use);
  });
}

bool is_unused(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(),
                     [](const Value* output) { return output->uses().empty(); });
}

TypePtr without_sizes(const TypePtr& type) {
  if (type->is(TypeKind::kTensor)) {
    TensorFacts facts = type->facts();
    if (!facts.sizes && !facts.strides) return type;
    facts.sizes.reset();
    facts.strides.reset();
    return Type::tensor_with(std::move(facts));
  }
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type->elements()) elements.push_back(without_sizes(element));
  if (elements == type->elements()) return type;
  switch (type->kind()) {
    case TypeKind::kList: return Type::list(elements[0]);
    case TypeKind::kOptional: return Type::optional(elements[0]);
    case TypeKind::kDict: return Type::dict(elements[0], elements[1]);
    case TypeKind::kTuple:
      return type->fields().empty()
                 ? Type::tuple(std::move(elements))
                 : Type::named_tuple(type->name(), type->fields(), std::move(elements));
    default: return type;
  }
}

void drop_sizes(ir::GraphEditor& editor, Value* value) {
  const TypePtr plain = without_sizes(value->type());
  if (plain != value->type()) editor.set_type(value, plain);
}

bool is_before(const Node* a, const Node* b) {
  for (const Node* node = a; node != nullptr; node = node->next()) {
    if (node == b) return true;
  }
  return false;
}

const Node* place_of(const ir::Use& use, const ir::Block* block) {
  const Node* node = use.user != nullptr ? use.user : use.block->parent();
  if (use.user == nullptr && use.block == block) return nullptr;
  while (node != nullptr && node->owner() != block) node = node->owner()->parent();
  return node;
}

bool is_tensor(const ir::Value* value) { return value->type()->is(TypeKind::kTensor); }

std::optional<IntVector> static_sizes(const std::optional<std::vector<Dim>>& dims) {
  if (!dims) return std::nullopt;
  IntVector sizes;
  for (const Dim& dim : *dims) {
    if (dim.kind != Dim::Kind::kStatic) return std::nullopt;
    sizes.push_back(dim.value);
  }
  return sizes;
}

std::optional<size_t> rank_of(const ir::Value* value) {
  const IValue* constant = constant_of(value);
  if (constant != nullptr && constant->tensor_impl() != nullptr)
    return constant->tensor_impl()->sizes.size();
  const auto& sizes = value->type()->facts().sizes;
  return sizes ? std::optional(sizes->size()) : std::nullopt;
}

std::optional<ops::MeaningArgument> meaning_argument(const ir::Value* value,
                                                     std::optional<ScalarType> dtype) {
  if (is_tensor(value)) {
    if (!dtype) return std::nullopt;
    return ops::MeaningArgument{ops::ValueForm{*dtype}, IValue()};
  }
  if (const IValue* constant = constant_of(value)) return ops::MeaningArgument{{}, *constant};
  if (value->type()->is(TypeKind::kInt)) return ops::MeaningArgument{{}, IValue(int64_t{1})};
  if (value->type()->is(TypeKind::kFloat)) return ops::MeaningArgument{{}, IValue(1.0)};
  return std::nullopt;
}

ops::Role role_of(const Node& node) {
  return node.is(NodeKind::kOp) ? ops::op_of(*node.op()).role() : ops::Role::kNone;
}

}  // namespace tierup::passes
