// tierup inspect: what is in a model, without running any of its code.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "commands.h"
#include "json_writer.h"
#include "tierup/module.h"

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

void print_code(const std::string& path) {
  for (const auto& [name, text] : v1::Module::read_sources(path)) {
    fmt::print("# {}\n{}\n", name, text);
  }
}

void print_graphs(const v1::Module& module) {
  for (const v1::MethodInfo& method : module.methods()) {
    fmt::print("# {}\n{}\n", method.qualified_name, module.graph_text(method.name));
  }
}

void print_plans(const v1::Module& module) {
  for (const v1::MethodInfo& method : module.methods()) {
    fmt::print("# {}\n{}\n", method.qualified_name, module.plan_text(method.name));
  }
}

size_t bytes_of(const v1::Tensor& tensor) {
  return static_cast<size_t>(tensor.element_count()) * v1::dtype_size(tensor.dtype());
}

void print_weights(const v1::Module& module, bool json) {
  std::set<std::string> parameters;
  for (const auto& [name, tensor] : module.parameters()) parameters.insert(name);
  JsonWriter writer;
  writer.begin_array();
  size_t total = 0;
  for (const auto& [name, tensor] : module.state_dict()) {
    const bool is_parameter = parameters.contains(name);
    const std::string shape = fmt::format("[{}]", fmt::join(tensor.shape(), ", "));
    total += bytes_of(tensor);
    if (json) {
      writer.begin_object();
      writer.key("name").string(name);
      writer.key("dtype").string(v1::dtype_name(tensor.dtype()));
      writer.key("shape").string(shape);
      writer.key("parameter").boolean(is_parameter);
      writer.key("bytes").number(bytes_of(tensor));
      writer.end_object();
    } else {
      fmt::print("{:9} {:10} {:20} {}\n", is_parameter ? "parameter" : "buffer",
                 v1::dtype_name(tensor.dtype()), shape, name);
    }
  }
  if (json) {
    fmt::print("{}\n", writer.end_array().text());
  } else {
    fmt::print("{} bytes in all\n", total);
  }
}

