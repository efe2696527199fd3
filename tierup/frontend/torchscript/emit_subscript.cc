// x[...]: elements, slices and views; read, written and augmented.
#include <fmt/format.h>

#include <algorithm>

#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

std::optional<int64_t> constant_int(const Value* value) {
  if (!is_int_constant(value)) return std::nullopt;
  return value->node()->attr<IValue>(ir::AttrName::kValue).to_int();
}

bool is_ellipsis(const Expr& e) { return e.is(ExprKind::kEllipsis); }

// Whether an index keeps or consumes a dimension of the tensor (all but None do).
bool takes_dimension(const Expr& e) { return !e.is(ExprKind::kNone); }

std::vector<const Expr*> index_expressions(const Expr& subscript) {
  std::vector<const Expr*> indices(subscript.children.begin() + 1, subscript.children.end());
  if (indices.size() == 1 && indices[0]->is(ExprKind::kTuple)) {
    return {indices[0]->children.begin(), indices[0]->children.end()};
  }
  return indices;
}

}  // namespace

Value* FunctionEmitter::emit_subscript(const Expr& e, const TypePtr& hint) {
  Value* base = emit(*e.child(0));
  set_range(e.span);
  const TypePtr& type = base->type();
  if (builder_.is_poisoned(base)) return builder_.trap_after({&base, 1});
  if (type->is(TypeKind::kTensor)) {
    Value* indices = nullptr;
    Value* view = subscript_of_tensor(base, e, &indices);
    return indices == nullptr ? view : aten("index", {view, indices}, e.span);
  }
  if (e.children.size() != 2) {
    fail_here(e.span, fmt::format("'{}' takes one index", type->to_string()));
  }
  const Expr& index = *e.child(1);
  if (type->is(TypeKind::kTuple)) return subscript_of_tuple(base, e);
  if (index.is(ExprKind::kSlice)) return slice_of_value(base, index);
  if (const ClassType* class_type = type->as_class()) {
    if (class_type->find_method("__getitem__")) {
      CallArguments arguments;
      arguments.positional.push_back(emit_actual(index));
      return call_method(base, "__getitem__", arguments, e.span);
    }
    return subscript_of_module(base, index, hint);
  }
  Value* key = emit(index);
  set_range(e.span);
  return aten("__getitem__", {base, key}, e.span);
}

Value* FunctionEmitter::subscript_of_tuple(Value* tuple, const Expr& e) {
  const TypePtr type = tuple->type();
  const auto count = static_cast<int64_t>(type->elements().size());
  const Expr& index = *e.child(1);
  if (index.is(ExprKind::kSlice)) {
    int64_t bounds[3] = {0, count, 1};
    for (size_t i = 0; i < 3; ++i) {
      if (index.child(i) == nullptr) continue;
      const std::optional<int64_t> bound = constant_int(emit(*index.child(i)));
      if (!bound.has_value()) fail_here(index.span, "tuple slices must have constant bounds");
      bounds[i] = *bound;
    }
    if (bounds[2] != 1) fail_here(index.span, "tuple slices take no step");
    for (int64_t* bound : {&bounds[0], &bounds[1]}) {
      if (*bound < 0) *bound += count;
      *bound = std::clamp<int64_t>(*bound, 0, count);
    }
    bounds[1] = std::max(bounds[0], bounds[1]);
    std::vector<TypePtr> types(type->elements().begin() + bounds[0],
                               type->elements().begin() + bounds[1]);
    Value* result = builder_.node(NodeKind::kTupleSlice, {tuple}, Type::tuple(std::move(types)));
    editor().set_attr(result->node(), ir::AttrName::kBegin, ir::AttrValue(bounds[0]));
    editor().set_attr(result->node(), ir::AttrName::kEnd, ir::AttrValue(bounds[1]));
    return result;
  }
  Value* position = emit(index);
  set_range(e.span);
  std::optional<int64_t> constant = constant_int(position);
  if (!constant.has_value()) {
    // A variable index needs elements of one type.
    const std::vector<Value*> items =
        unpack(Sugared::of(tuple), static_cast<size_t>(count), false, e.span);
    const TypePtr element = common_type(items);
    if (element == nullptr) {
      fail_here(e.span, "tuple index must be a constant where the elements have several types");
    }
    Value* list = builder_.node(NodeKind::kListConstruct, items, Type::list(element));
    return aten("__getitem__", {list, position}, e.span);
  }
  if (*constant < 0) *constant += count;
  if (*constant < 0 || *constant >= count) fail_here(e.span, "Tuple list index out of range");
  Value* result =
      builder_.node(NodeKind::kTupleIndex, {tuple}, type->element(static_cast<size_t>(*constant)));
  editor().set_attr(result->node(), ir::AttrName::kIndex, ir::AttrValue(*constant));
  return result;
}

