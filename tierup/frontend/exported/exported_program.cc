// Loading: which model, its JSON, its weights, then the graph over a module object.
#include "tierup/frontend/exported/exported_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/compiled_library.h"
#include "tierup/frontend/exported/exported_weights.h"
#include "tierup/frontend/exported/flat_signature.h"
#include "tierup/frontend/exported/graph_builder.h"
#include "tierup/frontend/exported/joint_program.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::frontend::exported {
namespace {

constexpr std::string_view kFlatProgram = "serialized_exported_program.json";

// The convention is tuple(args, kwargs).
bool takes_only_leaves(const TreeSpec& in_spec) {
  if (in_spec.children.size() != 2 || !in_spec.children[1].children.empty()) return false;
  const auto& args = in_spec.children[0].children;
  return std::all_of(args.begin(), args.end(),
                     [](const TreeSpec& arg) { return arg.kind == TreeSpec::Kind::kLeaf; });
}

// Every model of the archive that these options can run.
std::vector<std::string> runnable_models(const archive::ModelArchive& archive,
                                         const ExportedOptions& options) {
  std::vector<std::string> models = exported_models(archive);
  if (!options.open_compiled) return models;
  for (const std::string& model : compiled_models(archive)) {
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  }
  return models;
}

std::string choose_model(const archive::ModelArchive& archive, const ExportedOptions& options) {
  const std::string& wanted = options.model;
  const std::vector<std::string> models = runnable_models(archive, options);
  require(!models.empty() || archive.records("data/aotinductor/").empty(), ErrorCode::kUnsupported,
          "{}: this archive contains only an AOTInductor library{}; tierup needs the exported "
          "graph: save it with torch.export.save, or with package_pt2(exported_programs=...); or "
          "name a delegate that runs such libraries (Options::plugins, --delegate), as "
          "libtierup_aotinductor.so does",
          archive.name(), target_of_library(archive));
  require(!models.empty(), ErrorCode::kCorruptArchive, "{}: the archive holds no exported program",
          archive.name());
  const auto has = [&](const std::string& name) {
    return std::find(models.begin(), models.end(), name) != models.end();
  };
  if (!wanted.empty()) {
    require(has(wanted), ErrorCode::kNotFound, "{}: no model '{}'; the archive has: {}",
            archive.name(), wanted, fmt::join(models, ", "));
    return wanted;
  }
  if (models.size() == 1) return models[0];
  for (const char* usual : {"model", "forward"}) {
    if (has(usual)) return usual;
  }
  fail(ErrorCode::kInvalidArgument, "{}: the archive has several models ({}); choose one",
       archive.name(), fmt::join(models, ", "));
}

// Builds type, object and graph of one program.
class ProgramLoader {
 public:
  // `by_library`: what the graph computes, and reads, is a compiled library's matter.
  ProgramLoader(std::string_view json, WeightSource weights, const ExportedOptions& options,
                std::string model, bool by_library)
      : options_(options),
        by_library_(by_library),
        data_(parse_program(json)),
        weights_(std::move(weights)) {
    program_.model = std::move(model);
  }

  ExportedProgram load() {
    program_.torch_version = data_.torch_version;
    program_.schema_minor = data_.schema_minor;
    program_.is_training_dialect = std::find(data_.verifiers.begin(), data_.verifiers.end(),
                                             "TRAINING") != data_.verifiers.end();
    if (data_.schema_minor > kKnownSchemaMinor) {
      program_.warnings.push_back(
          fmt::format("the program's schema 8.{} is newer than 8.{}, which this build knows",
                      data_.schema_minor, kKnownSchemaMinor));
    }
    check_counts();
    check_placement();
    make_object();
    make_graph();
    make_convention();
    return std::move(program_);
  }

 private:
  void check_counts() const {
    require(data_.inputs.size() == data_.graph.inputs.size(), ErrorCode::kCorruptArchive,
            "the signature has {} inputs, the graph {}", data_.inputs.size(),
            data_.graph.inputs.size());
    require(data_.outputs.size() == data_.graph.outputs.size(), ErrorCode::kCorruptArchive,
            "the signature has {} outputs, the graph {}", data_.outputs.size(),
            data_.graph.outputs.size());
  }

  Device placed(const Device& device) const {
    for (const auto& [from, to] : options_.placement) {
      const bool any_index = from.index < 0 || (from.index == 0 && device.index < 0);
      if (from.type == device.type && (any_index || from.index == device.index)) return to;
    }
    return device;
  }

