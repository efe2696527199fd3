// Loops: for and while as kLoop with carried variables, unrolled sequences, comprehensions.
#include <fmt/format.h>

#include <limits>
#include <unordered_set>

#include "tierup/frontend/torchscript/depth_guard.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

// The names that a block assigns, in order, and whether it leaves early.
class AssignedNames {
 public:
  void visit(const Block& block, bool own_loop) {
    for (const Stmt* statement : block) visit(*statement, own_loop);
  }
  void visit_target(const Expr& target) {
    switch (target.kind) {
      case ExprKind::kName: add(target.text); return;
      case ExprKind::kTuple:
      case ExprKind::kList:
      case ExprKind::kStarred:
        for (const Expr* child : target.children) visit_target(*child);
        return;
      case ExprKind::kSubscript: return;
      default: return;
    }
  }

  std::vector<std::string_view> names;
  bool may_stop = false;  // A break or return of this loop.
  bool may_return = false;

 private:
  void add(std::string_view name) {
    if (seen_.insert(name).second) names.push_back(name);
  }
  void visit(const Stmt& s, bool own_loop) {
    switch (s.kind) {
      case StmtKind::kAssign:
      case StmtKind::kAugAssign:
      case StmtKind::kDelete:
        for (const Expr* target : s.targets) visit_target(*target);
        return;
      case StmtKind::kFor:
      case StmtKind::kWhile:
        for (const Expr* target : s.targets) visit_target(*target);
        visit(s.body, false);
        return;
      case StmtKind::kIf:
        visit(s.body, own_loop);
        visit(s.orelse, own_loop);
        return;
      case StmtKind::kWith:
        for (const WithItem& item : s.items) {
          if (item.target != nullptr) visit_target(*item.target);
        }
        visit(s.body, own_loop);
        return;
      case StmtKind::kBreak: may_stop = may_stop || own_loop; return;
      case StmtKind::kReturn: may_return = may_stop = true; return;
      default: return;
    }
  }

  std::unordered_set<std::string_view> seen_;
};

}  // namespace

// A variable that a loop carries from one trip to the next.
struct CarriedVariable {
  std::string_view name;
  Value* param;
};

Flow FunctionEmitter::emit_loop(const LoopForm& form) {
  const DepthGuard guard(*this);
  AssignedNames assigned;
  if (form.target != nullptr) assigned.visit_target(*form.target);
  assigned.visit(*form.body, true);
  if (assigned.may_return) {
    if (result_type_ == nullptr) {
      fail_here(form.span, "a return inside of a loop needs a declared return type");
    }
    frame_->bind(kReturnFlag, Sugared::of(builder_.constant(false)));
    frame_->bind(kReturnValue, Sugared::of(builder_.uninitialized(result_type_)));
    assigned.names.push_back(kReturnFlag);
    assigned.names.push_back(kReturnValue);
  }
  Value* condition = form.condition ? form.condition() : builder_.constant(true);
  Value* trips = typed_as(form.trips, Type::integer(), form.span, "the number of a loop's trips");
  ir::Node* loop = editor().create(NodeKind::kLoop, {trips, condition});
  ir::Block* outside = editor().insert_block();
  ir::Block* body = editor().add_block(loop);
  Value* index = editor().add_param(body, Type::integer());
  Frame frame(frame_);
  std::vector<CarriedVariable> carried;
  for (const std::string_view name : assigned.names) {
    const Binding* bound = find_name(name);
    if (bound == nullptr || !bound->meaning.is(Kind::kValue)) continue;
    Value* initial = bound->meaning.value;
    editor().add_input(loop, initial);
    const std::string label = name.starts_with('$') ? "" : std::string(name);
    Value* param = editor().add_param(body, initial->type(), label);
    if (builder_.is_poisoned(initial)) builder_.poison(param);
    frame.bind(name, Sugared::of(param));
    carried.push_back({name, param});
  }
  editor().set_insert_end(body);
  Frame* outer_frame = std::exchange(frame_, &frame);
  frame_->bind(kExitFlag, Sugared::of(builder_.constant(false)));
  frame_->bind(kStopFlag, Sugared::of(builder_.constant(false)));
  ++loop_depth_;
  if (form.item) assign(*form.target, Sugared::of(form.item(index)), form.span);
  if (form.enter) form.enter(index);
  emit_block(*form.body);
  --loop_depth_;
  set_range(form.span);
  Value* next = nullptr;
  const auto evaluate = [&] { return form.condition ? form.condition() : builder_.constant(true); };
  if (assigned.may_stop) {
    Condition stopped;
    stopped.value = frame_->find_here(kStopFlag)->meaning.value;
    next = emit_choice(
        stopped, [&] { return builder_.constant(false); }, evaluate, form.span);
  } else {
    next = evaluate();
  }
  editor().add_return(body, next);
  for (const CarriedVariable& variable : carried) {
    const Sugared& meaning = frame_->find_here(variable.name)->meaning;
    Value* last = as_value(meaning, form.span);
    last = typed_as(last, variable.param->type(), form.span,
                    fmt::format("Variable '{}' keeps its type in a loop", variable.name));
    editor().add_return(body, last);
  }
  frame_ = outer_frame;
  editor().set_insert_end(outside);
  for (const CarriedVariable& variable : carried) {
    Value* result = editor().add_output(loop, variable.param->type(), variable.param->name());
    if (builder_.is_poisoned(variable.param)) builder_.poison(result);
    frame_->bind(variable.name, Sugared::of(result));
  }
  if (!assigned.may_return) return Flow::kFalls;
  const Sugared returned = frame_->find_here(kReturnFlag)->meaning;
  frame_->bind(kExitFlag, returned);
  if (loop_depth_ > 0) frame_->bind(kStopFlag, returned);
  return Flow::kMayExit;
}

