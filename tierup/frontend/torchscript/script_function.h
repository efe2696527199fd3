// ScriptFunction: a method or free function of an archive.
//
// Its schema is built from the declaration alone and its graph from the body, both on first use:
// a model of a thousand methods of which fifty run pays for fifty.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tierup/frontend/torchscript/ast.h"
#include "tierup/frontend/torchscript/op_builder.h"
#include "tierup/ir/function.h"

namespace tierup::frontend::torchscript {

class CompilationUnit;

class ScriptFunction final : public ir::Function {
 public:
  // `owner` is the class of a method; null for a free function.
  ScriptFunction(std::string name, std::weak_ptr<CompilationUnit> unit,
                 std::shared_ptr<const FileUnit> file, const FunctionDef& definition,
                 std::weak_ptr<const ClassType> owner, bool is_method);

  const ir::Schema& schema() const override;
  const std::shared_ptr<const ir::Graph>& graph() const override;

  const FunctionDef& definition() const { return *definition_; }
  const std::shared_ptr<const FileUnit>& file() const { return file_; }
  bool is_method() const { return is_method_; }
  // Null for a free function, or if the class is gone.
  std::shared_ptr<const ClassType> owner() const { return owner_.lock(); }

 private:
  friend class CompilationUnit;  // Builds schema and graph under its lock.
  std::shared_ptr<CompilationUnit> unit() const;

  std::weak_ptr<CompilationUnit> unit_;
  std::shared_ptr<const FileUnit> file_;
  const FunctionDef* definition_;
  std::weak_ptr<const ClassType> owner_;
  bool is_method_;

  // Written once under the compilation unit's lock, published by the flags.
  mutable std::atomic<bool> has_schema_{false};
  mutable std::atomic<bool> has_graph_{false};
  mutable bool compiling_ = false;
  mutable bool building_schema_ = false;
  mutable ir::Schema schema_;
  mutable std::shared_ptr<const ir::Graph> graph_;
};

}  // namespace tierup::frontend::torchscript
