// See emitter.h: the entry, function bodies, and closures for fork.
#include "tierup/frontend/torchscript/emitter.h"

#include <fmt/format.h>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/depth_guard.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;

std::shared_ptr<ir::Graph> emit_function(CompilationUnit& unit, const ScriptFunction& function,
                                         const std::vector<ir::Argument>& arguments,
                                         const TypePtr& declared_result) {
  auto graph = std::make_shared<ir::Graph>(function.name());
  const bool upgrade = function.is_method() || unit.options().upgrade_free_functions;
  FunctionEmitter emitter(unit, function.file(), *graph, upgrade);
  emitter.emit_body(function.definition(), arguments, declared_result);
  return graph;
}

FunctionEmitter::FunctionEmitter(CompilationUnit& unit, std::shared_ptr<const FileUnit> file,
                                 ir::Graph& graph, bool upgrade)
    : unit_(unit), file_(std::move(file)), builder_(graph), upgrade_(upgrade) {}

void FunctionEmitter::emit_body(const FunctionDef& definition,
                                const std::vector<ir::Argument>& arguments,
                                const TypePtr& declared_result) {
  result_type_ = declared_result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Value* param =
        editor().add_param(&editor().graph().block(), arguments[i].type, arguments[i].name);
    top_.bind(definition.parameters[i].name, Sugared::of(param));
  }
  emit_result(emit_block(definition.body), definition.name_span);
}

// Gives the graph its one output.
void FunctionEmitter::emit_result(Flow flow, const Span& span) {
  set_range(span);
  const Binding* bound = top_.find_here(kReturnValue);
  Value* result = nullptr;
  if (flow == Flow::kExits) {
    result = bound->meaning.value;
  } else if (flow == Flow::kThrows) {
    result = builder_.uninitialized(result_type_ != nullptr ? result_type_ : Type::none());
  } else {
    const bool none_fits = result_type_ == nullptr || is_subtype(Type::none(), result_type_);
    if (!none_fits) {
      fail_here(span, fmt::format("Function was annotated to return {}, but not all code paths "
                                  "return a value",
                                  result_type_->to_string()));
    }
    result = builder_.none();
    if (flow == Flow::kMayExit) {
      Condition exited;
      exited.value = top_.find_here(kExitFlag)->meaning.value;
      Value* value = bound->meaning.value;
      result = emit_choice(
          exited, [&] { return value; }, [&] { return builder_.none(); }, span);
    }
  }
  editor().add_return(&editor().graph().block(), result);
}

const Binding* FunctionEmitter::find_name(std::string_view name) {
  if (const Binding* found = frame_->find(name)) return found;
  if (outer_ == nullptr || name.starts_with('$')) return nullptr;
  const Binding* found = outer_->find_name(name);
  if (found == nullptr || !found->meaning.is(Sugared::Kind::kValue)) return found;
  capture(name, *found);
  return top_.find_here(name);
}

// Makes a value of the function around this closure a parameter of the closure.
Value* FunctionEmitter::capture(std::string_view name, const Binding& outer) {
  Value* value = outer.meaning.value;
  Value* param = editor().add_param(&editor().graph().block(), value->type(), std::string(name));
  if (outer_->builder_.is_poisoned(value)) builder_.poison(param);
  captured_.push_back(value);
  top_.bind(name, Sugared::of(param));
  return param;
}

// fork(f, arguments...): the call as a graph of its own, over what it captures now.
Value* FunctionEmitter::emit_fork(const Expr& call_expression) {
  if (call_expression.children.size() < 2) {
    fail_here(call_expression.span, "fork() expects a function to run");
  }
  const Sugared callee = emit_sugared(*call_expression.child(1));
  const CallArguments arguments = emit_arguments(call_expression, 2);
  auto graph = std::make_shared<ir::Graph>("fork");
  FunctionEmitter inner(unit_, file_, *graph, upgrade_);
  inner.outer_ = this;
  inner.depth_ = depth_;
  inner.set_range(call_expression.span);
  if (callee.is(Sugared::Kind::kClosure)) {
    inner.emit_body(*callee.definition, {}, nullptr);
  } else {
    const auto into = [&](Actual actual) {
      actual.value = inner.capture("", Binding{Sugared::of(actual.value), false});
      return actual;
    };
    Sugared target = callee;
    if (target.value != nullptr) target.value = into({target.value}).value;
    CallArguments passed;
    for (const Actual& actual : arguments.positional) passed.positional.push_back(into(actual));
    for (const NamedActual& keyword : arguments.keywords) {
      passed.keywords.push_back({keyword.name, into(keyword.actual)});
    }
    const Sugared result = inner.call(target, passed, call_expression.span);
    inner.editor().add_return(&graph->block(), inner.as_value(result, call_expression.span));
  }
  const TypePtr result = graph->outputs()[0]->type();
  Value* future = builder_.node(NodeKind::kFork, inner.captured_, Type::future(result));
  editor().set_attr(future->node(), ir::AttrName::kCallee,
                    ir::AttrValue(std::shared_ptr<const ir::Graph>(std::move(graph))));
  return future;
}

}  // namespace tierup::frontend::torchscript
