// tierup inspect: what is in a model, without running any of its code.
#include <fmt/format.h>

#include <map>
#include <set>

#include "commands.h"
#include "json_writer.h"
#include "model_options.h"
#include "tierup/api/prepare_graph.h"
#include "tierup/api/reachable_graphs.h"
#include "tierup/ir/text.h"
#include "tierup/runtime/lower.h"

namespace tierup::cli {
namespace {

struct InspectArguments {
  std::string path;
  std::string exported_model;
  std::vector<std::string> plugins;
  bool code = false;
  bool graph = false;
  bool plan = false;
  bool weights = false;
  bool ops = false;
  bool json = false;
};

std::string short_name(const ir::Function& function) {
  return function.name().substr(function.name().rfind('.') + 1);
}

void print_code(const archive::ModelArchive& archive) {
  for (const std::string& record : archive.records("code/")) {
    if (!record.ends_with(".py")) continue;
    fmt::print("# {}\n{}\n", record, archive.read_record(record));
  }
}

void print_graphs(const api::Model& model) {
  for (const ir::Function* method : model.methods()) {
    fmt::print("# {}\n{}\n", method->name(), ir::print_graph(*method->graph()));
  }
}

void print_plans(const api::Model& model) {
  for (const ir::Function* method : model.methods()) {
    const auto plan = runtime::lower(api::prepare_graph(*method, {}));
    fmt::print("# {}\n{}\n", method->name(), plan->to_string());
  }
}

void print_weights(const api::Model& model, bool json) {
  JsonWriter writer;
  writer.begin_array();
  int64_t total = 0;
  for (const auto& named : frontend::torchscript::named_tensors(*model.root())) {
    const Tensor& tensor = named.tensor;
    total += static_cast<int64_t>(tensor.bytes());
    if (json) {
      writer.begin_object();
      writer.key("name").string(named.name);
      writer.key("dtype").string(dtype_name(tensor.dtype()));
      writer.key("shape").string(shape_string(tensor.sizes()));
      writer.key("parameter").boolean(named.is_parameter);
      writer.key("bytes").number(tensor.bytes());
      writer.end_object();
    } else {
      fmt::print("{:9} {:10} {:20} {}\n", named.is_parameter ? "parameter" : "buffer",
                 dtype_name(tensor.dtype()), shape_string(tensor.sizes()), named.name);
    }
  }
  if (json) {
    fmt::print("{}\n", writer.end_array().text());
  } else {
    fmt::print("{} bytes in all\n", total);
  }
}

// Supported operators with the number of places, then what is not supported, with the lines.
int print_operators(const api::Model& model, bool json) {
  const std::map<std::string, size_t> counts = api::count_operators(model);
  const auto missing = model.missing();
  JsonWriter writer;
  writer.begin_object().key("supported").begin_object();
  for (const auto& [name, count] : counts) {
    if (!json) fmt::print("{:5} {}\n", count, name);
    writer.key(name).number(count);
  }
  writer.end_object().key("unsupported").begin_array();
  for (const auto& item : missing) {
    const std::string place = item.range.highlight();
    if (!json) {
      fmt::print("unsupported{} {}: {}\n  at {}\n",
                 item.is_conditional ? " (in a branch that runs may not take)" : "", item.name,
                 item.reason, place);
    }
    writer.begin_object();
    writer.key("name").string(item.name);
    writer.key("reason").string(item.reason);
    writer.key("place").string(place);
    writer.key("conditional").boolean(item.is_conditional);
    writer.end_object();
  }
  writer.end_array().end_object();
  if (json) fmt::print("{}\n", writer.text());
  return missing.empty() ? kOk : kMismatch;
}

void write_lines(JsonWriter& writer, const char* key, const std::vector<std::string>& lines) {
  writer.key(key).begin_array();
  for (const std::string& line : lines) writer.string(line);
  writer.end_array();
}

// The calling convention of a torch.export program: names, dtypes, symbolic sizes and ranges.
void print_exported(const api::Model& model, bool json) {
  const auto& program = *model.exported();
  const auto models = frontend::exported::exported_models(*model.module().archive);
  const auto tensors = frontend::torchscript::named_tensors(*model.root());
  size_t parameters = 0;
  for (const auto& named : tensors) {
    if (named.is_parameter) parameters += static_cast<size_t>(named.tensor.numel());
  }
  const char* dialect = program.is_training_dialect ? "training" : "ATen";
  std::vector<std::string> inputs;  // Unknown of a compiled library without its program.
  std::vector<std::string> outputs;
  std::vector<std::string> ranges;
  for (const auto& leaf : program.outputs)
    outputs.push_back(program.checks ? program.checks->describe(leaf) : leaf.name);
  if (program.checks) {
    inputs = program.checks->describe();
    ranges = program.checks->describe_ranges();
  }
  if (json) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("format").string("torch.export");
    writer.key("torch_version").string(program.torch_version);
    writer.key("schema").string(fmt::format("8.{}", program.schema_minor));
    writer.key("dialect").string(dialect);
    writer.key("model").string(program.model);
    write_lines(writer, "models", models);
    writer.key("parameters").number(parameters);
    writer.key("tensors").number(tensors.size());
    writer.key("signature").string(program.signature());
    write_lines(writer, "inputs", inputs);
    write_lines(writer, "outputs", outputs);
    write_lines(writer, "ranges", ranges);
    write_lines(writer, "missing_weights", program.missing_weights);
    write_lines(writer, "warnings", program.warnings);
    fmt::print("{}\n", writer.end_object().text());
    return;
  }
  fmt::print("torch.export by PyTorch {}, schema 8.{}, {} dialect, model '{}' of {}\n",
             program.torch_version, program.schema_minor, dialect, program.model, models.size());
  fmt::print("{} parameters in {} tensors\n", parameters, tensors.size());
  fmt::print("{}\n", program.signature());
  for (const std::string& line : inputs) fmt::print("  in   {}\n", line);
  for (const std::string& line : outputs) fmt::print("  out  {}\n", line);
  for (const std::string& line : ranges) fmt::print("  with {}\n", line);
  for (const std::string& name : program.missing_weights) fmt::print("  no data for {}\n", name);
  for (const std::string& line : program.warnings) fmt::print("  note: {}\n", line);
}

void print_summary(const api::Model& model, bool json) {
  if (model.exported() != nullptr) return print_exported(model, json);
  const archive::ModelArchive& archive = *model.module().archive;
  const auto tensors = frontend::torchscript::named_tensors(*model.root());
  size_t parameters = 0;
  for (const auto& named : tensors) {
    if (named.is_parameter) parameters += static_cast<size_t>(named.tensor.numel());
  }
  if (!json) {
    fmt::print("TorchScript, format version {}, class {}\n", archive.version(),
               model.root()->type->name());
    fmt::print("{} parameters in {} tensors\n", parameters, tensors.size());
    for (const ir::Function* method : model.methods()) {
      fmt::print("{}\n", api::signature_text(short_name(*method), method->schema()));
    }
    return;
  }
  JsonWriter writer;
  writer.begin_object();
  writer.key("version").integer(archive.version());
  writer.key("class").string(model.root()->type->name());
  writer.key("parameters").number(parameters);
  writer.key("tensors").number(tensors.size());
  writer.key("methods").begin_array();
  for (const ir::Function* method : model.methods()) {
    writer.string(api::signature_text(short_name(*method), method->schema()));
  }
  writer.end_array().end_object();
  fmt::print("{}\n", writer.text());
}

int inspect(const InspectArguments& arguments) {
  if (arguments.code) {
    const auto archive = archive::ModelArchive::open(arguments.path);
    archive->require_kind(archive::ArchiveKind::kTorchScript);
    print_code(*archive);
    return kOk;
  }
  api::ModelOptions options;
  options.run_model_code = false;
  options.allow_unsupported = true;
  options.exported_model = arguments.exported_model;
  options.plugins = arguments.plugins;
  const auto model = api::Model::load(archive::map_file(arguments.path), options);
  if (arguments.graph) {
    print_graphs(*model);
  } else if (arguments.plan) {
    print_plans(*model);
  } else if (arguments.weights) {
    print_weights(*model, arguments.json);
  } else if (arguments.ops) {
    return print_operators(*model, arguments.json);
  } else {
    print_summary(*model, arguments.json);
  }
  return kOk;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show what is in a model, without running its code");
  command->add_option("model", arguments->path, "TorchScript or torch.export archive")->required();
  command->add_option("--model-name", arguments->exported_model,
                      "Which of several models of a .pt2 archive");
  command
      ->add_option("--delegate", arguments->plugins,
                   "Shared object with operators or delegates; repeatable")
      ->expected(1);
  CLI::Option_group* what = command->add_option_group("what");
  what->add_flag("--code", arguments->code, "The source files of the archive");
  what->add_flag("--graph", arguments->graph, "The graph of each method");
  what->add_flag("--plan", arguments->plan, "The tier-0 plan of each method");
  what->add_flag("--weights", arguments->weights, "Parameters and buffers");
  what->add_flag("--ops", arguments->ops, "Operators used, and what is not supported");
  what->require_option(0, 1);
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return inspect(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