Flow FunctionEmitter::emit_while(const Stmt& s) {
  LoopForm form;
  form.span = s.span;
  form.body = &s.body;
  form.trips = builder_.constant(std::numeric_limits<int64_t>::max());
  form.condition = [&] { return condition_value(emit_condition(*s.value)); };
  return emit_loop(form);
}

Flow FunctionEmitter::emit_for(const Stmt& s) {
  const Iterable iterable = iterable_of(*s.value);
  if (iterable.fixed.has_value()) return emit_unrolled(s, *iterable.fixed);
  if (iterable.length == nullptr) fail_here(s.span, "cannot loop without an end");
  LoopForm form;
  form.span = s.span;
  form.body = &s.body;
  form.trips = iterable.length;
  form.target = s.targets[0];
  form.item = iterable.item;
  return emit_loop(form);
}

Flow FunctionEmitter::emit_unrolled(const Stmt& s, const std::vector<Value*>& items) {
  for (Value* item : items) {
    assign(*s.targets[0], Sugared::of(item), s.span);
    const Flow flow = emit_block(s.body);
    if (flow != Flow::kFalls) {
      fail_here(s.span,
                "'break', 'continue' and 'return' are not supported in a loop over a tuple "
                "or module list");
    }
  }
  return Flow::kFalls;
}

Iterable FunctionEmitter::iterable_of(const Expr& e) {
  if (e.is(ExprKind::kCall)) {
    if (std::optional<Iterable> made = iterable_of_call(e)) return *made;
  }
  return iterable_of_value(emit(e), e.span);
}

std::optional<Iterable> FunctionEmitter::iterable_of_call(const Expr& e) {
  const Expr& callee = *e.child();
  // These are builtins even where a local variable has their name.
  if (callee.is_name("range")) return iterable_of_range(e);
  const auto is_builtin = [&](std::string_view name) {
    if (!callee.is_name(name)) return false;
    const Binding* bound = find_name(name);
    return bound == nullptr || bound->meaning.is(Kind::kValue);
  };
  if (is_builtin("enumerate")) return iterable_of_enumerate(e);
  if (is_builtin("zip")) return iterable_of_zip(e);
  return std::nullopt;
}

