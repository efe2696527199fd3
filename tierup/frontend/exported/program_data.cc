#include "tierup/frontend/exported/program_data.h"

#include <simdjson.h>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/argument_reader.h"
#include "tierup/frontend/exported/json_cursor.h"

namespace tierup::frontend::exported {
namespace {

NodeData read_node(const JsonCursor& json) {
  NodeData node;
  node.target = json.at("target").as_string();
  json.at("inputs").each([&](const JsonCursor& input) {
    node.inputs.push_back(
        {std::string(input.at("name").as_string()), read_argument(input.at("arg"))});
  });
  json.at("outputs").each(
      [&](const JsonCursor& output) { node.outputs.push_back(read_argument(output)); });
  if (const auto name = json.find("name")) node.name = name->as_string();
  if (const auto metadata = json.find("metadata")) {
    if (const auto trace = metadata->find("stack_trace")) node.stack_trace = trace->as_string();
  }
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs[0].text;
  return node;
}

InputSpec read_input_spec(const JsonCursor& json) {
  using Kind = InputSpec::Kind;
  InputSpec spec;
  const auto [variant, body] = json.variant();
  const auto named = [&, body = body](Kind kind, std::string_view field) {
    spec.kind = kind;
    spec.argument = read_named_reference(body.at("arg"));
    spec.target = body.at(field).as_string();
  };
  if (variant == "user_input") {
    spec.argument = read_argument(body.at("arg"));
  } else if (variant == "parameter") {
    named(Kind::kParameter, "parameter_name");
  } else if (variant == "buffer") {
    named(Kind::kBuffer, "buffer_name");
    if (const auto persistent = body.find("persistent")) spec.persistent = persistent->as_bool();
  } else if (variant == "tensor_constant") {
    named(Kind::kTensorConstant, "tensor_constant_name");
  } else if (variant == "custom_obj") {
    named(Kind::kCustomObject, "custom_obj_name");
  } else if (variant == "token") {
    spec.kind = Kind::kToken;
    spec.argument = read_named_reference(body.at("arg"));
  } else if (variant == "constant_input") {
    spec.kind = Kind::kConstantInput;
    spec.name = body.at("name").as_string();
    spec.argument = read_argument(body.at("value"));
  } else {
    json.fail("input kind '" + std::string(variant) + "' is unknown to schema 8.20");
  }
  if (spec.name.empty()) spec.name = spec.argument.text;
  return spec;
}

OutputSpec read_output_spec(const JsonCursor& json) {
  using Kind = OutputSpec::Kind;
  OutputSpec spec;
  const auto [variant, body] = json.variant();
  const auto targeted = [&, body = body](Kind kind, std::string_view field) {
    spec.kind = kind;
    spec.argument = read_named_reference(body.at("arg"));
    spec.target = body.at(field).as_string();
  };
  if (variant == "user_output") {
    spec.argument = read_argument(body.at("arg"));
  } else if (variant == "loss_output") {
    spec.kind = Kind::kLossOutput;
    spec.argument = read_named_reference(body.at("arg"));
  } else if (variant == "buffer_mutation") {
    targeted(Kind::kBufferMutation, "buffer_name");
  } else if (variant == "parameter_mutation") {
    targeted(Kind::kParameterMutation, "parameter_name");
  } else if (variant == "user_input_mutation") {
    targeted(Kind::kUserInputMutation, "user_input_name");
  } else if (variant == "gradient_to_parameter") {
    targeted(Kind::kGradientToParameter, "parameter_name");
  } else if (variant == "gradient_to_user_input") {
    targeted(Kind::kGradientToUserInput, "user_input_name");
  } else if (variant == "token") {
    spec.kind = Kind::kToken;
    spec.argument = read_named_reference(body.at("arg"));
  } else {
    json.fail("output kind '" + std::string(variant) + "' is unknown to schema 8.20");
  }
  return spec;
}

void read_calling_convention(const JsonCursor& module, ProgramData& program) {
  bool found = false;
  module.at("module_call_graph").each([&](const JsonCursor& entry) {
    if (found || !entry.at("fqn").as_string().empty()) return;
    const auto signature = entry.find("signature");
    if (!signature) return;
    program.in_spec = signature->at("in_spec").as_string();
    program.out_spec = signature->at("out_spec").as_string();
    if (const auto names = signature->find("forward_arg_names")) {
      names->each([&](const JsonCursor& name) {
        program.forward_arg_names.emplace_back(name.as_string());
      });
    }
    found = true;
  });
  if (!found) module.at("module_call_graph").fail("the root's calling convention is missing");
}

void check_version(const JsonCursor& root, ProgramData& program) {
  const JsonCursor version = root.at("schema_version");
  program.schema_major = version.at("major").as_int();
  program.schema_minor = version.at("minor").as_int();
  require(program.schema_major == 8, ErrorCode::kUnsupported,
          "schema {}.{} is not supported (this build reads 8.0 to 8.{}): export the model with a "
          "matching PyTorch, or upgrade tierup",
          program.schema_major, program.schema_minor, kKnownSchemaMinor);
}

ProgramData read_program(const JsonCursor& root) {
  ProgramData program;
  check_version(root, program);
  if (const auto version = root.find("torch_version")) program.torch_version = version->as_string();
  if (const auto verifiers = root.find("verifiers")) {
    verifiers->each([&](const JsonCursor& v) { program.verifiers.emplace_back(v.as_string()); });
  }
  const JsonCursor module = root.at("graph_module");
  program.graph = read_graph(module.at("graph"));
  const JsonCursor signature = module.at("signature");
  signature.at("input_specs").each([&](const JsonCursor& spec) {
    program.inputs.push_back(read_input_spec(spec));
  });
  signature.at("output_specs").each([&](const JsonCursor& spec) {
    program.outputs.push_back(read_output_spec(spec));
  });
  read_calling_convention(module, program);
  if (const auto fields = module.find("treespec_namedtuple_fields")) {
    fields->each_member([&](std::string_view name, const JsonCursor& def) {
      auto& list = program.namedtuple_fields[std::string(name)];
      def.at("field_names").each([&](const JsonCursor& f) { list.emplace_back(f.as_string()); });
    });
  }
  if (const auto ranges = root.find("range_constraints")) {
    ranges->each_member([&](std::string_view expression, const JsonCursor& range) {
      Range& r = program.range_constraints[std::string(expression)];
      if (const auto low = range.find("min_val")) r.low = low->as_int();
      if (const auto high = range.find("max_val")) r.high = high->as_int();
    });
  }
  if (const auto guards = root.find("guards_code")) {
    guards->each([&](const JsonCursor& g) { program.guards.emplace_back(g.as_string()); });
  }
  return program;
}

// The bare tokens Infinity, -Infinity and NaN, which PyTorch 2.6 writes, as strings.
std::string quote_bare_tokens(std::string_view json) {
  std::string fixed;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      fixed += c;
      if (c == '\\' && i + 1 < json.size()) fixed += json[++i];
      in_string = c != '"';
      continue;
    }
    bool replaced = false;
    for (const std::string_view token : {"-Infinity", "Infinity", "NaN"}) {
      if (json.substr(i, token.size()) != token) continue;
      fixed += '"' + std::string(token) + '"';
      i += token.size() - 1;
      replaced = true;
      break;
    }
    if (replaced) continue;
    in_string = c == '"';
    fixed += c;
  }
  return fixed;
}

