// Emits steps in program order. Loop bodies keep their carried values in the very slots that
// become the loop's outputs:
//
//   %r = prim::Loop(%n, %c, %a)         enter  limit, counter, cond, i, r <- %n, %c, %a
//     block0(%i, %x):               L:  test   leave to E unless counter < limit and cond
//       ...                                ...                         (%x lives in %r's slot)
//       -> (%go, %y)                       next   cond, r <- %go, %y; to L
//                                   E:
#include "tierup/runtime/lower.h"

#include <limits>

#include "tierup/analysis/effects.h"
#include "tierup/base/error.h"
#include "tierup/ops/table/external.h"
#include "tierup/ops/table/missing_tensor.h"
#include "tierup/runtime/last_use.h"

namespace tierup::runtime {

using ir::AttrName;
using ir::Block;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

class Lowering {
 public:
  explicit Lowering(std::shared_ptr<const Graph> graph)
      : uses_(*graph), slots_(static_cast<size_t>(graph->id_bound()), kNoSlot) {
    plan_->graph_ = std::move(graph);
  }

  std::unique_ptr<Plan> run() {
    const Block& block = plan_->graph_->block();
    find_constants(block);
    next_slot_ = plan_->first_param();
    for (const Value* param : block.params()) slot(param) = next_slot_++;
    plan_->param_count_ = block.params().size();
    emit_block(block);
    emit(StepKind::kReturn, block.returns(), uses_.of(block).is_last);
    plan_->slot_count_ = next_slot_;
    return std::move(plan_);
  }

 private:
  using Values = std::span<Value* const>;

  // --- Slots ---

  void find_constants(const Block& block) {
    for (const Node* node : block.nodes()) {
      if (node->is(NodeKind::kConstant)) {
        slot(node->output()) = static_cast<uint32_t>(plan_->constants_.size());
        plan_->constants_.push_back(node->attr<IValue>(AttrName::kValue));
      }
      // `with` hands three Nones to __exit__.
      if (node->is(NodeKind::kExit) && !none_slot_) {
        none_slot_ = static_cast<uint32_t>(plan_->constants_.size());
        plan_->constants_.emplace_back();
      }
      if (node->is(NodeKind::kOp)) find_target(ops::op_of(*node->op()));
      for (const Block* inner : node->blocks()) find_constants(*inner);
    }
  }

  // What the kernel of an external operator calls is one more constant of its steps.
  void find_target(const ops::Op& op) {
    const Ref<ops::ExternalTarget>* target = ops::external_target(op);
    if (target == nullptr || targets_.contains(&op)) return;
    targets_.emplace(&op, static_cast<uint32_t>(plan_->constants_.size()));
    plan_->constants_.push_back(IValue::capsule(Ref<RefCounted>(target->get())));
  }

  uint32_t& slot(const Value* value) { return slots_[static_cast<size_t>(value->id())]; }
  uint32_t slot_of(const Value* value) const {
    const uint32_t slot = slots_[static_cast<size_t>(value->id())];
    TIERUP_CHECK(slot != kNoSlot);
    return slot;
  }
  bool is_constant(const Value* value) const { return slot_of(value) < plan_->first_param(); }

  uint32_t assign_slots(Values values) {
    const uint32_t first = next_slot_;
    for (const Value* value : values) slot(value) = next_slot_++;
    return first;
  }

  // --- Steps ---

  Step& emit(StepKind kind) {
    Step step{};
    step.kind = kind;
    step.input_begin = static_cast<uint32_t>(plan_->operands_.size());
    plan_->steps_.push_back(step);
    plan_->origins_.push_back(origin_);
    return plan_->steps_.back();
  }

  Step& emit(StepKind kind, Values inputs, const LastUses::Flags& is_last) {
    Step& step = emit(kind);
    for (size_t i = 0; i < inputs.size(); ++i) add_operand(inputs[i], is_last[i]);
    return close(step);
  }

  void add_operand(const Value* value, bool is_last) {
    plan_->operands_.push_back({slot_of(value), is_last && !is_constant(value) ? 1U : 0U});
  }

