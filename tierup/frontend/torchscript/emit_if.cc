// Branches: if statements, what their sides bind, and exits before the end of a block.
//
// A side that leaves early (return, break, continue) needs no flag if the other side does not:
// what follows the if statement is then emitted into the other side. Only where both may go on
// is the rest of the block put under a test of "$exit".
#include <fmt/format.h>

#include "tierup/frontend/torchscript/depth_guard.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

bool leaves(Flow flow) { return flow == Flow::kExits || flow == Flow::kThrows; }

std::optional<bool> constant_flag(const Value* value) {
  if (value->node() == nullptr || !value->node()->is(NodeKind::kConstant)) return std::nullopt;
  const IValue& constant = value->node()->attr<IValue>(ir::AttrName::kValue);
  return constant.is_bool() ? std::optional(constant.to_bool()) : std::nullopt;
}

// Things that exist only at compile time: whether both sides mean the same.
bool same_meaning(const Sugared& a, const Sugared& b) {
  if (a.kind != b.kind || a.text != b.text || !(a.function == b.function)) return false;
  if (a.definition != b.definition || a.value != b.value) return false;
  return a.type == b.type || (a.type != nullptr && b.type != nullptr && equal(a.type, b.type));
}

}  // namespace

Flow FunctionEmitter::join_flows(Flow a, Flow b) const {
  if (a == b) return a;
  if (a == Flow::kThrows) return b;
  if (b == Flow::kThrows) return a;
  return Flow::kMayExit;
}

void FunctionEmitter::apply(const Refinements& refinements) {
  for (const Refinement& refinement : refinements) {
    const Binding* bound = find_name(refinement.name);
    if (bound == nullptr || !bound->meaning.is(Kind::kValue)) continue;
    Value* value = bound->meaning.value;
    if (equal(value->type(), refinement.type)) continue;
    frame_->bind(refinement.name, Sugared::of(builder_.unchecked_cast(value, refinement.type)),
                 /*is_refinement=*/true);
  }
}

FunctionEmitter::Branch FunctionEmitter::emit_branch(ir::Node* node, const Refinements& refinements,
                                                     const std::function<Flow()>& body) {
  Branch branch{editor().add_block(node), Frame(frame_), Flow::kFalls};
  continue_branch(branch, [&] {
    apply(refinements);
    return body();
  });
  return branch;
}

void FunctionEmitter::continue_branch(Branch& branch, const std::function<Flow()>& body) {
  ir::Block* block = editor().insert_block();
  Frame* frame = frame_;
  const ir::SourceRange range = editor().range();
  editor().set_insert_end(branch.block);
  frame_ = &branch.frame;
  branch.flow = body();
  frame_ = frame;
  editor().set_insert_end(block);
  editor().set_range(range);
}

Value* FunctionEmitter::in_branch(Branch& branch, const std::function<Value*()>& make) {
  ir::Block* block = editor().insert_block();
  editor().set_insert_end(branch.block);
  Value* result = make();
  editor().set_insert_end(block);
  return result;
}

Flow FunctionEmitter::emit_if(const Stmt& s, const Block& block, size_t index, bool* took_rest) {
  const Condition condition = emit_condition(*s.value);
  if (condition.constant.has_value()) {
    apply(*condition.constant ? condition.if_true : condition.if_false);
    return emit_block(*condition.constant ? s.body : s.orelse);
  }
  ir::Node* node = editor().create(NodeKind::kIf, {condition.value});
  Branch a = emit_branch(node, condition.if_true, [&] { return emit_block(s.body); });
  Branch b = emit_branch(node, condition.if_false, [&] { return emit_block(s.orelse); });
  const bool one_exits = (a.flow == Flow::kExits && b.flow == Flow::kFalls) ||
                         (b.flow == Flow::kExits && a.flow == Flow::kFalls);
  if (one_exits && index + 1 < block.size()) {
    continue_branch(a.flow == Flow::kFalls ? a : b, [&] { return emit_block(block, index + 1); });
    *took_rest = true;
  }
  join(node, a, b, *took_rest);
  if (a.flow == Flow::kThrows && !leaves(b.flow)) keep_refinements(b);
  if (b.flow == Flow::kThrows && !leaves(a.flow)) keep_refinements(a);
  return join_flows(a.flow, b.flow);
}

