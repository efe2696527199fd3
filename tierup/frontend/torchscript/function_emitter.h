// FunctionEmitter: the emitter's state and its parts; private to the emitter's files.
//
//   emitter.cc            entry, function bodies, closures
//   emit_statement.cc     assignment and the simple statements
//   emit_if.cc            branches, joins, early exits
//   emit_loop.cc          loops and what they iterate over
//   emit_condition.cc     conditions: short circuits, folding, type refinement
//   emit_expression.cc    literals, names, attributes
//   emit_subscript.cc     x[...], read and written
//   emit_operator.cc      + - * < and friends
//   emit_call.cc          calls of functions, methods, classes
//   emit_builtin.cc       annotate, isinstance, len...
//   emit_op_call.cc       calls of operators: overloads
//   emit_sort.cc          sorting of objects
//   emit_upgrade.cc       operators of older files
//
// Early exits (break, continue, return before the end) become data flow. Frames hold, beside the
// source's names, "$exit" (bool: the rest of this loop body or function is to be skipped),
// "$stop" (the loop ends), "$return" (so does the function), and "$value" (what it returns).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/frontend/torchscript/compilation_unit.h"
#include "tierup/frontend/torchscript/emitter.h"
#include "tierup/frontend/torchscript/environment.h"
#include "tierup/frontend/torchscript/schema_matching.h"

namespace tierup::frontend::torchscript {

inline constexpr std::string_view kExitFlag = "$exit";
inline constexpr std::string_view kStopFlag = "$stop";
inline constexpr std::string_view kReturnFlag = "$return";
inline constexpr std::string_view kReturnValue = "$value";

inline constexpr int kMaxStatements = 250'000;

// How control leaves a piece of code.
enum class Flow : uint8_t {
  kFalls,    // At its end.
  kMayExit,  // At its end or by an early exit: "$exit" tells.
  kExits,    // By an early exit, whatever happens.
  kThrows,   // By an exception.
};

// A type that a name has where a condition holds.
struct Refinement {
  std::string_view name;
  TypePtr type;
};
using Refinements = std::vector<Refinement>;

// A condition: its value, or the constant it folds to, and what is known where it holds or not.
struct Condition {
  ir::Value* value = nullptr;  // Null if static.
  std::optional<bool> constant;
  Refinements if_true;
  Refinements if_false;
};

// What a for statement or comprehension goes over.
struct Iterable {
  ir::Value* length = nullptr;  // Null: endless (enumerate's counter).
  std::function<ir::Value*(ir::Value* index)> item;
  // Set instead of the two above: a fixed sequence, so the loop is unrolled.
  std::optional<std::vector<ir::Value*>> fixed;
};

class FunctionEmitter {
 public:
  FunctionEmitter(CompilationUnit& unit, std::shared_ptr<const FileUnit> file, ir::Graph& graph,
                  bool upgrade);

  void emit_body(const FunctionDef& definition, const std::vector<ir::Argument>& arguments,
                 const TypePtr& declared_result);

 private:
  // Entry, closures (emitter.cc).
  void emit_result(Flow flow, const Span& span);
  ir::Value* emit_fork(const Expr& call);
  ir::Value* capture(std::string_view name, const Binding& outer);
  const Binding* find_name(std::string_view name);
  [[noreturn]] void fail_here(const Span& span, const std::string& message) const {
    fail_at(*file_, span, message);
  }
  void set_range(const Span& span) { editor().set_range(file_->range(span)); }
  ir::GraphEditor& editor() { return builder_.editor(); }

  // Statements.
  Flow emit_block(const Block& block, size_t from = 0);
  Flow emit_statement(const Stmt& statement, const Block& block, size_t index, bool* took_rest);
  Flow emit_return(const Stmt& statement);
  Flow emit_raise(const Stmt& statement);
  Flow emit_with(const Stmt& statement);
  void emit_assert(const Stmt& statement);
  void emit_assign(const Stmt& statement);
  void emit_augmented(const Stmt& statement);
  void emit_delete(const Stmt& statement);
  void assign(const Expr& target, Sugared value, const Span& span);
  void assign_name(std::string_view name, Sugared value, const Span& span);
  void assign_tuple(const Expr& target, Sugared value, const Span& span);
  std::vector<ir::Value*> unpack(const Sugared& value, size_t count, bool has_star,
                                 const Span& span);
  void assign_attribute(const Expr& target, ir::Value* value);
  ir::Value* typed_as(ir::Value* value, const TypePtr& type, const Span& span,
                      std::string_view what);
  void raise_message(ir::Value* message, ir::Value* python_class);

