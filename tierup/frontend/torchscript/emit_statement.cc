// Blocks, assignment and the statements that neither branch nor loop.
#include <fmt/format.h>

#include <algorithm>

#include "tierup/frontend/torchscript/depth_guard.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

Flow FunctionEmitter::emit_block(const Block& block, size_t from) {
  const DepthGuard guard(*this);
  for (size_t i = from; i < block.size(); ++i) {
    bool took_rest = false;
    const Flow flow = emit_statement(*block[i], block, i, &took_rest);
    if (took_rest) return flow;
    if (flow == Flow::kExits || flow == Flow::kThrows) return flow;  // What follows is dead.
    if (flow == Flow::kMayExit) {
      return i + 1 < block.size() ? emit_guarded_rest(block, i + 1) : Flow::kMayExit;
    }
  }
  return Flow::kFalls;
}

Flow FunctionEmitter::emit_statement(const Stmt& s, const Block& block, size_t index,
                                     bool* took_rest) {
  set_range(s.span);
  // Loops over tuples are unrolled, and may multiply.
  require(++statements_ <= kMaxStatements, ErrorCode::kRecursionLimit,
          "a function unrolls to more than {} statements", kMaxStatements);
  switch (s.kind) {
    case StmtKind::kExpr: emit_sugared(*s.value); return Flow::kFalls;
    case StmtKind::kAssign: emit_assign(s); return Flow::kFalls;
    case StmtKind::kAugAssign: emit_augmented(s); return Flow::kFalls;
    case StmtKind::kIf: return emit_if(s, block, index, took_rest);
    case StmtKind::kWhile: return emit_while(s);
    case StmtKind::kFor: return emit_for(s);
    case StmtKind::kReturn: return emit_return(s);
    case StmtKind::kRaise: return emit_raise(s);
    case StmtKind::kAssert: emit_assert(s); return Flow::kFalls;
    case StmtKind::kDelete: emit_delete(s); return Flow::kFalls;
    case StmtKind::kWith: return emit_with(s);
    case StmtKind::kDef: {
      Sugared closure = Sugared::of(Kind::kClosure, std::string(s.function->name));
      closure.definition = s.function;
      frame_->bind(s.function->name, std::move(closure));
      return Flow::kFalls;
    }
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      if (loop_depth_ == 0) {
        fail_here(s.span, s.kind == StmtKind::kBreak ? "'break' outside of a loop"
                                                     : "'continue' outside of a loop");
      }
      frame_->bind(kExitFlag, Sugared::of(builder_.constant(true)));
      frame_->bind(kStopFlag, Sugared::of(builder_.constant(s.kind == StmtKind::kBreak)));
      return Flow::kExits;
    case StmtKind::kGlobal: fail_here(s.span, "global variables are not supported");
    case StmtKind::kPass: return Flow::kFalls;
  }
  return Flow::kFalls;
}

Value* FunctionEmitter::typed_as(Value* value, const TypePtr& type, const Span& span,
                                 std::string_view what) {
  if (builder_.is_poisoned(value)) return builder_.unchecked_cast(value, type);
  if (is_subtype(value->type(), type)) return value;
  if (!can_convert({value}, type, Conversions::kLiterals)) {
    fail_here(span, fmt::format("{}: expected a value of type '{}' but found type '{}'", what,
                                type->to_string(), value->type()->to_string()));
  }
  return convert(builder_, {value}, type, Conversions::kLiterals);
}

Value* FunctionEmitter::convert_to(Value* value, const TypePtr& type) {
  if (!can_convert({value}, type, Conversions::kLiterals)) return value;
  return convert(builder_, {value}, type, Conversions::kLiterals);
}

Flow FunctionEmitter::emit_return(const Stmt& s) {
  Value* value = s.value != nullptr ? emit(*s.value, result_type_) : builder_.none();
  if (result_type_ != nullptr) {
    value = typed_as(
        value, result_type_, s.span,
        fmt::format("Return value was annotated as having type {}", result_type_->to_string()));
  }
  frame_->bind(kReturnValue, Sugared::of(value));
  Sugared yes = Sugared::of(builder_.constant(true));
  frame_->bind(kExitFlag, yes);
  if (loop_depth_ > 0) {
    frame_->bind(kStopFlag, yes);
    frame_->bind(kReturnFlag, yes);
  }
  return Flow::kExits;
}

void FunctionEmitter::raise_message(Value* message, Value* python_class) {
  editor().create(NodeKind::kRaise, {message, python_class});
}

// raise E("message"): only AssertionError resolves in archives, but the others' names say enough.
Flow FunctionEmitter::emit_raise(const Stmt& s) {
  std::string name = "Exception";
  Value* message = nullptr;
  if (s.value != nullptr) {
    const Expr& e = *s.value;
    name = dotted_name(e.is(ExprKind::kCall) ? *e.child() : e);
    if (name.empty()) fail_here(s.span, "raise expects an exception by name");
    if (e.is(ExprKind::kCall) && e.children.size() > 1) message = emit(*e.child(1));
  }
  if (message == nullptr) message = builder_.constant(IValue(std::string()));
  if (!message->type()->is(TypeKind::kStr)) message = aten("str", {message}, s.span);
  raise_message(message, builder_.constant(IValue("builtins." + name)));
  return Flow::kThrows;
}

