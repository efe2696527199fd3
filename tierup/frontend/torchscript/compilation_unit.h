// CompilationUnit: everything that the code of one archive defines, found by qualified name.
//
// Definitions are made when first asked for. A class is registered as an empty shell before its
// attributes' types are resolved, since types may refer to each other in circles. Bodies are
// compiled when a function's graph is first wanted.
//
// Classes and functions refer to each other in circles (a method's first argument is of its class),
// which the unit takes apart when it goes: schemas and graphs go with it. Objects that outlive it
// keep their class, whose methods then say that their module is gone.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/frontend/torchscript/script_function.h"
#include "tierup/frontend/torchscript/source_index.h"
#include "tierup/frontend/torchscript/type_resolver.h"
#include "tierup/ops/table/external.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::frontend::torchscript {

struct CompileOptions {
  int64_t version = 3;  // Of the archive: selects old operator semantics.
  // Give free functions the old semantics too; PyTorch's loader does so for methods only.
  bool upgrade_free_functions = false;
  const ops::ExternalOperators* operators = nullptr;  // Besides the table's; outlives the unit.
};

// What a qualified name means: at most one of the two is set.
struct Definition {
  TypePtr type;  // Class, interface, NamedTuple or enum.
  Ref<ScriptFunction> function;
  explicit operator bool() const { return type != nullptr || function; }
};

// Thread rule: any thread may call anything; one lock guards definition and compilation.
class CompilationUnit : public std::enable_shared_from_this<CompilationUnit> {
 public:
  static std::shared_ptr<CompilationUnit> make(SourceIndex index, CompileOptions options = {});
  ~CompilationUnit();
  CompilationUnit(const CompilationUnit&) = delete;
  CompilationUnit& operator=(const CompilationUnit&) = delete;

  const CompileOptions& options() const { return options_; }
  const TypeResolver& types() const { return types_; }

  // Empty if the archive does not define the name. Throws kSyntax if its declaration is wrong.
  const Definition& find(std::string_view qualified_name);
  // The type of that name, or null.
  TypePtr find_type(std::string_view qualified_name) { return find(qualified_name).type; }

  // All overloads of "aten::add" in registration order, remembered. Only while compiling.
  const std::vector<const ops::Op*>& overloads(const std::string& name);

  // Sorts a list of objects of this class, which has __lt__, in place, and returns it. Only while
  // compiling.
  Ref<ScriptFunction> sort_function(const ClassType& type);

  // The table behind CONSTANTS.cN, read after the unit is made, since reading it may need classes.
  void set_constants(std::vector<IValue> constants) { constants_ = std::move(constants); }
  // "CONSTANTS.c3" -> element 3 (given "c3"). Throws kSyntax if there is none.
  const IValue& constant(std::string_view name) const;

 private:
  friend class ScriptFunction;
  CompilationUnit(SourceIndex index, CompileOptions options);

  Definition define(const std::string& qualified_name);
  TypePtr define_class(const std::string& name, const SourceIndex::Definition& found);
  TypePtr define_named_tuple(const std::string& name, const SourceIndex::Definition& found);
  TypePtr define_enum(const std::string& name, const SourceIndex::Definition& found);
  void declare_attributes(ClassType& type, const SourceIndex::Definition& found);
  void declare_methods(const std::shared_ptr<ClassType>& type,
                       const SourceIndex::Definition& found);

  static void forget_code(const Ref<ScriptFunction>& function);

  void build_schema(const ScriptFunction& function);
  void compile(const ScriptFunction& function);
  void compile_undeclared(const ScriptFunction& function);

  SourceIndex index_;
  CompileOptions options_;
  TypeResolver types_;
  std::recursive_mutex mutex_;
  std::unordered_map<std::string, Definition> definitions_;
  std::vector<std::shared_ptr<ClassType>> classes_;  // Also those whose declaration was wrong.
  std::unordered_map<std::string, std::vector<const ops::Op*>> overloads_;
  std::unordered_map<const ClassType*, Ref<ScriptFunction>> sort_functions_;
  std::vector<IValue> constants_;
};

// A default value, class constant or enum value: literals, None, lists, tuples, dicts,
// CONSTANTS.cN, signs and complex sums. `hint` (or null) types lists and lets int literals be
// floats. Throws kSyntax for anything else.
IValue evaluate_constant(CompilationUnit& unit, const FileUnit& file, const Expr& expression,
                         const TypePtr& hint);

}  // namespace tierup::frontend::torchscript