  // Branches.
  struct Branch {
    ir::Block* block;
    Frame frame;
    Flow flow;
  };
  Flow emit_if(const Stmt& statement, const Block& block, size_t index, bool* took_rest);
  Flow emit_guarded_rest(const Block& block, size_t from);
  Branch emit_branch(ir::Node* node, const Refinements& refinements,
                     const std::function<Flow()>& body);
  void continue_branch(Branch& branch, const std::function<Flow()>& body);
  void join(ir::Node* node, Branch& then_branch, Branch& else_branch, bool in_tail_position);
  void join_name(ir::Node* node, std::string_view name, Branch& a, Branch& b, bool keep_new);
  void join_flag(ir::Node* node, std::string_view flag, Branch& a, Branch& b);
  void join_return_value(ir::Node* node, Branch& a, Branch& b);
  ir::Value* add_join(ir::Node* node, Branch& a, ir::Value* in_a, Branch& b, ir::Value* in_b,
                      const TypePtr& type, std::string_view name);
  ir::Value* in_branch(Branch& branch, const std::function<ir::Value*()>& make);
  void keep_refinements(const Branch& survivor);
  void apply(const Refinements& refinements);
  bool is_function_frame() const { return frame_ == &top_; }
  Flow join_flows(Flow a, Flow b) const;

  // Loops.
  Flow emit_for(const Stmt& statement);
  Flow emit_while(const Stmt& statement);
  struct LoopForm {
    ir::Value* trips;
    std::function<ir::Value*()> condition;  // Null: always true.
    const Expr* target = nullptr;  // Of a for statement, with what it is assigned each trip.
    std::function<ir::Value*(ir::Value* index)> item;
    std::function<void(ir::Value* index)> enter;  // Of a comprehension, instead of statements.
    const Block* body;
    Span span;
  };
  Flow emit_loop(const LoopForm& form);
  Flow emit_unrolled(const Stmt& statement, const std::vector<ir::Value*>& items);
  Iterable iterable_of(const Expr& expression);
  Iterable iterable_of_value(ir::Value* value, const Span& span);
  std::optional<Iterable> iterable_of_call(const Expr& call);
  Iterable iterable_of_range(const Expr& call);
  Iterable iterable_of_enumerate(const Expr& call);
  Iterable iterable_of_zip(const Expr& call);
  // A fresh list of everything an iterable yields.
  ir::Value* list_of(const Iterable& iterable, const Span& span);
  ir::Value* emit_comprehension(const Expr& expression, const TypePtr& hint);

  // Conditions.
  Condition emit_condition(const Expr& expression);
  Condition emit_junction(const Expr& expression);
  Condition emit_none_test(const Expr& expression);
  Condition emit_isinstance_test(const Expr& call);
  ir::Value* condition_value(const Condition& condition);
  ir::Value* to_bool(ir::Value* value, const Span& span);
  ir::Value* emit_choice(const Condition& condition, const std::function<ir::Value*()>& if_true,
                         const std::function<ir::Value*()>& if_false, const Span& span);

  // Expressions. `hint` is the type wanted, or null.
  Sugared emit_sugared(const Expr& expression, const TypePtr& hint = nullptr);
  ir::Value* emit(const Expr& expression, const TypePtr& hint = nullptr);
  ir::Value* as_value(const Sugared& meaning, const Span& span);
  Actual emit_actual(const Expr& expression, const TypePtr& hint = nullptr);
  Sugared emit_name(const Expr& expression);
  Sugared builtin_name(std::string_view name);
  Sugared emit_attribute(const Expr& expression);
  Sugared member(const Sugared& base, const std::string& name, const Span& span);
  Sugared value_member(ir::Value* value, const std::string& name, const Span& span);
  Sugared type_member(const TypePtr& type, const std::string& name, const Span& span);
  Sugared qualified(std::string name, const Span& span);
  std::optional<Sugared> tensor_property(ir::Value* value, const std::string& name);
  ir::Value* emit_list(const Expr& expression, const TypePtr& hint, bool* is_empty);
  ir::Value* emit_dict(const Expr& expression, const TypePtr& hint, bool* is_empty);
  ir::Value* emit_tuple(const Expr& expression, const TypePtr& hint);
  ir::Value* emit_ternary(const Expr& expression, const TypePtr& hint);
  ir::Value* convert_to(ir::Value* value, const TypePtr& type);
  TypePtr common_type(const std::vector<ir::Value*>& values) const;