  // To be called once all operands of the last step are added.
  Step& close(Step& step) {
    step.input_count = static_cast<uint32_t>(plan_->operands_.size()) - step.input_begin;
    plan_->max_inputs_ = std::max<size_t>(plan_->max_inputs_, step.input_count);
    return step;
  }

  void emit_drops(const LastUses::Values& values) {
    bool any = false;
    for (const Value* value : values) any = any || !is_constant(value);
    if (!any) return;
    Step& step = emit(StepKind::kDrop);
    for (const Value* value : values) {
      if (!is_constant(value)) add_operand(value, true);
    }
    step.input_count = static_cast<uint32_t>(plan_->operands_.size()) - step.input_begin;
  }

  uint32_t here() const { return static_cast<uint32_t>(plan_->steps_.size()); }
  void aim(uint32_t step, uint32_t target) { plan_->steps_[step].target = target; }

  void emit_block(const Block& block) {
    emit_drops(uses_.of(block).dead_at_start);
    for (const Node* node : block.nodes()) {
      origin_ = node;
      emit_node(*node);
      emit_drops(uses_.of(*node).dead_after);
    }
    origin_ = nullptr;
  }

  // The plain form: inputs to outputs.
  Step& emit_simple(StepKind kind, const Node& node) {
    Step& step = emit(kind, node.inputs(), uses_.of(node).is_last);
    step.output_count = static_cast<uint16_t>(node.outputs().size());
    step.output = assign_slots(node.outputs());
    return step;
  }

  const StepDetail* detail(StepDetail detail) {
    return &plan_->details_.emplace_back(std::move(detail));
  }

  const CallSite* site(std::string name, Ref<Callable> callee) {
    CallSite& site = plan_->sites_.emplace_back();
    site.name = std::move(name);
    site.callee = std::move(callee);
    plan_->is_pure_ = false;
    return &site;
  }

  void emit_node(const Node& node) {
    switch (node.kind()) {
      case NodeKind::kOp: return emit_op(node);
      case NodeKind::kConstant: return;
      case NodeKind::kIf: return emit_if(node);
      case NodeKind::kLoop: return emit_loop(node);
      case NodeKind::kListConstruct: return emit_typed(StepKind::kListConstruct, node);
      case NodeKind::kListUnpack: emit_simple(StepKind::kListUnpack, node); return;
      case NodeKind::kTupleConstruct: return emit_typed(StepKind::kTupleConstruct, node);
      case NodeKind::kTupleUnpack: emit_simple(StepKind::kTupleUnpack, node); return;
      case NodeKind::kTupleIndex: return emit_tuple_index(node);
      case NodeKind::kTupleSlice: return emit_tuple_slice(node);
      case NodeKind::kDictConstruct: return emit_typed(StepKind::kDictConstruct, node);
      case NodeKind::kCreateObject: return emit_create_object(node);
      case NodeKind::kGetAttr: return emit_attribute(StepKind::kGetAttr, node);
      case NodeKind::kSetAttr:
        plan_->is_pure_ = false;
        return emit_attribute(StepKind::kSetAttr, node);
      case NodeKind::kCallFunction:
        emit_simple(StepKind::kCall, node).data.site =
            site({}, node.attr<Ref<Callable>>(AttrName::kCallee));
        return;
      case NodeKind::kCallMethod:
        emit_simple(StepKind::kCallMethod, node).data.site =
            site(node.attr<std::string>(AttrName::kName), {});
        return;
      case NodeKind::kEnter: return emit_enter(node);
      case NodeKind::kExit: return emit_exit(node);
      case NodeKind::kFork: return emit_fork(node);
      case NodeKind::kWait: emit_simple(StepKind::kWait, node); return;
      case NodeKind::kRaise: emit_simple(StepKind::kRaise, node); return;
      case NodeKind::kUncheckedCast: emit_simple(StepKind::kMove, node); return;
      case NodeKind::kUninitialized: emit_simple(StepKind::kUninitialized, node); return;
      case NodeKind::kIsInstance: return emit_is_instance(node);
      case NodeKind::kEnumName: emit_simple(StepKind::kEnumName, node); return;
      case NodeKind::kEnumValue: emit_simple(StepKind::kEnumValue, node); return;
      case NodeKind::kToList: return emit_to_list(node);
      case NodeKind::kModuleIndex: emit_simple(StepKind::kModuleIndex, node); return;
      case NodeKind::kPrint: emit_simple(StepKind::kPrint, node); return;
      case NodeKind::kTrap:
        emit_simple(StepKind::kTrap, node).data.detail =
            detail({nullptr, {}, node.attr<std::string>(AttrName::kMessage)});
        return;
      case NodeKind::kReturn: break;
    }
    throw unsupported(node, fmt::format("tier 0 does not run {}", node.display_name()));
  }

