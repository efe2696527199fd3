// ExportedProgram: a torch.export archive as a module object with one method, forward.
//
// Parameters, buffers and constants are attributes of the object, by their fully qualified names,
// so that all that works on TorchScript modules (state dicts, plans, observed constants) works
// here. The method takes the flat leaves of the calling convention that are no constants and
// gives the flat output, or a tuple of several; flatten_inputs() and unflatten_outputs() stand
// between it and nested Python structures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/archive/model_archive.h"
#include "tierup/frontend/exported/fast_checks.h"
#include "tierup/frontend/exported/input_checks.h"
#include "tierup/frontend/exported/tree_spec.h"
#include "tierup/frontend/missing_operator.h"
#include "tierup/ir/function.h"
#include "tierup/ops/table/external.h"

namespace tierup::frontend::exported {

class ExportedFunction final : public ir::Function {
 public:
  ExportedFunction(std::string name, ir::Schema schema, std::shared_ptr<const ir::Graph> graph)
      : ir::Function(std::move(name)), schema_(std::move(schema)), graph_(std::move(graph)) {}
  const ir::Schema& schema() const override { return schema_; }
  const std::shared_ptr<const ir::Graph>& graph() const override;
  // Gives up schema and graph, which name the class that holds this function as its method.
  void forget_code();

 private:
  ir::Schema schema_;
  std::shared_ptr<const ir::Graph> graph_;
};

// A model that stands in the archive compiled already, in the hands of a delegate: a node of `op`,
// whose inputs are the flat inputs and `group`, gives the flat outputs.
struct CompiledModel {
  const ops::Op* op = nullptr;
  IValue group;
  std::string in_spec;  // Tree specs, as PyTorch writes them.
  std::string out_spec;
};

struct ExportedOptions {
  // Which of several models in one archive; empty: the only one, or the one named "model".
  std::string model;
  // Where the program's devices go: {"cuda:0", "cpu"}. An accelerator that is not mapped is
  // refused.
  std::vector<std::pair<Device, Device>> placement;
  CheckOptions checks;
  // Operators besides the table's; outlive the program.
  const ops::ExternalOperators* operators = nullptr;
  // Opens a model's compiled library; null: nobody runs those, and the graph is needed.
  std::function<CompiledModel(const archive::ModelArchive&, const std::string& model)>
      open_compiled;
};

// Owner of the code: it must outlive every use of `forward`, whose graph goes with it.
struct ExportedProgram {
  ExportedProgram() = default;
  ~ExportedProgram();
  ExportedProgram(ExportedProgram&&) = default;

  std::string model;
  std::string torch_version;
  int64_t schema_minor = 0;
  bool is_training_dialect = false;
  std::shared_ptr<const ClassType> type;
  Ref<ObjectValue> root;
  Ref<ExportedFunction> forward;
  TreeSpec in_spec;
  TreeSpec out_spec;
  std::vector<std::string> argument_names;
  std::vector<OutputLeaf> outputs;            // Per leaf of the result; InputChecks tells them.
  std::shared_ptr<const InputChecks> checks;  // Null: a compiled model without its graph.
  CheckOptions check_options;
  std::optional<FastChecks> fast_checks;  // Of a call whose arguments are the leaves.
  bool is_flat = false;                   // The convention: positional tensors and nothing else.
  std::vector<MissingOperator> missing;
  std::vector<std::string> missing_weights;  // Named by the signature, without data in the archive.
  std::vector<std::string> warnings;

  // Checked leaves for forward (without self). Throws as InputChecks::check and flatten_call do.
  std::vector<IValue> flatten_inputs(
      std::vector<IValue> args, const std::vector<std::pair<std::string, IValue>>& kwargs) const;
  // The same from leaves in order, without those that are constants of the program.
  std::vector<IValue> check_leaves(std::vector<IValue> leaves) const;
  // What forward gave, in the structure that the program was exported with.
  IValue unflatten_outputs(IValue result) const;
  // "forward(x, y)", for messages.
  std::string signature() const { return call_signature(in_spec, argument_names); }
};

// Names of the models in an archive.
std::vector<std::string> exported_models(const archive::ModelArchive& archive);
// The tensor of a parameter, buffer or constant by its qualified name; undefined: there is none.
using WeightSource = std::function<Tensor(const std::string& name)>;
// A program without an archive: the JSON that one would hold, and weights from elsewhere.
ExportedProgram load_exported_json(std::string_view json, const WeightSource& weights,
                                   const ExportedOptions& options);
// Throws kCorruptArchive, kUnsupported, kNotFound (a model that is not there, weights missing from
// the configuration). Weights are mapped, never read.
ExportedProgram load_exported(const archive::ModelArchive& archive, const ExportedOptions& options);

}  // namespace tierup::frontend::exported
