// The module loader: from an opened TorchScript archive to a module's object and its code.
//
// Reading the pickle may run the model's own code (__setstate__), which this room cannot do: the
// caller gives a function that runs one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tierup/archive/model_archive.h"
#include "tierup/base/side_thread.h"
#include "tierup/frontend/missing_operator.h"
#include "tierup/frontend/torchscript/compilation_unit.h"

namespace tierup::frontend::torchscript {

struct LoadOptions {
  // Give free functions of old files the old operator semantics too; PyTorch does so for methods
  // only.
  bool upgrade_free_functions = false;
  // Operators besides the table's; outlive the module.
  const ops::ExternalOperators* operators = nullptr;
  // Runs a function of the model on complete arguments. Null: modules with __setstate__ are
  // refused.
  std::function<IValue(const ir::Function& function, std::vector<IValue> arguments)> run;
  // Gives what parses the code ahead to a thread beside. Null: none.
  std::function<void(SideThread::Work parse)> parse_ahead;
};

struct LoadedModule {
  Ref<archive::ModelArchive> archive;
  // Owner of all classes and functions; must outlive every use of the module's code.
  std::shared_ptr<CompilationUnit> unit;
  Ref<ObjectValue> root;  // An object of a module class: its methods are ScriptFunctions.
};

// The bytes of all its code files.
uint64_t code_bytes(const archive::ModelArchive& archive);

// Reads constants and the object tree. No method is compiled but those that run while reading.
// Throws kUnsupported, saying what the file is, unless the archive is TorchScript; else as the
// unpickler and kSyntax.
LoadedModule load_torchscript(Ref<archive::ModelArchive> archive, const LoadOptions& options = {});

// A tensor of the module tree by its dotted name: "layers.0.weight".
struct NamedTensor {
  std::string name;
  Tensor tensor;
  bool is_parameter = false;  // Else a buffer.
};
// Parameters and buffers in the order of declaration, submodules depth first. A submodule that
// appears twice is listed where it is first found.
std::vector<NamedTensor> named_tensors(const ObjectValue& root);
// The parameters among them; one with several names (tied weights) once, by its first.
std::vector<NamedTensor> named_parameters(const ObjectValue& root);

using frontend::MissingOperator;

// Everything unsupported that the methods of the root, its hooks and all they call can reach,
// each operator with its first place. A function that does not type-check is listed by its own
// name. Compiles the reachable code. With `methods` given, starts at those only.
std::vector<MissingOperator> missing_operators(const ObjectValue& root,
                                               const std::vector<std::string>& methods = {});

// The user's files that were saved with the model (extra/...): name and content.
std::vector<std::pair<std::string, std::string>> extra_files(const archive::ModelArchive& archive);

}  // namespace tierup::frontend::torchscript