Iterable FunctionEmitter::iterable_of_range(const Expr& e) {
  std::vector<Value*> bounds;
  for (size_t i = 1; i < e.children.size(); ++i) {
    bounds.push_back(typed_as(emit(*e.child(i)), Type::integer(), e.child(i)->span, "range()"));
  }
  Iterable result;
  if (bounds.size() == 1) {
    result.length = bounds[0];
    result.item = [](Value* index) { return index; };
    return result;
  }
  if (bounds.size() != 2 && bounds.size() != 3) {
    fail_here(e.span, "range() takes one to three integers");
  }
  if (bounds.size() == 2) bounds.push_back(builder_.constant(1));
  const Span span = e.span;
  result.length = aten("__range_length", bounds, span);
  result.item = [this, bounds, span](Value* index) {
    return aten("__derive_index", {index, bounds[0], bounds[2]}, span);
  };
  return result;
}

Iterable FunctionEmitter::iterable_of_enumerate(const Expr& e) {
  const CallArguments extra = emit_arguments(e, 2);
  if (e.children.size() < 2) fail_here(e.span, "enumerate() expects something to go over");
  const Iterable inner = iterable_of(*e.child(1));
  Value* start = nullptr;
  if (!extra.positional.empty()) start = extra.positional[0].value;
  if (!extra.keywords.empty()) start = extra.keywords[0].actual.value;
  const Span span = e.span;
  const auto pair = [this](Value* number, Value* item) {
    return builder_.node(NodeKind::kTupleConstruct, {number, item},
                         Type::tuple({Type::integer(), item->type()}));
  };
  Iterable result;
  if (inner.fixed.has_value()) {
    std::vector<Value*> items;
    for (size_t i = 0; i < inner.fixed->size(); ++i) {
      Value* number = builder_.constant(static_cast<int64_t>(i));
      if (start != nullptr) number = aten("add", {number, start}, span);
      items.push_back(pair(number, (*inner.fixed)[i]));
    }
    result.fixed = std::move(items);
    return result;
  }
  result.length = inner.length;
  result.item = [this, inner, start, span, pair](Value* index) {
    Value* number = start == nullptr ? index : aten("add", {index, start}, span);
    return pair(number, inner.item(index));
  };
  return result;
}

Iterable FunctionEmitter::iterable_of_zip(const Expr& e) {
  std::vector<Iterable> parts;
  for (size_t i = 1; i < e.children.size(); ++i) parts.push_back(iterable_of(*e.child(i)));
  if (parts.empty()) fail_here(e.span, "zip() expects something to go over");
  const Span span = e.span;
  const auto bundle = [this](const std::vector<Value*>& items) {
    std::vector<TypePtr> types;
    for (Value* item : items) types.push_back(item->type());
    return builder_.node(NodeKind::kTupleConstruct, items, Type::tuple(std::move(types)));
  };
  Iterable result;
  std::optional<size_t> fixed;
  for (const Iterable& part : parts) {
    if (part.fixed.has_value()) fixed = std::min(fixed.value_or(SIZE_MAX), part.fixed->size());
  }
  const auto item_of = [this, span](const Iterable& part, size_t i) {
    return part.fixed.has_value() ? (*part.fixed)[i]
                                  : part.item(builder_.constant(static_cast<int64_t>(i)));
  };
  if (fixed.has_value()) {
    std::vector<Value*> rows;
    for (size_t i = 0; i < *fixed; ++i) {
      std::vector<Value*> items;
      for (const Iterable& part : parts) items.push_back(item_of(part, i));
      rows.push_back(bundle(items));
    }
    result.fixed = std::move(rows);
    return result;
  }
  std::vector<Value*> lengths;
  for (const Iterable& part : parts) lengths.push_back(part.length);
  if (lengths.size() == 1) {
    result.length = lengths[0];
  } else {
    Value* list = builder_.node(NodeKind::kListConstruct, lengths, Type::list(Type::integer()));
    CallArguments arguments;
    arguments.positional.push_back({list});
    result.length = as_value(call_op("prim::min", arguments, span), span);
  }
  result.item = [parts, bundle](Value* index) {
    std::vector<Value*> items;
    for (const Iterable& part : parts) items.push_back(part.item(index));
    return bundle(items);
  };
  return result;
}