  void check_placement() {
    for (auto& [name, meta] : data_.graph.tensor_values) {
      meta.device = placed(meta.device);
      const bool runnable =
          meta.device.type == DeviceType::kCpu || meta.device.type == DeviceType::kMeta;
      require(runnable, ErrorCode::kUnsupported,
              "the program places '{}' on {}; tierup runs on the CPU: load it with the placement "
              "{}=cpu",
              name, meta.device.to_string(), meta.device.to_string());
    }
    if (!options_.placement.empty()) place_graph(data_.graph);
  }

  void place_graph(GraphData& graph) {
    for (NodeData& node : graph.nodes) {
      for (NamedArgument& input : node.inputs) {
        if (input.value.kind == Argument::Kind::kDevice)
          input.value.device = placed(input.value.device);
        if (input.value.graph) {
          auto inner = std::make_shared<GraphData>(*input.value.graph);
          place_graph(*inner);
          input.value.graph = std::move(inner);
        }
      }
    }
  }

  // Every weight, buffer and constant as an attribute; tied ones share their storage.
  void make_object() {
    auto type = ClassType::make("__torch__.exported." + program_.model, true);
    std::vector<std::pair<std::string, Tensor>> values;
    for (const InputSpec& spec : data_.inputs) {
      using Kind = InputSpec::Kind;
      if (spec.kind == Kind::kCustomObject) {
        program_.missing.push_back(
            {"custom object " + spec.target, "custom C++ objects are not supported", {}, false});
        continue;
      }
      const bool is_parameter = spec.kind == Kind::kParameter;
      const bool is_buffer = spec.kind == Kind::kBuffer;
      if (!is_parameter && !is_buffer && spec.kind != Kind::kTensorConstant) continue;
      if (type->find_attribute(spec.target)) continue;
      type->add_attribute(
          {spec.target, Type::tensor(), is_parameter, is_buffer && spec.persistent});
      values.emplace_back(spec.target, weights_(spec.target));
    }
    program_.root = make_ref<ObjectValue>(type);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].second.defined()) {
        program_.root->slots[i] = std::move(values[i].second);
      } else {
        program_.missing_weights.push_back(values[i].first);
      }
    }
    class_ = type;
    program_.type = type;
  }

  void make_graph() {
    auto graph = std::make_shared<ir::Graph>("forward");
    GraphBuilder builder(*graph, symbols_, options_.operators);
    ir::GraphEditor& editor = builder.editor();
    ir::Value* self = editor.add_param(&graph->block(), class_, "self");
    ir::Schema schema;
    schema.name = "forward";
    schema.arguments.push_back(argument("self", class_));
    Environment environment;
    for (size_t i = 0; i < data_.inputs.size(); ++i) {
      bind_input(builder, data_.inputs[i], self, environment, schema);
    }
    builder.add_nodes(data_.graph, environment);
    editor.set_range({});
    add_outputs(builder, self, environment, schema);
    for (const MissingOperator& missing : builder.missing()) program_.missing.push_back(missing);
    program_.forward = make_ref<ExportedFunction>(class_->name() + ".forward", std::move(schema),
                                                  std::move(graph));
    class_->add_method("forward", program_.forward);
  }

  void bind_input(GraphBuilder& builder, const InputSpec& spec, ir::Value* self,
                  Environment& environment, ir::Schema& schema) {
    using Kind = InputSpec::Kind;
    ir::GraphEditor& editor = builder.editor();
    const std::string& name = spec.argument.text;
    switch (spec.kind) {
      case Kind::kParameter:
      case Kind::kBuffer:
      case Kind::kTensorConstant: {
        ir::Node* node = editor.create(ir::NodeKind::kGetAttr, {self});
        editor.set_attr(node, ir::AttrName::kName, spec.target);
        builder.bind(spec.argument, editor.add_output(node, Type::tensor()), data_.graph,
                     environment);
        return;
      }
      case Kind::kUserInput: {
        if (!spec.argument.is_reference()) return;
        const bool is_number = spec.argument.kind == Argument::Kind::kSymInt;
        ir::Value* value = editor.add_param(&builder.editor().graph().block(),
                                            is_number ? Type::integer() : Type::tensor(), name);
        builder.bind(spec.argument, value, data_.graph, environment);
        schema.arguments.push_back(argument(name, is_number ? Type::integer() : Type::tensor()));
        user_inputs_.push_back(value);
        return;
      }
      case Kind::kConstantInput:
        environment.emplace(spec.name, builder.convert(spec.argument, nullptr, environment));
        return;
      case Kind::kToken:
      case Kind::kCustomObject:
        environment.emplace(name, editor.constant(IValue(), Type::none()));
        return;
    }
  }

  // Mutations are written back after all nodes; several user outputs become one tuple.
  void add_outputs(GraphBuilder& builder, ir::Value* self, Environment& environment,
                   ir::Schema& schema) {
    using Kind = OutputSpec::Kind;
    ir::GraphEditor& editor = builder.editor();
    std::vector<ir::Value*> results;
    std::vector<std::pair<ir::Value*, ir::Value*>> writes;
    for (const OutputSpec& spec : data_.outputs) {
      switch (spec.kind) {
        case Kind::kLossOutput: joint_.add(spec, data_); [[fallthrough]];
        case Kind::kUserOutput:
          results.push_back(builder.convert(spec.argument, nullptr, environment));
          program_.outputs.push_back(output_leaf(spec.argument));
          break;
        case Kind::kBufferMutation:
        case Kind::kParameterMutation: {
          require(class_->find_attribute(spec.target).has_value(), ErrorCode::kCorruptArchive,
                  "the program writes to '{}', which is no weight of it", spec.target);
          ir::Node* node = editor.create(ir::NodeKind::kGetAttr, {self});
          editor.set_attr(node, ir::AttrName::kName, spec.target);
          writes.emplace_back(editor.add_output(node, Type::tensor()),
                              builder.convert(spec.argument, nullptr, environment));
          break;
        }
        case Kind::kUserInputMutation: {
          const auto input = environment.find(spec.target);
          require(input != environment.end(), ErrorCode::kCorruptArchive,
                  "the program writes to '{}', which is no input of it", spec.target);
          writes.emplace_back(input->second, builder.convert(spec.argument, nullptr, environment));
          break;
        }
        case Kind::kToken: break;
        case Kind::kGradientToParameter:
        case Kind::kGradientToUserInput: joint_.add(spec, data_); break;
      }
    }
    if (joint_.is_joint()) add_joint_outputs(builder, environment, results);
    write_back(editor, writes);
    add_flat_outputs(editor, results, schema);
  }

  // A joint program's results: the loss, its gradients, then all outputs if there are others.
  void add_joint_outputs(GraphBuilder& builder, Environment& environment,
                         std::vector<ir::Value*>& results) {
    std::vector<ir::Value*> values;
    std::vector<OutputLeaf> leaves;
    for (const Argument& argument : joint_.in_order()) {
      values.push_back(builder.convert(argument, nullptr, environment));
      leaves.push_back(output_leaf(argument));
    }
    if (results.size() > 1) {
      values.insert(values.end(), results.begin(), results.end());
      leaves.insert(leaves.end(), program_.outputs.begin(), program_.outputs.end());
    }
    results = std::move(values);
    program_.outputs = std::move(leaves);
  }

  OutputLeaf output_leaf(const Argument& argument) {
    OutputLeaf leaf;
    leaf.kind = argument.kind;
    if (argument.is_reference()) leaf.name = argument.text;
    const auto meta = data_.graph.tensor_values.find(argument.text);
    if (argument.kind != Argument::Kind::kTensor || meta == data_.graph.tensor_values.end()) {
      return leaf;
    }
    leaf.dtype = meta->second.dtype;
    for (const SymInt& size : meta->second.sizes) {
      leaf.sizes.push_back(
          parse_srepr(size.is_static() ? std::to_string(size.value) : size.expression, symbols_));
    }
    return leaf;
  }

  static void write_back(ir::GraphEditor& editor,
                         const std::vector<std::pair<ir::Value*, ir::Value*>>& writes) {
    if (writes.empty()) return;
    const ops::Op* copy = ops::OpTable::instance().find("aten::copy_");
    require(copy != nullptr, ErrorCode::kUnsupported, "aten::copy_ is not in this build's table");
    for (const auto& [target, value] : writes) {
      editor.create_op(*copy, std::array{target, value, editor.constant(IValue(false))});
    }
  }

  void make_convention() {
    program_.in_spec = parse_tree_spec(data_.in_spec, data_.namedtuple_fields);
    program_.out_spec = parse_tree_spec(data_.out_spec, data_.namedtuple_fields);
    if (joint_.is_joint()) program_.out_spec = joint_.structure(std::move(program_.out_spec));
    program_.argument_names = data_.forward_arg_names;
    program_.check_options = options_.checks;
    auto checks = std::make_shared<InputChecks>(data_, program_.in_spec, symbols_);
    size_t next = 0;
    std::string unused;
    for (size_t i = 0; i < checks->leaves().size(); ++i) {
      if (checks->leaves()[i].is_constant) continue;
      const bool used = !user_inputs_[next++]->uses().empty() || by_library_;
      checks->set_used(i, used);
      if (!used) unused += (unused.empty() ? "" : ", ") + checks->leaves()[i].path;
    }
    if (!unused.empty())
      program_.warnings.push_back("user inputs " + unused + " are never used by the graph");
    for (const std::string& guard : checks->dropped_guards()) {
      program_.warnings.push_back("guard not understood and not checked: " + guard);
    }
    const size_t leaves = program_.out_spec.leaf_count();
    const size_t outputs = program_.outputs.size();
    require(leaves == outputs, ErrorCode::kCorruptArchive,
            "the result has {} leaves, the graph {} user outputs", leaves, outputs);
    program_.checks = std::move(checks);
    program_.fast_checks = FastChecks::make(*program_.checks, program_.check_options);
    program_.is_flat = takes_only_leaves(program_.in_spec);
  }

  const ExportedOptions& options_;
  const bool by_library_;
  ProgramData data_;
  WeightSource weights_;
  SymbolTable symbols_;
  std::shared_ptr<ClassType> class_;
  std::vector<ir::Value*> user_inputs_;
  JointOutputs joint_;
  ExportedProgram program_;
};

}  // namespace