// The statements behind one that may have exited.
Flow FunctionEmitter::emit_guarded_rest(const Block& block, size_t from) {
  Value* exited = find_name(kExitFlag)->meaning.value;
  ir::Node* node = editor().create(NodeKind::kIf, {exited});
  Branch a = emit_branch(node, {}, [] { return Flow::kExits; });
  Branch b = emit_branch(node, {}, [&] { return emit_block(block, from); });
  join(node, a, b, /*in_tail_position=*/true);
  return join_flows(a.flow, b.flow);
}

// What the surviving side of an if knows holds behind it.
void FunctionEmitter::keep_refinements(const Branch& survivor) {
  Refinements refinements;
  for (const auto& [name, binding] : survivor.frame.bindings()) {
    if (binding.is_refinement && binding.meaning.is(Kind::kValue)) {
      refinements.push_back({name, binding.meaning.value->type()});
    }
  }
  apply(refinements);
}

void FunctionEmitter::join(ir::Node* node, Branch& a, Branch& b, bool in_tail_position) {
  for (const std::string_view flag : {kExitFlag, kStopFlag, kReturnFlag}) {
    join_flag(node, flag, a, b);
  }
  join_return_value(node, a, b);
  const bool both_left = leaves(join_flows(a.flow, b.flow));
  if (both_left && loop_depth_ == 0) return;
  // At the end of a function nobody reads its names any more; at the end of another block only
  // those that were there before it can matter.
  if (in_tail_position && is_function_frame()) return;
  std::vector<std::string_view> names;
  for (const auto& [name, binding] : a.frame.bindings()) names.push_back(name);
  for (const auto& [name, binding] : b.frame.bindings()) {
    if (a.frame.find_here(name) == nullptr) names.push_back(name);
  }
  for (const std::string_view name : names) {
    if (!name.starts_with('$')) {
      join_name(node, name, a, b, !in_tail_position && !both_left);
    }
  }
}

Value* FunctionEmitter::add_join(ir::Node* node, Branch& a, Value* in_a, Branch& b, Value* in_b,
                                 const TypePtr& type, std::string_view name) {
  const bool poisoned = builder_.is_poisoned(in_a) || builder_.is_poisoned(in_b);
  editor().add_return(a.block, in_a);
  editor().add_return(b.block, in_b);
  Value* result = editor().add_output(node, poisoned ? Type::any() : type,
                                      name.starts_with('$') ? "" : std::string(name));
  if (poisoned) builder_.poison(result);
  return result;
}