Iterable FunctionEmitter::iterable_of_value(Value* value, const Span& span) {
  Iterable result;
  const TypePtr& type = value->type();
  if (type->is(TypeKind::kTuple)) {
    result.fixed = unpack(Sugared::of(value), type->elements().size(), false, span);
    return result;
  }
  if (const ClassType* module = type->as_class(); module != nullptr && module->is_module()) {
    std::vector<Value*> items;
    for (const ClassType::Attribute& attribute : module->attributes()) {
      const ClassType* part = attribute.type->as_class();
      if (part == nullptr || !part->is_module()) continue;
      items.push_back(as_value(value_member(value, attribute.name, span), span));
    }
    result.fixed = std::move(items);
    return result;
  }
  if (type->is(TypeKind::kDict)) value = aten("keys", {value}, span);
  result.length = aten("len", {value}, span);
  const bool is_tensor = type->is(TypeKind::kTensor);
  result.item = [this, value, is_tensor, span](Value* index) {
    if (is_tensor) return aten("select", {value, builder_.constant(0), index}, span);
    return aten("__getitem__", {value, index}, span);
  };
  return result;
}

Value* FunctionEmitter::list_of(const Iterable& iterable, const Span& span) {
  Value* list = builder_.node(NodeKind::kListConstruct, {}, Type::list(Type::tensor()));
  const auto add_item = [&](Value* item) {
    editor().set_type(list, Type::list(item->type()));
    CallArguments arguments;
    arguments.positional = {{list}, {item}};
    call_op("aten::append", arguments, span);
  };
  if (iterable.fixed.has_value()) {
    for (Value* item : *iterable.fixed) add_item(item);
    return list;
  }
  const Block empty;
  LoopForm form;
  form.span = span;
  form.body = &empty;
  form.trips = iterable.length;
  form.enter = [&](Value* index) { add_item(iterable.item(index)); };
  emit_loop(form);
  return list;
}

// [element for target in iterable]: a loop that appends to a fresh list, in a scope of its own.
Value* FunctionEmitter::emit_comprehension(const Expr& e, const TypePtr& hint) {
  const bool is_dict = e.is(ExprKind::kDictComprehension);
  const Expr& target = *e.child(is_dict ? 2 : 1);
  const Iterable iterable = iterable_of(*e.child(is_dict ? 3 : 2));
  Value* result =
      builder_.node(is_dict ? NodeKind::kDictConstruct : NodeKind::kListConstruct, {},
                    is_dict ? Type::dict(Type::str(), Type::tensor()) : Type::list(Type::tensor()));
  if (hint != nullptr && hint->kind() == result->type()->kind()) editor().set_type(result, hint);
  const bool hinted = hint != nullptr && hint->kind() == result->type()->kind();
  const auto add_item = [&](Value* item) {
    Frame frame(frame_);
    Frame* outer_frame = std::exchange(frame_, &frame);
    assign(target, Sugared::of(item), e.span);
    std::vector<Value*> inputs = {result};
    for (size_t i = 0; i < (is_dict ? 2U : 1U); ++i) {
      inputs.push_back(emit(*e.child(i), hinted ? hint->elements()[i] : nullptr));
    }
    if (!hinted) {
      editor().set_type(result, is_dict ? Type::dict(inputs[1]->type(), inputs[2]->type())
                                        : Type::list(inputs[1]->type()));
    }
    CallArguments arguments;
    for (Value* input : inputs) arguments.positional.push_back({input});
    call_op(is_dict ? "aten::_set_item" : "aten::append", arguments, e.span);
    frame_ = outer_frame;
  };
  if (iterable.fixed.has_value()) {
    for (Value* item : *iterable.fixed) add_item(item);
    return result;
  }
  const Block empty;
  LoopForm form;
  form.span = e.span;
  form.body = &empty;
  form.trips = iterable.length;
  form.enter = [&](Value* index) { add_item(iterable.item(index)); };
  emit_loop(form);
  return result;
}

}  // namespace tierup::frontend::torchscript