std::vector<std::string> exported_models(const archive::ModelArchive& archive) {
  if (archive.contains(kFlatProgram)) return {"model"};
  std::vector<std::string> models;
  for (const std::string& record : archive.records("models/")) {
    if (record.ends_with(".json")) models.push_back(record.substr(7, record.size() - 12));
  }
  return models;
}

ExportedProgram load_exported(const archive::ModelArchive& archive,
                              const ExportedOptions& options) {
  archive.require_kind(archive::ArchiveKind::kExported);
  try {
    std::string model = choose_model(archive, options);
    const bool is_compiled = options.open_compiled && has_library(archive, model);
    std::optional<CompiledModel> compiled;
    if (is_compiled) compiled = options.open_compiled(archive, model);
    const std::vector<std::string> graphs = exported_models(archive);
    if (std::find(graphs.begin(), graphs.end(), model) == graphs.end()) {
      return program_of_library(std::move(model), *compiled);
    }
    const std::string record =
        archive.contains(kFlatProgram) ? std::string(kFlatProgram) : "models/" + model + ".json";
    ExportedWeights weights(archive, model);
    ExportedProgram program = ProgramLoader(
                                  archive.read_record(record),
                                  [&](const std::string& name) { return weights.find(name); },
                                  options, std::move(model), is_compiled)
                                  .load();
    if (compiled) compute_by(*compiled, program);
    return program;
  } catch (Error& error) {
    error.add_context("while loading " + archive.name());
    throw;
  }
}