  static Error unsupported(const Node& node, std::string message) {
    Error error(ErrorCode::kUnsupported, std::move(message));
    if (!node.range().empty()) error.add_context(node.range().highlight());
    return error;
  }

  void emit_op(const Node& node) {
    const auto& op = static_cast<const ops::Op&>(*node.op());
    if (op.kernel() == nullptr) {
      throw unsupported(node,
                        fmt::format("the operator {} has no kernel", op.schema().qualified_name()));
    }
    constexpr uint8_t kImpure = ir::kRandom | ir::kSideEffect;
    if (op.schema().is_mutating() || (analysis::effects_of(node) & kImpure) != 0) {
      plan_->is_pure_ = false;
    }
    Step& step = emit(StepKind::kOp, node.inputs(), uses_.of(node).is_last);
    const auto& formals = op.schema().arguments;
    for (size_t i = 0; i < std::min<size_t>(formals.size(), step.input_count); ++i) {
      plan_->operands_[step.input_begin + i].wants_tensor = ops::wants_tensor(formals[i]) ? 1 : 0;
    }
    if (const auto found = targets_.find(&op); found != targets_.end()) {
      plan_->operands_.push_back({found->second, 0});
      close(step);
    }
    step.output_count = static_cast<uint16_t>(node.outputs().size());
    step.output = assign_slots(node.outputs());
    step.data.kernel = op.kernel();
  }

  // --- Control flow ---

  void emit_branch(const Block& block, uint32_t outputs) {
    emit_block(block);
    if (block.returns().empty()) return;
    Step& step = emit(StepKind::kMove, block.returns(), uses_.of(block).is_last);
    step.output = outputs;
    step.output_count = static_cast<uint16_t>(block.returns().size());
  }

  void emit_if(const Node& node) {
    const uint32_t outputs = assign_slots(node.outputs());
    const uint32_t branch = here();
    emit(StepKind::kJumpIfFalse, node.inputs(), uses_.of(node).is_last);
    emit_branch(*node.block(0), outputs);
    const uint32_t leave = here();
    emit(StepKind::kJump);
    aim(branch, here());
    emit_branch(*node.block(1), outputs);
    aim(leave, here());
    origin_ = &node;
  }

  void emit_loop(const Node& node) {
    const Block& body = *node.block(0);
    Step& enter = emit(StepKind::kLoopEnter, node.inputs(), uses_.of(node).is_last);
    const uint32_t state = next_slot_;
    next_slot_ += 3;  // limit, counter, cond; i and the carried values follow.
    enter.output = state;
    enter.output_count = static_cast<uint16_t>(node.inputs().size() + 2);
    assign_slots(body.params());
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      slot(node.output(i)) = slot_of(body.params()[i + 1]);
    }
    const uint32_t test = here();
    Step& step = emit(StepKind::kLoopTest);
    step.output = state;
    step.output_count = 4;
    emit_block(body);
    origin_ = &node;
    Step& next = emit(StepKind::kLoopNext, body.returns(), uses_.of(body).is_last);
    next.output = state + 2;
    next.output_count = static_cast<uint16_t>(body.returns().size() + 1);
    next.target = test;
    aim(test, here());
  }

  // --- Other kinds ---

