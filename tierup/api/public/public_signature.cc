// v1::Signature of a method: from its schema, or from an exported program's calling convention.
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"

namespace tierup::v1 {
namespace {

using frontend::exported::Expression;
using frontend::exported::InputChecks;
using frontend::exported::InputLeaf;
using frontend::exported::OutputLeaf;
using Kind = frontend::exported::Argument::Kind;

SizeSpec size_spec(const InputChecks& checks, const Expression& size) {
  SizeSpec spec;
  spec.text = to_string(size, checks.symbols());
  if (size.function == "Number") {
    spec.value = size.number.integer;
    return spec;
  }
  const frontend::exported::Range range = checks.range_of(size);
  spec.least = range.low;
  spec.most = range.high;
  return spec;
}

std::vector<SizeSpec> size_specs(const InputChecks& checks, const std::vector<Expression>& sizes) {
  std::vector<SizeSpec> specs;
  specs.reserve(sizes.size());
  for (const Expression& size : sizes) specs.push_back(size_spec(checks, size));
  return specs;
}

const char* type_name(Kind kind) {
  switch (kind) {
    case Kind::kTensor: return "Tensor";
    case Kind::kComplex: return "complex";
    case Kind::kInt:
    case Kind::kSymInt: return "int";
    case Kind::kFloat:
    case Kind::kSymFloat: return "float";
    case Kind::kBool:
    case Kind::kSymBool: return "bool";
    case Kind::kString: return "str";
    case Kind::kNone: return "None";
    default: return "Any";
  }
}

ValueSpec input_spec(const InputChecks& checks, const InputLeaf& leaf) {
  ValueSpec spec;
  spec.name = leaf.path;
  spec.type = type_name(leaf.kind);
  spec.is_constant = leaf.is_constant;
  spec.is_used = leaf.is_used;
  if (leaf.is_constant) {
    spec.default_value = Access::wrap(leaf.constant);
  } else if (leaf.kind == Kind::kTensor) {
    spec.dtype = static_cast<DType>(leaf.dtype);
    spec.sizes = size_specs(checks, leaf.sizes);
  }
  return spec;
}

ValueSpec output_spec(const InputChecks* checks, const OutputLeaf& leaf) {
  ValueSpec spec;
  spec.name = leaf.name;
  spec.type = type_name(leaf.kind);
  spec.is_constant = leaf.name.empty();
  if (checks != nullptr && leaf.dtype) {
    spec.dtype = static_cast<DType>(*leaf.dtype);
    spec.sizes = size_specs(*checks, leaf.sizes);
  }
  return spec;
}

Signature exported_signature(const frontend::exported::ExportedProgram& program) {
  Signature result;
  result.method = "forward";
  result.text = program.signature();
  result.is_exported = true;
  const InputChecks* checks = program.checks.get();
  for (const OutputLeaf& leaf : program.outputs) {
    result.outputs.push_back(output_spec(checks, leaf));
  }
  if (checks == nullptr) return result;
  for (const InputLeaf& leaf : checks->leaves()) {
    result.inputs.push_back(input_spec(*checks, leaf));
  }
  for (const InputChecks::NamedRange& named : checks->ranges()) {
    result.ranges.push_back({named.text, named.range.low, named.range.high});
  }
  return result;
}

ValueSpec argument_spec(const ir::Argument& argument) {
  ValueSpec spec;
  spec.name = argument.name;
  spec.type = argument.type->to_string();
  spec.is_keyword_only = argument.kwarg_only;
  if (argument.default_value) spec.default_value = Access::wrap(*argument.default_value);
  return spec;
}

}  // namespace

Signature signature_of(const api::Model& model, const std::string& method) {
  const ir::Function& function = model.method(method);
  if (model.exported() != nullptr && method == "forward") {
    return exported_signature(*model.exported());
  }
  const ir::Schema& schema = function.schema();
  Signature result;
  result.method = function.name().substr(function.name().rfind('.') + 1);
  result.text = api::signature_text(result.method, schema);
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    result.inputs.push_back(argument_spec(schema.arguments[i]));
  }
  for (const ir::Argument& argument : schema.returns) {
    result.outputs.push_back(argument_spec(argument));
  }
  return result;
}

Signature Module::signature(const std::string& method) const {
  return guarded([&] { return signature_of(*impl_->model, method); });
}

}  // namespace tierup::v1