// Supported operators with the number of places, then what is not supported, with the lines.
int print_operators(const v1::Module& module, bool json) {
  const std::vector<v1::Unsupported> missing = module.unsupported();
  JsonWriter writer;
  writer.begin_object().key("supported").begin_object();
  for (const auto& [name, count] : module.operators()) {
    if (!json) fmt::print("{:5} {}\n", count, name);
    writer.key(name).number(static_cast<size_t>(count));
  }
  writer.end_object().key("unsupported").begin_array();
  for (const v1::Unsupported& item : missing) {
    if (!json) {
      fmt::print("unsupported{} {}: {}\n  at {}\n",
                 item.is_conditional ? " (in a branch that runs may not take)" : "", item.name,
                 item.reason, item.place);
    }
    writer.begin_object();
    writer.key("name").string(item.name);
    writer.key("reason").string(item.reason);
    writer.key("place").string(item.place);
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

// Elements of parameters, and the number of parameters and buffers.
struct WeightCounts {
  size_t elements = 0;
  size_t tensors = 0;
};

WeightCounts count_weights(const v1::Module& module) {
  WeightCounts counts;
  counts.tensors = module.state_dict().size();
  for (const auto& [name, tensor] : module.parameters())
    counts.elements += static_cast<size_t>(tensor.element_count());
  return counts;
}

// "x: float32[s77, 3]", "scale = 0.5", "n: int".
std::string describe_value(const v1::ValueSpec& spec) {
  if (spec.is_constant) {
    if (!spec.default_value) return "a constant";
    const bool is_text = spec.default_value->kind() == v1::Value::Kind::kString;
    const std::string value = spec.default_value->describe();
    return spec.name + " = " + (is_text ? "'" + value + "'" : value);
  }
  if (!spec.dtype || !spec.sizes) return spec.name;
  std::vector<std::string> sizes;
  for (const v1::SizeSpec& size : *spec.sizes) sizes.push_back(size.text);
  return fmt::format("{}: {}[{}]", spec.name, v1::dtype_name(*spec.dtype), fmt::join(sizes, ", "));
}

std::vector<std::string> describe_inputs(const v1::Signature& signature) {
  std::vector<std::string> lines;
  for (const v1::ValueSpec& spec : signature.inputs) {
    lines.push_back(describe_value(spec));
    if (!spec.is_constant && !spec.dtype) lines.back() += ": int";
  }
  return lines;
}

std::vector<std::string> describe_outputs(const v1::Signature& signature) {
  std::vector<std::string> lines;
  for (const v1::ValueSpec& spec : signature.outputs) lines.push_back(describe_value(spec));
  return lines;
}

std::vector<std::string> describe_ranges(const v1::Signature& signature) {
  std::vector<std::string> lines;
  for (const v1::SizeRange& range : signature.ranges) {
    lines.push_back(fmt::format("{} in [{}, {}]", range.text, range.least.value_or(0),
                                range.most ? std::to_string(*range.most) : "unbounded"));
  }
  return lines;
}

// The calling convention of a torch.export program: names, dtypes, symbolic sizes and ranges.
void print_exported(const v1::Module& module, const v1::ModelInfo& info, bool json) {
  const v1::Signature signature = module.signature();
  const WeightCounts weights = count_weights(module);
  const std::string schema = fmt::format("8.{}", info.version);
  if (json) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("format").string("torch.export");
    writer.key("torch_version").string(info.torch_version);
    writer.key("schema").string(schema);
    writer.key("dialect").string(info.dialect);
    writer.key("model").string(info.model);
    write_lines(writer, "models", info.models);
    writer.key("parameters").number(weights.elements);
    writer.key("tensors").number(weights.tensors);
    writer.key("signature").string(signature.text);
    write_lines(writer, "inputs", describe_inputs(signature));
    write_lines(writer, "outputs", describe_outputs(signature));
    write_lines(writer, "ranges", describe_ranges(signature));
    write_lines(writer, "missing_weights", info.missing_weights);
    write_lines(writer, "warnings", info.warnings);
    fmt::print("{}\n", writer.end_object().text());
    return;
  }
  fmt::print("torch.export by PyTorch {}, schema {}, {} dialect, model '{}' of {}\n",
             info.torch_version, schema, info.dialect, info.model, info.models.size());
  fmt::print("{} parameters in {} tensors\n", weights.elements, weights.tensors);
  fmt::print("{}\n", signature.text);
  for (const std::string& line : describe_inputs(signature)) fmt::print("  in   {}\n", line);
  for (const std::string& line : describe_outputs(signature)) fmt::print("  out  {}\n", line);
  for (const std::string& line : describe_ranges(signature)) fmt::print("  with {}\n", line);
  for (const std::string& name : info.missing_weights) fmt::print("  no data for {}\n", name);
  for (const std::string& line : info.warnings) fmt::print("  note: {}\n", line);
}

void print_summary(const v1::Module& module, bool json) {
  const v1::ModelInfo info = module.info();
  if (info.is_exported) return print_exported(module, info, json);
  const WeightCounts weights = count_weights(module);
  if (!json) {
    fmt::print("TorchScript, format version {}, class {}\n", info.version, info.class_name);
    fmt::print("{} parameters in {} tensors\n", weights.elements, weights.tensors);
    for (const v1::MethodInfo& method : module.methods()) fmt::print("{}\n", method.signature);
    return;
  }
  JsonWriter writer;
  writer.begin_object();
  writer.key("version").integer(info.version);
  writer.key("class").string(info.class_name);
  writer.key("parameters").number(weights.elements);
  writer.key("tensors").number(weights.tensors);
  writer.key("methods").begin_array();
  for (const v1::MethodInfo& method : module.methods()) writer.string(method.signature);
  writer.end_array().end_object();
  fmt::print("{}\n", writer.text());
}

int inspect(const InspectArguments& arguments) {
  if (arguments.code) {
    print_code(arguments.path);
    return kOk;
  }
  v1::Options options;
  options.run_model_code_at_load = false;
  options.allow_unsupported = true;
  options.model_name = arguments.exported_model;
  options.plugins = arguments.plugins;
  const v1::Module module = v1::Module::load(arguments.path, options);
  if (arguments.graph) {
    print_graphs(module);
  } else if (arguments.plan) {
    print_plans(module);
  } else if (arguments.weights) {
    print_weights(module, arguments.json);
  } else if (arguments.ops) {
    return print_operators(module, arguments.json);
  } else {
    print_summary(module, arguments.json);
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