  void emit_typed(StepKind kind, const Node& node) {
    emit_simple(kind, node).data.detail = detail({node.output()->type(), {}, {}});
  }

  void emit_tuple_index(const Node& node) {
    emit_simple(StepKind::kTupleIndex, node).target =
        static_cast<uint32_t>(node.attr<int64_t>(AttrName::kIndex));
  }

  void emit_tuple_slice(const Node& node) {
    Step& step = emit_simple(StepKind::kTupleSlice, node);
    step.target = static_cast<uint32_t>(node.attr<int64_t>(AttrName::kBegin));
    step.end = static_cast<uint32_t>(node.attr<int64_t>(AttrName::kEnd));
  }

  void emit_create_object(const Node& node) {
    const TypePtr& type = node.attr<TypePtr>(AttrName::kType);
    TIERUP_CHECK(type->as_class() != nullptr);
    emit_simple(StepKind::kCreateObject, node).data.detail = detail({type, {}, {}});
  }

  void emit_attribute(StepKind kind, const Node& node) {
    const std::string& name = node.attr<std::string>(AttrName::kName);
    const TypePtr& type = node.input(0)->type();
    Step& step = emit_simple(kind, node);
    const ClassType* class_type = type->is(TypeKind::kClass) ? type->as_class() : nullptr;
    const auto index = class_type != nullptr ? class_type->find_attribute(name) : std::nullopt;
    // An unknown place is found by name at run time: interfaces.
    step.target = index ? static_cast<uint32_t>(*index) : 0;
    step.data.detail = detail({index ? type : nullptr, {}, name});
  }

  void emit_enter(const Node& node) {
    const LastUses::Flags kept(node.inputs().size(), false);
    Step& call = emit(StepKind::kCallMethod, node.inputs(), kept);
    call.output_count = 1;
    call.data.site = site("__enter__", {});
    const bool has_output = !node.outputs().empty();
    call.output = has_output ? assign_slots(node.outputs()) : next_slot_++;
    emit(StepKind::kPushEntered, node.inputs(), uses_.of(node).is_last);
  }

  void emit_exit(const Node& node) {
    emit(StepKind::kPopEntered);
    Step& call = emit(StepKind::kCallMethod);
    add_operand(node.input(0), uses_.of(node).is_last[0]);
    for (int i = 0; i < 3; ++i) plan_->operands_.push_back({*none_slot_, 0});
    close(call);
    call.output_count = 1;
    call.data.site = site("__exit__", {});
    const bool has_output = !node.outputs().empty();
    call.output = has_output ? assign_slots(node.outputs()) : next_slot_++;
  }

  void emit_fork(const Node& node) {
    std::unique_ptr<Plan> body = lower(node.attr<std::shared_ptr<const Graph>>(AttrName::kCallee));
    plan_->is_pure_ = plan_->is_pure_ && body->is_pure();
    Step& step = emit_simple(StepKind::kFork, node);
    step.data.body = body.get();
    step.target = node.has_attr(AttrName::kName) ? kBranch : 0;
    plan_->bodies_.push_back(std::move(body));
  }

  void emit_is_instance(const Node& node) {
    emit_simple(StepKind::kIsInstance, node).data.detail =
        detail({nullptr, node.attr<std::vector<TypePtr>>(AttrName::kTypes), {}});
  }

  void emit_to_list(const Node& node) {
    emit_simple(StepKind::kToList, node).data.detail =
        detail({node.attr<TypePtr>(AttrName::kType), {}, {}});
  }

  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  LastUses uses_;
  static constexpr uint32_t kNoSlot = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> slots_;                           // By value id.
  std::unordered_map<const ops::Op*, uint32_t> targets_;  // Slots of external operators' targets.
  std::optional<uint32_t> none_slot_;
  const Node* origin_ = nullptr;
  uint32_t next_slot_ = 0;
};

std::unique_ptr<Plan> lower(std::shared_ptr<const Graph> graph) {
  return Lowering(std::move(graph)).run();
}

}  // namespace tierup::runtime
