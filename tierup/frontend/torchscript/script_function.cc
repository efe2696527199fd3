// See script_function.h; also the parts of CompilationUnit that build schemas and compile bodies.
#include "tierup/frontend/torchscript/script_function.h"

#include <fmt/format.h>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/compilation_unit.h"
#include "tierup/frontend/torchscript/emitter.h"

namespace tierup::frontend::torchscript {

ScriptFunction::ScriptFunction(std::string name, std::weak_ptr<CompilationUnit> unit,
                               std::shared_ptr<const FileUnit> file, const FunctionDef& definition,
                               std::weak_ptr<const ClassType> owner, bool is_method)
    : Function(std::move(name)),
      unit_(std::move(unit)),
      file_(std::move(file)),
      definition_(&definition),
      owner_(std::move(owner)),
      is_method_(is_method) {}

std::shared_ptr<CompilationUnit> ScriptFunction::unit() const {
  std::shared_ptr<CompilationUnit> unit = unit_.lock();
  require(unit != nullptr, ErrorCode::kNotFound, "the module that defines {} is gone", name());
  return unit;
}

const ir::Schema& ScriptFunction::schema() const {
  if (!has_schema_.load(std::memory_order_acquire)) unit()->build_schema(*this);
  return schema_;
}

const std::shared_ptr<const ir::Graph>& ScriptFunction::graph() const {
  if (!has_graph_.load(std::memory_order_acquire)) unit()->compile(*this);
  return graph_;
}

void CompilationUnit::build_schema(const ScriptFunction& function) {
  const std::lock_guard lock(mutex_);
  if (function.has_schema_.load(std::memory_order_relaxed)) return;
  const FunctionDef& definition = function.definition();
  ir::Schema schema;
  schema.name = function.name();
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const Parameter& parameter = definition.parameters[i];
    ir::Argument argument;
    argument.name = parameter.name;
    argument.kwarg_only = parameter.keyword_only;
    if (i == 0 && function.is_method()) {
      argument.type = function.owner();
      TIERUP_CHECK(argument.type != nullptr);
    } else if (parameter.annotation == nullptr) {
      argument.type = Type::tensor();
    } else {
      argument.type = types_.resolve_parameter(*parameter.annotation, *function.file(),
                                               &argument.broadcast_size);
    }
    if (parameter.default_value != nullptr) {
      argument.default_value =
          evaluate_constant(*this, *function.file(), *parameter.default_value, argument.type);
    }
    schema.arguments.push_back(std::move(argument));
  }
  ir::Argument result;
  if (definition.return_annotation != nullptr) {
    result.type = types_.resolve(*definition.return_annotation, *function.file());
  } else {
    // Only hand-written code leaves it out: the body tells. The arguments are known by now.
    function.schema_.arguments = schema.arguments;
    compile_undeclared(function);
    result.type = function.graph_->outputs()[0]->type();
  }
  schema.returns.push_back(std::move(result));
  function.schema_ = std::move(schema);
  function.has_schema_.store(true, std::memory_order_release);
}

// Compiles a function whose declaration does not name its result.
void CompilationUnit::compile_undeclared(const ScriptFunction& function) {
  function.building_schema_ = true;
  try {
    compile(function);
  } catch (...) {
    function.building_schema_ = false;
    throw;
  }
  function.building_schema_ = false;
}

void CompilationUnit::compile(const ScriptFunction& function) {
  const std::lock_guard lock(mutex_);
  if (function.has_graph_.load(std::memory_order_relaxed)) return;
  if (!function.building_schema_) {
    function.schema();  // Compiles the body as well where that is what tells the result's type.
    if (function.has_graph_.load(std::memory_order_relaxed)) return;
  }
  if (function.compiling_) {
    fail_at(*function.file(), function.definition().name_span,
            fmt::format("function '{}' is called recursively. Recursive calls are only supported "
                        "with a declared return type",
                        function.name()));
  }
  function.compiling_ = true;
  try {
    const FunctionDef& definition = function.definition();
    const TypePtr declared =
        definition.return_annotation != nullptr ? function.schema_.returns[0].type : nullptr;
    function.graph_ = emit_function(*this, function, function.schema_.arguments, declared);
  } catch (...) {
    function.compiling_ = false;
    throw;
  }
  function.compiling_ = false;
  function.has_graph_.store(true, std::memory_order_release);
}

}  // namespace tierup::frontend::torchscript