void FunctionEmitter::emit_assert(const Stmt& s) {
  const Condition condition = emit_condition(*s.value);
  const auto raise = [&] {
    Value* message =
        s.message != nullptr ? emit(*s.message) : builder_.constant(IValue(std::string()));
    if (!message->type()->is(TypeKind::kStr)) message = aten("str", {message}, s.span);
    raise_message(message, builder_.constant(IValue("builtins.AssertionError")));
  };
  if (condition.constant.has_value()) {
    if (!*condition.constant) raise();
  } else {
    ir::Node* node = editor().create(NodeKind::kIf, {condition.value});
    emit_branch(node, {}, [] { return Flow::kFalls; });
    emit_branch(node, {}, [&] {
      raise();
      return Flow::kThrows;
    });
  }
  apply(condition.if_true);
}

Flow FunctionEmitter::emit_with(const Stmt& s) {
  std::vector<Value*> objects;
  for (const WithItem& item : s.items) {
    Value* object = emit(*item.value);
    const ClassType* type = object->type()->as_class();
    const Ref<Callable> enter = type != nullptr ? type->find_method("__enter__") : nullptr;
    if (!enter || !type->find_method("__exit__")) {
      fail_here(item.value->span, fmt::format("{} has no __enter__ and __exit__ methods",
                                              object->type()->to_string()));
    }
    const TypePtr result = ir::as_function(*enter).schema().returns[0].type;
    Value* entered = builder_.node(NodeKind::kEnter, {object}, result);
    if (item.target != nullptr) assign(*item.target, Sugared::of(entered), item.target->span);
    objects.push_back(object);
  }
  const Flow flow = emit_block(s.body);
  set_range(s.span);
  for (auto object = objects.rbegin(); object != objects.rend(); ++object) {
    editor().create(NodeKind::kExit, {*object});
  }
  return flow;
}

void FunctionEmitter::emit_delete(const Stmt& s) {
  for (const Expr* target : s.targets) {
    if (target->is(ExprKind::kName)) {
      frame_->unbind(target->text);
    } else if (target->is(ExprKind::kSubscript) && target->children.size() == 2) {
      Value* container = emit(*target->child(0));
      CallArguments arguments;
      arguments.positional = {{container}, emit_actual(*target->child(1))};
      call_op("aten::Delete", arguments, s.span);
    } else {
      fail_here(s.span, "cannot delete this");
    }
  }
}

void FunctionEmitter::emit_assign(const Stmt& s) {
  if (s.value == nullptr) {  // "x : T"
    return;
  }
  const Expr& first = *s.targets[0];
  if (s.annotation != nullptr) {
    const TypePtr type = unit_.types().resolve(*s.annotation, *file_);
    Value* value = emit(*s.value, type);
    value = typed_as(value, type, s.span,
                     fmt::format("Variable annotated with type {}", type->to_string()));
    value = builder_.unchecked_cast(value, type);
    for (const Expr* target : s.targets) assign(*target, Sugared::of(value), s.span);
    return;
  }
  // "x, y = a, b" binds item by item: there never is a tuple.
  if (s.targets.size() == 1 && first.is(ExprKind::kTuple) && s.value->is(ExprKind::kTuple) &&
      first.children.size() == s.value->children.size() &&
      std::none_of(first.children.begin(), first.children.end(),
                   [](const Expr* e) { return e->is(ExprKind::kStarred); }) &&
      std::none_of(s.value->children.begin(), s.value->children.end(),
                   [](const Expr* e) { return e->is(ExprKind::kStarred); })) {
    std::vector<Sugared> values;
    for (const Expr* child : s.value->children) values.push_back(emit_sugared(*child));
    for (size_t i = 0; i < values.size(); ++i) assign(*first.child(i), values[i], s.span);
    return;
  }
  TypePtr hint;
  if (first.is(ExprKind::kAttribute) && first.child()->is(ExprKind::kName) &&
      s.targets.size() == 1) {
    // The attribute's declared type is what literals take.
    Value* object = emit(*first.child());
    const ClassType* type = object->type()->as_class();
    if (type != nullptr) {
      if (const auto index = type->find_attribute(first.text)) {
        hint = type->attributes()[*index].type;
      }
    }
  }
  const Sugared value = emit_sugared(*s.value, hint);
  for (const Expr* target : s.targets) assign(*target, value, s.span);
}

void FunctionEmitter::assign(const Expr& target, Sugared value, const Span& span) {
  switch (target.kind) {
    case ExprKind::kName: assign_name(target.text, std::move(value), span); return;
    case ExprKind::kTuple:
    case ExprKind::kList: assign_tuple(target, std::move(value), span); return;
    case ExprKind::kAttribute: assign_attribute(target, as_value(value, span)); return;
    case ExprKind::kSubscript: assign_subscript(target, as_value(value, span)); return;
    default: fail_here(target.span, "cannot assign to this");
  }
}