// container[index] of a ModuleList or ModuleDict: by position among submodules, or by name.
Value* FunctionEmitter::subscript_of_module(Value* container, const Expr& index,
                                            const TypePtr& hint) {
  const ClassType* type = container->type()->as_class();
  Value* key = emit(index);
  if (hint != nullptr && hint->as_class() != nullptr) {
    return builder_.node(NodeKind::kModuleIndex, {container, key}, hint);
  }
  std::vector<std::string> names;
  for (const ClassType::Attribute& attribute : type->attributes()) {
    const ClassType* part = attribute.type->as_class();
    if (part != nullptr && part->is_module()) names.push_back(attribute.name);
  }
  std::optional<std::string> name;
  if (std::optional<int64_t> position = constant_int(key)) {
    const auto count = static_cast<int64_t>(names.size());
    if (*position < 0) *position += count;
    if (*position >= 0 && *position < count) name = names[static_cast<size_t>(*position)];
  } else if (index.is(ExprKind::kString)) {
    name = index.text;
  }
  if (!name.has_value()) {
    fail_here(index.span, fmt::format("'{}' needs a constant index inside of its bounds, or an "
                                      "annotation with an interface type",
                                      type->name()));
  }
  return as_value(value_member(container, *name, index.span), index.span);
}

// list[a:b:c], str[a:b:c].
Value* FunctionEmitter::slice_of_value(Value* value, const Expr& slice) {
  std::vector<Value*> inputs = {value};
  for (size_t i = 0; i < 3; ++i) {
    if (slice.child(i) != nullptr) {
      inputs.push_back(emit(*slice.child(i)));
    } else {
      inputs.push_back(i == 2 ? builder_.constant(1) : builder_.none());
    }
  }
  return aten("slice", inputs, slice.span);
}

Value* FunctionEmitter::subscript_of_tensor(Value* tensor, const Expr& e, Value** indices) {
  const std::vector<const Expr*> specs = index_expressions(e);
  std::vector<Value*> selected;  // Tensor indices by dimension; null where there is none.
  int64_t dim = 0;
  bool from_right = false;
  for (size_t i = 0; i < specs.size(); ++i) {
    const Expr& spec = *specs[i];
    if (is_ellipsis(spec)) {
      if (from_right) fail_here(spec.span, "an index can only have one ellipsis");
      from_right = true;
      continue;
    }
    if (from_right) {
      // Dimensions are counted from the end by what is still to come.
      const auto rest = std::count_if(specs.begin() + static_cast<std::ptrdiff_t>(i), specs.end(),
                                      [](const Expr* s) { return takes_dimension(*s); });
      dim = takes_dimension(spec) ? -rest : -rest - 1;
    }
    if (spec.is(ExprKind::kNone)) {
      tensor = aten("unsqueeze", {tensor, builder_.constant(dim)}, spec.span);
      ++dim;
      continue;
    }
    if (spec.is(ExprKind::kSlice)) {
      std::vector<Value*> inputs = {tensor, builder_.constant(dim)};
      for (size_t k = 0; k < 3; ++k) {
        if (spec.child(k) != nullptr) {
          inputs.push_back(emit(*spec.child(k)));
        } else {
          inputs.push_back(k == 2 ? builder_.constant(1) : builder_.none());
        }
      }
      tensor = aten("slice", inputs, spec.span);
      ++dim;
      continue;
    }
    Value* index = emit(spec);
    if (index->type()->is(TypeKind::kInt)) {
      tensor = aten("select", {tensor, builder_.constant(dim), index}, spec.span);
      continue;
    }
    if (index->type()->is(TypeKind::kNone)) {
      tensor = aten("unsqueeze", {tensor, builder_.constant(dim)}, spec.span);
      ++dim;
      continue;
    }
    if (index->type()->is(TypeKind::kList)) index = aten("tensor", {index}, spec.span);
    const TypePtr optional_tensor = Type::optional(Type::tensor());
    index = typed_as(index, optional_tensor, spec.span, "Tensor index");
    if (from_right) fail_here(spec.span, "a tensor index behind an ellipsis is not supported");
    selected.resize(static_cast<size_t>(dim), nullptr);
    selected.push_back(index);
    ++dim;
  }
  if (selected.empty()) return tensor;
  for (Value*& index : selected) {
    if (index == nullptr) index = builder_.none();
  }
  *indices =
      builder_.node(NodeKind::kListConstruct, selected, Type::list(Type::optional(Type::tensor())));
  return tensor;
}