simdjson::dom::element parse_json(simdjson::dom::parser& parser, std::string_view json) {
  constexpr size_t kMaxDepth = 512;
  require(json.size() < (size_t{1} << 31), ErrorCode::kUnsupported,
          "an exported program of {} bytes of JSON is too large", json.size());
  require(parser.allocate(json.size(), kMaxDepth) == simdjson::SUCCESS, ErrorCode::kOutOfMemory,
          "no memory to parse {} bytes of JSON", json.size());
  simdjson::dom::element root;
  auto error = parser.parse(json.data(), json.size(), true).get(root);
  if (error != simdjson::SUCCESS) {
    const std::string fixed = quote_bare_tokens(json);
    error = parser.parse(fixed.data(), fixed.size(), true).get(root);
  }
  require(error == simdjson::SUCCESS, ErrorCode::kCorruptArchive,
          "the exported program is not valid JSON: {}", simdjson::error_message(error));
  return root;
}

}  // namespace

GraphData read_graph(const JsonCursor& json) {
  GraphData graph;
  json.at("inputs").each([&](const JsonCursor& in) { graph.inputs.push_back(read_argument(in)); });
  json.at("outputs").each(
      [&](const JsonCursor& out) { graph.outputs.push_back(read_argument(out)); });
  json.at("nodes").each([&](const JsonCursor& node) { graph.nodes.push_back(read_node(node)); });
  json.at("tensor_values").each_member([&](std::string_view name, const JsonCursor& meta) {
    graph.tensor_values.emplace(name, read_tensor_meta(meta));
  });
  if (const auto values = json.find("sym_int_values")) {
    values->each_member([&](std::string_view name, const JsonCursor& value) {
      graph.sym_int_values.emplace(name, read_sym_int(value));
    });
  }
  if (const auto single = json.find("is_single_tensor_return")) {
    graph.is_single_tensor_return = single->as_bool();
  }
  return graph;
}

ProgramData parse_program(std::string_view json) {
  simdjson::dom::parser parser;
  const JsonCursor root(parse_json(parser, json));
  try {
    return read_program(root);
  } catch (Error& error) {
    // A construct that this build does not know is likelier to be new than broken.
    const auto version = root.is_object() ? root.find("schema_version") : std::nullopt;
    const auto minor = version && version->is_object() ? version->find("minor") : std::nullopt;
    if (error.code() == ErrorCode::kCorruptArchive && minor &&
        minor->as_int() > kKnownSchemaMinor) {
      error.add_context(
          fmt::format("the program is of schema 8.{}, newer than 8.{}: try a newer tierup",
                      minor->as_int(), kKnownSchemaMinor));
    }
    throw;
  }
}

PayloadConfig parse_payload_config(std::string_view json) {
  simdjson::dom::parser parser;
  const JsonCursor root(parse_json(parser, json));
  PayloadConfig config;
  root.at("config").each_member([&](std::string_view name, const JsonCursor& entry) {
    Payload& payload = config[std::string(name)];
    payload.path_name = entry.at("path_name").as_string();
    if (const auto flag = entry.find("is_param")) payload.is_param = flag->as_bool();
    if (const auto flag = entry.find("use_pickle")) payload.use_pickle = flag->as_bool();
    if (const auto meta = entry.find("tensor_meta")) payload.meta = read_tensor_meta(*meta);
  });
  return config;
}

}  // namespace tierup::frontend::exported