void FunctionEmitter::assign_name(std::string_view name, Sugared meaning, const Span& span) {
  if (meaning.is(Kind::kResults)) meaning = Sugared::of(as_value(meaning, span));
  meaning.is_empty_literal = false;
  if (meaning.is(Kind::kValue)) {
    const Binding* outer = frame_->find_here(name) == nullptr && frame_->parent() != nullptr
                               ? frame_->parent()->find(name)
                               : nullptr;
    if (outer != nullptr && outer->meaning.is(Kind::kValue)) {
      const TypePtr& type = outer->meaning.value->type();
      if (!is_subtype(meaning.value->type(), type)) {
        meaning.value = convert_to(meaning.value, type);
      }
    }
    if (meaning.value->name().empty() && meaning.value->node() != nullptr) {
      editor().set_name(meaning.value, std::string(name));
    }
  }
  frame_->bind(name, std::move(meaning));
}

void FunctionEmitter::assign_tuple(const Expr& target, Sugared meaning, const Span& span) {
  const size_t count = target.children.size();
  const auto star = std::find_if(target.children.begin(), target.children.end(),
                                 [](const Expr* e) { return e->is(ExprKind::kStarred); });
  const bool has_star = star != target.children.end();
  const std::vector<Value*> values = unpack(meaning, count, has_star, span);
  if (!has_star) {
    for (size_t i = 0; i < count; ++i) assign(*target.child(i), Sugared::of(values[i]), span);
    return;
  }
  const auto before = static_cast<size_t>(star - target.children.begin());
  const size_t starred = values.size() - (count - 1);
  for (size_t i = 0; i < before; ++i) assign(*target.child(i), Sugared::of(values[i]), span);
  const std::vector<Value*> middle(values.begin() + before, values.begin() + before + starred);
  std::vector<TypePtr> types;
  for (Value* value : middle) types.push_back(value->type());
  Value* rest = builder_.node(NodeKind::kTupleConstruct, middle, Type::tuple(std::move(types)));
  assign(*(*star)->child(), Sugared::of(rest), span);
  for (size_t i = before + 1; i < count; ++i) {
    assign(*target.child(i), Sugared::of(values[i + starred - 1]), span);
  }
}

std::vector<Value*> FunctionEmitter::unpack(const Sugared& meaning, size_t count, bool has_star,
                                            const Span& span) {
  std::vector<Value*> values;
  if (meaning.is(Kind::kResults)) {
    values.assign(meaning.node->outputs().begin(), meaning.node->outputs().end());
  } else {
    Value* value = as_value(meaning, span);
    if (builder_.is_poisoned(value)) {
      for (size_t i = 0; i < count; ++i) values.push_back(builder_.trap_after({&value, 1}));
    } else if (value->type()->is(TypeKind::kTuple)) {
      const ir::Node* node = value->node();
      if (node != nullptr && node->is(NodeKind::kTupleConstruct)) {
        values.assign(node->inputs().begin(), node->inputs().end());
      } else {
        values = builder_.unpack_tuple(value);
      }
    } else if (value->type()->is(TypeKind::kList) && !has_star) {
      ir::Node* node = editor().create(NodeKind::kListUnpack, {value});
      for (size_t i = 0; i < count; ++i) {
        values.push_back(editor().add_output(node, value->type()->element()));
      }
    } else if (value->type()->is(TypeKind::kTensor) && !has_star) {
      Value* list = aten("unbind", {value}, span);
      return unpack(Sugared::of(list), count, false, span);
    } else {
      fail_here(span, fmt::format("Provided value of type '{}' cannot be used as a tuple",
                                  value->type()->to_string()));
    }
  }
  const bool fits = has_star ? values.size() + 1 >= count : values.size() == count;
  if (!fits) {
    fail_here(span, fmt::format("need {} values to unpack but found {}", count, values.size()));
  }
  return values;
}

void FunctionEmitter::assign_attribute(const Expr& target, Value* value) {
  Value* object = emit(*target.child());
  if (builder_.is_poisoned(object)) return;
  const ClassType* type = object->type()->as_class();
  const auto index = type != nullptr ? type->find_attribute(target.text) : std::nullopt;
  if (!index.has_value()) {
    const std::string setter = fmt::format("__{}_setter", target.text);
    if (type != nullptr && type->find_method(setter)) {
      CallArguments arguments;
      arguments.positional.push_back({value});
      call_method(object, setter, arguments, target.span);
      return;
    }
    fail_here(target.span, fmt::format("Tried to set nonexistent attribute: {}. Did you forget to "
                                       "initialize it in __init__()?",
                                       target.text));
  }
  value = typed_as(value, type->attributes()[*index].type, target.span,
                   fmt::format("Wrong type for attribute '{}'", target.text));
  ir::Node* node = editor().create(NodeKind::kSetAttr, {object, value});
  editor().set_attr(node, ir::AttrName::kName, ir::AttrValue(std::string(target.text)));
}

}  // namespace tierup::frontend::torchscript