void FunctionEmitter::assign_subscript(const Expr& target, Value* value) {
  Value* base = emit(*target.child(0));
  set_range(target.span);
  if (base->type()->is(TypeKind::kTensor)) {
    if (!value->type()->is(TypeKind::kTensor)) {
      const Sugared dtype = value_member(base, "dtype", target.span);
      const Sugared device = value_member(base, "device", target.span);
      CallArguments arguments;
      arguments.positional.push_back({value});
      arguments.keywords.push_back({"dtype", {as_value(dtype, target.span)}});
      arguments.keywords.push_back({"device", {as_value(device, target.span)}});
      value = as_value(call_op("aten::tensor", arguments, target.span), target.span);
    }
    Value* indices = nullptr;
    Value* view = subscript_of_tensor(base, target, &indices);
    if (indices == nullptr) {
      aten("copy_", {view, value}, target.span);
    } else {
      aten("index_put_", {view, indices, value}, target.span);
    }
    return;
  }
  if (target.children.size() != 2 || target.child(1)->is(ExprKind::kSlice)) {
    fail_here(target.span,
              fmt::format("cannot assign to a slice of '{}'", base->type()->to_string()));
  }
  CallArguments arguments;
  arguments.positional = {emit_actual(*target.child(1)), {value}};
  if (base->type()->as_class() != nullptr) {
    call_method(base, "__setitem__", arguments, target.span);
    return;
  }
  arguments.positional.insert(arguments.positional.begin(), Actual{base});
  call_op("aten::_set_item", arguments, target.span);
}

// x[i] op= v: base and index are evaluated once.
void FunctionEmitter::augment_subscript(const Stmt& s) {
  const Expr& target = *s.targets[0];
  Value* base = emit(*target.child(0));
  if (base->type()->is(TypeKind::kTensor)) {
    Value* indices = nullptr;
    Value* view = subscript_of_tensor(base, target, &indices);
    Value* operand = emit(*s.value);
    if (indices == nullptr) {
      Value* result = in_place(s.op, view, operand, s.span);
      // Operators without an in-place form leave their result beside the view.
      if (result->node() == nullptr || !result->node()->op()->schema().is_mutating()) {
        aten("copy_", {view, result}, s.span);
      }
      return;
    }
    Value* picked = aten("index", {view, indices}, s.span);
    aten("index_put_", {view, indices, in_place(s.op, picked, operand, s.span)}, s.span);
    return;
  }
  if (target.children.size() != 2 || target.child(1)->is(ExprKind::kSlice)) {
    fail_here(target.span, "cannot assign to this");
  }
  Value* key = emit(*target.child(1));
  const bool is_object = base->type()->as_class() != nullptr;
  const auto call_with = [&](std::string_view op, std::vector<Actual> values) {
    CallArguments arguments;
    arguments.positional = std::move(values);
    if (is_object) return call_method(base, std::string(op), arguments, s.span);
    arguments.positional.insert(arguments.positional.begin(), Actual{base});
    const std::string name = op == "__setitem__" ? "aten::_set_item" : "aten::" + std::string(op);
    return as_value(call_op(name, arguments, s.span), s.span);
  };
  Value* before = call_with("__getitem__", {{key}});
  Value* after = in_place(s.op, before, emit(*s.value), s.span);
  call_with("__setitem__", {{key}, {after}});
}

}  // namespace tierup::frontend::torchscript
