// Plan: a graph lowered to a flat array of steps over numbered slots.
//
// The slots of a frame are, in order: the plan's constants (loaded when the frame is made, never
// written), its parameters, and one slot for every other value. A step reads operands, each of
// which says whether it is the value's last use and may be moved out, and writes
// consecutive slots. Control flow is jumps: If and Loop of the graph do not exist here.
// A plan is constant after lowering but for its caches of call targets; any number of threads
// may run it, each with its own Frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tierup/ir/function.h"
#include "tierup/ops/table/op.h"
#include "tierup/runtime/frame_pool.h"

namespace tierup::runtime {

enum class StepKind : uint8_t {
  kOp,           // data.kernel(inputs) -> outputs
  kMove,         // inputs -> outputs, as one parallel assignment
  kDrop,         // Empties the input slots.
  kJump,         // To `target`.
  kJumpIfFalse,  // (cond)
  kLoopEnter,    // (max_trips, cond, carried...) -> limit, counter, cond, i, carried...
  kLoopTest,     // Outputs as kLoopEnter's first four: leaves to `target`, or sets i.
  kLoopNext,     // (cond, carried...) -> cond, i (left alone), carried...; to `target`.
  kReturn,       // (results...)
  kListConstruct,
  kListUnpack,
  kTupleConstruct,
  kTupleUnpack,
  kTupleIndex,  // target: the index
  kTupleSlice,  // target: begin, end: end
  kDictConstruct,
  kCreateObject,
  kGetAttr,  // target: the slot in detail's class; by detail's name in others.
  kSetAttr,
  kCall,         // data.site
  kCallMethod,   // data.site
  kPushEntered,  // (object): its __exit__ is now due.
  kPopEntered,
  kFork,  // data.body; target: kBranch, or 0
  kWait,
  kRaise,
  kUninitialized,
  kIsInstance,
  kEnumName,
  kEnumValue,
  kToList,
  kModuleIndex,
  kPrint,
  kTrap,
};
std::string_view step_kind_name(StepKind kind);

// Of a fork that a pass made of a branch: independent of all that runs until it is awaited.
inline constexpr uint32_t kBranch = 1;

struct Operand {
  uint32_t slot : 30;
  uint32_t is_last_use : 1;
  uint32_t wants_tensor : 1;  // An operator's argument for which None is not enough.
};

class Plan;

// What a call last resolved to. Immutable; the program keeps all it ever made.
struct CallTarget {
  const ClassType* receiver;  // Null for functions.
  const Plan* plan;
};

// A call in a plan: the callee or the method's name, and a cache of what it resolved to.
struct CallSite {
  std::string name;
  Ref<Callable> callee;  // Null for methods.
  mutable std::atomic<const CallTarget*> cached{nullptr};
};

// The types and texts of steps that need them.
struct StepDetail {
  TypePtr type;
  std::vector<TypePtr> types;
  std::string text;
};

struct Step {
  StepKind kind;
  uint16_t output_count;
  uint32_t output;  // The first one's slot.
  uint32_t input_begin;
  uint32_t input_count;
  uint32_t target;
  uint32_t end;
  union {
    ops::KernelFn kernel;
    const CallSite* site;
    const StepDetail* detail;
    const Plan* body;
  } data;
};

// Shared, because a task of a fork may outlast the plan that forked it.
class Plan : public std::enable_shared_from_this<Plan> {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::string& name() const { return graph_->name(); }
  const ir::Graph& graph() const { return *graph_; }
  const std::shared_ptr<const ir::Graph>& shared_graph() const { return graph_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Operand>& operands() const { return operands_; }
  const std::vector<IValue>& constants() const { return constants_; }
  size_t param_count() const { return param_count_; }
  size_t slot_count() const { return slot_count_; }
  size_t max_inputs() const { return max_inputs_; }
  // Parameters stand behind the constants.
  uint32_t first_param() const { return static_cast<uint32_t>(constants_.size()); }
  // The node a step was made from; null for moves and the like.
  const ir::Node* origin(size_t step) const { return origins_[step]; }
  // No step, and none of a fork's body, writes to anything that another thread could see, draws
  // random numbers, or calls code not known here: forks may run beside it.
  bool is_pure() const { return is_pure_; }
  bool has_forks() const { return !bodies_.empty(); }
  bool has_calls() const { return !sites_.empty(); }
  FramePool& frames() const { return frames_; }
  // The plan's frames and those of its forks' bodies: see FramePool.
  size_t trim_frames() const;
  size_t kept_frames() const;

  // One line per step, for inspection.
  std::string to_string() const;

 private:
  friend class Lowering;
  std::shared_ptr<const ir::Graph> graph_;
  std::vector<Step> steps_;
  std::vector<Operand> operands_;
  std::vector<IValue> constants_;
  std::vector<const ir::Node*> origins_;
  std::deque<CallSite> sites_;
  std::deque<StepDetail> details_;
  std::vector<std::shared_ptr<Plan>> bodies_;  // Of forks.
  size_t param_count_ = 0;
  size_t slot_count_ = 0;
  size_t max_inputs_ = 0;
  bool is_pure_ = true;
  mutable FramePool frames_;
};

}  // namespace tierup::runtime