void FunctionEmitter::join_name(ir::Node* node, std::string_view name, Branch& a, Branch& b,
                                bool keep_new) {
  const Binding* in_a = a.frame.find_here(name);
  const Binding* in_b = b.frame.find_here(name);
  const auto assigned = [](const Binding* x) { return x != nullptr && !x->is_refinement; };
  if (!assigned(in_a) && !assigned(in_b)) return;
  const Binding* before = find_name(name);
  if (before == nullptr && !keep_new) return;
  // Where a side left, its variables matter only if the loop around carries them on.
  const bool carried = loop_depth_ > 0 && before != nullptr && before->meaning.is(Kind::kValue);
  const auto side_gives = [&](const Binding* bound, const Branch& side) -> const Binding* {
    if (side.flow == Flow::kThrows || (side.flow == Flow::kExits && !carried)) return nullptr;
    return bound != nullptr ? bound : before;
  };
  in_a = side_gives(in_a, a);
  in_b = side_gives(in_b, b);
  for (const auto& [side, branch, which] :
       {std::tuple{in_a, &a, "true"}, std::tuple{in_b, &b, "false"}}) {
    if (side == nullptr && !leaves(branch->flow)) {
      frame_->bind(
          name, Sugared::invalid(fmt::format("{} is not defined in the {} branch", name, which)));
      return;
    }
  }
  if (in_a == nullptr && in_b == nullptr) return;
  // A side that left gives nothing; whatever reads the other's value behind it is not reached.
  const bool only_a = in_b == nullptr;
  const bool only_b = in_a == nullptr;
  const Sugared& x = only_b ? in_b->meaning : in_a->meaning;
  const Sugared& y = only_a ? in_a->meaning : in_b->meaning;
  if (!x.is(Kind::kValue) || !y.is(Kind::kValue)) {
    frame_->bind(name, x.is(Kind::kInvalid) ? x
                       : same_meaning(x, y)
                           ? y
                           : Sugared::invalid(fmt::format(
                                 "{} means different things after the branches", name)));
    return;
  }
  if (x.value == y.value && !only_a && !only_b) {
    frame_->bind(name, x);
    return;
  }
  Value* va = x.value;
  Value* vb = y.value;
  const bool poisoned = builder_.is_poisoned(va) || builder_.is_poisoned(vb);
  TypePtr type = poisoned ? Type::any() : unify(va->type(), vb->type());
  if (type == nullptr) {
    // An int literal on one side was a float before it was printed.
    if (is_int_constant(va) && vb->type()->is(TypeKind::kFloat)) {
      va = in_branch(a, [&] { return float_constant(builder_, va); });
      type = vb->type();
    } else if (is_int_constant(vb) && va->type()->is(TypeKind::kFloat)) {
      vb = in_branch(b, [&] { return float_constant(builder_, vb); });
      type = va->type();
    }
  }
  if (type == nullptr) {
    frame_->bind(name, Sugared::invalid(fmt::format(
                           "Type mismatch: {} is set to type {} in the true branch and type {} in "
                           "the false branch",
                           name, va->type()->to_string(), vb->type()->to_string())));
    return;
  }
  if (only_a) vb = in_branch(b, [&] { return builder_.uninitialized(type); });
  if (only_b) va = in_branch(a, [&] { return builder_.uninitialized(type); });
  frame_->bind(name, Sugared::of(add_join(node, a, va, b, vb, type, name)));
}

void FunctionEmitter::join_flag(ir::Node* node, std::string_view flag, Branch& a, Branch& b) {
  const Binding* in_a = a.frame.find_here(flag);
  const Binding* in_b = b.frame.find_here(flag);
  if (in_a == nullptr && in_b == nullptr) return;
  const Binding* before = find_name(flag);
  const auto value_in = [&](const Binding* bound, Branch& branch) {
    if (bound == nullptr) bound = before;
    if (bound != nullptr) return bound->meaning.value;
    return in_branch(branch, [&] { return builder_.constant(false); });
  };
  Value* va = value_in(in_a, a);
  Value* vb = value_in(in_b, b);
  const std::optional<bool> ca = constant_flag(va);
  if (ca.has_value() && ca == constant_flag(vb)) {
    frame_->bind(flag, Sugared::of(builder_.constant(*ca)));
    return;
  }
  frame_->bind(flag, Sugared::of(add_join(node, a, va, b, vb, Type::boolean(), flag)));
}

void FunctionEmitter::join_return_value(ir::Node* node, Branch& a, Branch& b) {
  const Binding* in_a = a.frame.find_here(kReturnValue);
  const Binding* in_b = b.frame.find_here(kReturnValue);
  if (in_a == nullptr && in_b == nullptr) return;
  const Binding* before = find_name(kReturnValue);
  if (in_a == nullptr) in_a = before;
  if (in_b == nullptr) in_b = before;
  Value* va = in_a != nullptr ? in_a->meaning.value : nullptr;
  Value* vb = in_b != nullptr ? in_b->meaning.value : nullptr;
  TypePtr type = result_type_;
  if (type == nullptr) {
    type = va == nullptr ? vb->type() : vb == nullptr ? va->type() : unify(va->type(), vb->type());
    require(type != nullptr, ErrorCode::kSyntax,
            "the function returns values of type {} and of type {}",
            va != nullptr ? va->type()->to_string() : "",
            vb != nullptr ? vb->type()->to_string() : "");
  }
  if (va == nullptr) va = in_branch(a, [&] { return builder_.uninitialized(type); });
  if (vb == nullptr) vb = in_branch(b, [&] { return builder_.uninitialized(type); });
  frame_->bind(kReturnValue, Sugared::of(add_join(node, a, va, b, vb, type, kReturnValue)));
}

}  // namespace tierup::frontend::torchscript