ExportedProgram load_exported_json(std::string_view json, const WeightSource& weights,
                                   const ExportedOptions& options) {
  return ProgramLoader(json, weights, options, "program", false).load();
}

std::vector<IValue> ExportedProgram::flatten_inputs(
    std::vector<IValue> args, const std::vector<std::pair<std::string, IValue>>& kwargs) const {
  if (is_flat && kwargs.empty() && fast_checks && fast_checks->hold(args)) return args;
  if (!checks) return unchecked_inputs(*this, args, kwargs);
  std::vector<std::optional<IValue>> leaves;
  flatten_call(
      in_spec, argument_names, args, kwargs,
      [&](const std::string&, std::optional<IValue> value) { leaves.push_back(std::move(value)); });
  return checks->check(leaves, check_options);
}

std::vector<IValue> ExportedProgram::check_leaves(std::vector<IValue> leaves) const {
  if (fast_checks && fast_checks->hold(leaves)) return leaves;
  if (!checks) {
    require(leaves.size() == in_spec.leaf_count(), ErrorCode::kInvalidArgument,
            "{} takes {} flat inputs but got {}", signature(), in_spec.leaf_count(), leaves.size());
    return leaves;
  }
  std::vector<std::optional<IValue>> values;
  size_t next = 0;
  for (const InputLeaf& leaf : checks->leaves()) {
    const bool given = !leaf.is_constant && next < leaves.size();
    values.push_back(given ? std::optional<IValue>(std::move(leaves[next++])) : std::nullopt);
  }
  require(next == leaves.size(), ErrorCode::kInvalidArgument, "{} takes {} flat inputs but got {}",
          signature(), next, leaves.size());
  return checks->check(values, check_options);
}

IValue ExportedProgram::unflatten_outputs(IValue result) const {
  if (out_spec.kind == TreeSpec::Kind::kLeaf && !result.is_tuple()) return result;
  size_t next = 0;
  return unflatten(out_spec, flat_outputs(std::move(result)), next);
}

const std::shared_ptr<const ir::Graph>& ExportedFunction::graph() const {
  require(graph_ != nullptr, ErrorCode::kNotFound, "the program that defines {} is gone", name());
  return graph_;
}

void ExportedFunction::forget_code() {
  schema_ = {};
  graph_ = nullptr;
}

ExportedProgram::~ExportedProgram() {
  if (forward) forward->forget_code();
}

}  // namespace tierup::frontend::exported
