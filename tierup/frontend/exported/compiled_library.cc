#include "tierup/frontend/exported/compiled_library.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/flat_signature.h"
#include "tierup/ir/graph_editor.h"

namespace tierup::frontend::exported {
namespace {

constexpr std::string_view kLibraries = "data/aotinductor/";

// forward(self, inputs...) -> its tensors, as one node.
void set_forward(const CompiledModel& compiled, const std::vector<std::string>& inputs,
                 size_t output_count, ExportedProgram& program) {
  const auto type = ClassType::make("__torch__.exported." + program.model, true);
  const auto graph = std::make_shared<ir::Graph>("forward");
  ir::GraphEditor editor(*graph);
  ir::Schema schema;
  schema.name = "forward";
  schema.arguments.push_back(argument("self", type));
  editor.add_param(&graph->block(), type, "self");
  std::vector<ir::Value*> values;
  for (const std::string& name : inputs) {
    values.push_back(editor.add_param(&graph->block(), Type::tensor(), name));
    schema.arguments.push_back(argument(name, Type::tensor()));
  }
  values.push_back(editor.constant(compiled.group));
  ir::Node* node = editor.create_bare_op(*compiled.op);
  for (ir::Value* value : values) editor.add_input(node, value);
  std::vector<ir::Value*> results;
  for (size_t i = 0; i < output_count; ++i) {
    results.push_back(editor.add_output(node, Type::tensor()));
  }
  add_flat_outputs(editor, results, schema);
  if (program.forward) program.forward->forget_code();
  program.forward = make_ref<ExportedFunction>(type->name() + ".forward", std::move(schema), graph);
  type->add_method("forward", program.forward);
  program.type = type;
  program.root = make_ref<ObjectValue>(type);
  program.missing.clear();
  program.missing_weights.clear();
}

}  // namespace

std::string library_folder(const std::string& model) {
  return fmt::format("{}{}/", kLibraries, model);
}

// A model's name may hold slashes: its folder is the one with the files.
std::vector<std::string> compiled_models(const archive::ModelArchive& archive) {
  std::vector<std::string> models;
  for (const std::string& record : archive.records(kLibraries)) {
    const size_t slash = record.rfind('/');
    if (slash < kLibraries.size() || !record.ends_with(".so")) continue;
    std::string model = record.substr(kLibraries.size(), slash - kLibraries.size());
    if (std::find(models.begin(), models.end(), model) == models.end()) {
      models.push_back(std::move(model));
    }
  }
  return models;
}

bool has_library(const archive::ModelArchive& archive, const std::string& model) {
  const std::vector<std::string> models = compiled_models(archive);
  return std::find(models.begin(), models.end(), model) != models.end();
}

std::string target_of_library(const archive::ModelArchive& archive) {
  for (const std::string& record : archive.records(kLibraries)) {
    if (!record.ends_with("_metadata.json")) continue;
    simdjson::dom::parser parser;
    simdjson::dom::object metadata;
    if (parser.parse(archive.read_record(record)).get(metadata) != simdjson::SUCCESS) continue;
    std::string_view device;
    std::string_view isa;
    if (metadata["AOTI_DEVICE_KEY"].get(device) != simdjson::SUCCESS) continue;
    const bool has_isa = metadata["AOTI_CPU_ISA"].get(isa) == simdjson::SUCCESS;
    return has_isa ? fmt::format(" for {} ({})", device, isa) : fmt::format(" for {}", device);
  }
  return {};
}

ExportedProgram program_of_library(std::string model, const CompiledModel& compiled) {
  require(!compiled.in_spec.empty() && !compiled.out_spec.empty(), ErrorCode::kUnsupported,
          "the compiled model '{}' does not tell its calling convention", model);
  ExportedProgram program;
  program.model = std::move(model);
  program.in_spec = parse_tree_spec(compiled.in_spec, {});
  program.out_spec = parse_tree_spec(compiled.out_spec, {});
  std::vector<std::string> inputs(program.in_spec.leaf_count());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = fmt::format("input_{}", i);
  const size_t outputs = program.out_spec.leaf_count();
  set_forward(compiled, inputs, outputs, program);
  for (size_t i = 0; i < outputs; ++i) program.outputs.push_back({fmt::format("output_{}", i)});
  program.warnings.push_back(fmt::format(
      "'{}' is a compiled library without its program: its inputs are not checked", program.model));
  return program;
}

void compute_by(const CompiledModel& compiled, ExportedProgram& program) {
  const ir::Schema& schema = program.forward->schema();
  const auto is_tensor = [](const TypePtr& type) { return type->is(TypeKind::kTensor); };
  std::vector<std::string> inputs;
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    require(is_tensor(schema.arguments[i].type), ErrorCode::kUnsupported,
            "the compiled model '{}' takes '{}', which is no tensor", program.model,
            schema.arguments[i].name);
    inputs.push_back(schema.arguments[i].name);
  }
  const std::vector<TypePtr> outputs = flat_output_types(schema);
  require(std::all_of(outputs.begin(), outputs.end(), is_tensor), ErrorCode::kUnsupported,
          "the compiled model '{}' gives results that are no tensors", program.model);
  set_forward(compiled, inputs, outputs.size(), program);
}

std::vector<IValue> unchecked_inputs(const ExportedProgram& program,
                                     const std::vector<IValue>& args,
                                     const std::vector<std::pair<std::string, IValue>>& kwargs) {
  std::vector<IValue> leaves;
  flatten_call(program.in_spec, program.argument_names, args, kwargs,
               [&](const std::string& path, std::optional<IValue> value) {
                 require(value && value->is_tensor(), ErrorCode::kInvalidArgument,
                         "{}: input '{}' must be a tensor", program.signature(), path);
                 leaves.push_back(std::move(*value));
               });
  return leaves;
}

}  // namespace tierup::frontend::exported