  // Operators and subscripts.
  ir::Value* emit_binary(const Expr& expression);
  ir::Value* binary(Op op, ir::Value* a, ir::Value* b, const Span& span);
  ir::Value* emit_unary(const Expr& expression, const TypePtr& hint);
  ir::Value* in_place(Op op, ir::Value* target, ir::Value* operand, const Span& span);
  ir::Value* emit_subscript(const Expr& expression, const TypePtr& hint);
  ir::Value* subscript_of_tuple(ir::Value* tuple, const Expr& expression);
  ir::Value* subscript_of_module(ir::Value* container, const Expr& index, const TypePtr& hint);
  ir::Value* slice_of_value(ir::Value* value, const Expr& slice);
  // The view that x[...] selects; `indices` receives a List[Optional[Tensor]] if tensor indices
  // remain.
  ir::Value* subscript_of_tensor(ir::Value* tensor, const Expr& expression, ir::Value** indices);
  void assign_subscript(const Expr& target, ir::Value* value);
  void augment_subscript(const Stmt& statement);

  // Calls.
  Sugared emit_call(const Expr& expression, const TypePtr& hint);
  CallArguments emit_arguments(const Expr& call, size_t first = 1);
  Sugared call(const Sugared& callee, const CallArguments& arguments, const Span& span);
  ir::Value* call_function(const ScriptFunction& function, const CallArguments& arguments,
                           const Span& span);
  ir::Value* call_method(ir::Value* object, const std::string& name, const CallArguments& arguments,
                         const Span& span);
  ir::Value* call_value(ir::Value* value, const CallArguments& arguments, const Span& span);
  ir::Value* construct(const TypePtr& type, const CallArguments& arguments, const Span& span);
  MatchedCall match_or_fail(const ir::Schema& schema, const CallArguments& arguments,
                            const Span& span);

  // Operators by name.
  Sugared call_op(const std::string& name, const CallArguments& arguments, const Span& span);
  std::optional<Sugared> call_special_op(const std::string& name, const CallArguments& arguments,
                                         const Span& span);
  Sugared finish_op(const ops::Op& op, const MatchedCall& match);
  std::optional<Sugared> match_overloads(std::span<const ops::Op* const> candidates,
                                         const CallArguments& arguments, Conversions allowed);
  std::optional<Sugared> call_object_sort(const std::string& name, const CallArguments& arguments,
                                          const Span& span);
  Sugared record_of_marks(const Span& span);
  std::optional<Sugared> call_scalar_first(const std::string& name, const CallArguments& arguments,
                                           const Span& span);
  Sugared call_current_op(const std::string& name, const CallArguments& arguments,
                          const Span& span);
  std::optional<Sugared> call_upgraded(const std::string& name, const CallArguments& arguments,
                                       const Span& span);
  std::optional<Sugared> call_old_div(const std::string& name, const CallArguments& arguments,
                                      const Span& span);
  std::optional<Sugared> call_old_full(const CallArguments& arguments, const Span& span);
  std::optional<Sugared> call_old_space(const std::string& name, const CallArguments& arguments,
                                        const Span& span);
  // One value from an operator by unqualified aten name, for desugaring.
  ir::Value* aten(const std::string& name, std::vector<ir::Value*> inputs, const Span& span);

  // Builtins: functions and forms that are no operators.
  std::optional<Sugared> emit_form(std::string_view name, const Expr& call, const TypePtr& hint);
  ir::Value* emit_annotate(const Expr& call);
  ir::Value* emit_isinstance(const Expr& call);
  ir::Value* emit_getattr(const Expr& call);
  ir::Value* emit_tolist(ir::Value* value, const TypePtr& hint, const Span& span);
  Sugared call_builtin(const std::string& name, const CallArguments& arguments, const Span& span);
  std::optional<Sugared> call_static(const std::string& name, const CallArguments& arguments,
                                     const Span& span);
  ir::Value* cast(const std::string& name, const CallArguments& arguments, const Span& span);

  // Counts nested emission, so that hostile sources end in an error and not in the host's stack.
  class DepthGuard;

  CompilationUnit& unit_;
  std::shared_ptr<const FileUnit> file_;
  OpBuilder builder_;
  bool upgrade_;
  Frame top_{nullptr};
  Frame* frame_ = &top_;
  TypePtr result_type_;  // Null while it is not known.
  int loop_depth_ = 0;
  int depth_ = 0;
  int statements_ = 0;
  // Of a closure: the emitter of the function around it, and what it captured.
  FunctionEmitter* outer_ = nullptr;
  std::vector<ir::Value*> captured_;
};

}  // namespace tierup::frontend::torchscript
