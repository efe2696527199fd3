#include "tierup/cases/grad_case.h"

#include "tierup/cases/tree_reader.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::api {

using simdjson::dom::element;

namespace {

template <typename T>
bool has(element tree, const char* key, T& value) {
  return tree[key].get(value) == simdjson::SUCCESS;
}

bool is_differentiable(ScalarType dtype) { return is_floating(dtype) || is_complex(dtype); }

IValue call_taped(autodiff::RecordingTape& tape, ops::RunContext& context, ops::OpName name,
                  std::vector<IValue> args) {
  const ops::Op& op = ops::named_op(name);
  for (size_t i = args.size(); i < op.schema().arguments.size(); ++i) {
    args.push_back(*op.schema().arguments[i].default_value);
  }
  IValue result;
  ops::OpCall call{args, {&result, 1}, context};
  tape.call(op, call, nullptr);
  return result;
}

// The weight of element i of an output in the loss of cases without cotangents.
double weight_at(int64_t i) { return static_cast<double>((i * 37) % 101 - 50) / 50; }

template <typename T>
void fill_weights(const Tensor& flat) {
  for (int64_t i = 0; i < flat.numel(); ++i) flat.data<T>()[i] = static_cast<T>(weight_at(i));
}

// Weights of this output's sizes and dtype; real and imaginary parts count as elements.
Tensor weights_like(const Tensor& output) {
  if (output.dtype() == ScalarType::kHalf || output.dtype() == ScalarType::kBFloat16) {
    const Tensor weights = Tensor::empty(output.sizes(), ScalarType::kFloat);
    fill_weights<float>(weights);
    return kernels::to_dtype(weights, output.dtype());
  }
  const Tensor weights = Tensor::empty(output.sizes(), output.dtype());
  const int64_t count[] = {output.numel() * (is_complex(output.dtype()) ? 2 : 1)};
  const int64_t step[] = {1};
  const bool is_wide =
      output.dtype() == ScalarType::kDouble || output.dtype() == ScalarType::kComplexDouble;
  const Tensor flat = Tensor::from_storage(
      weights.storage(), is_wide ? ScalarType::kDouble : ScalarType::kFloat, count, step, 0);
  is_wide ? fill_weights<double>(flat) : fill_weights<float>(flat);
  return weights;
}

}  // namespace

GradCase::GradCase(element description, const ops::Op& op, CaseTensors& tensors,
                   ComparisonOptions options)
    : OpCase(description, op, tensors, std::move(options)), grad_options_(options_) {
  context_.tape = &tape_;
  context_.policy.grad_mode = true;
  context_.generator = &generator_;
  context_.warn = [](const std::string&) {};
  double atol = 0;
  if (has(case_, "grad_atol", atol)) grad_options_.tolerances.raise_atol(atol);
}

bool GradCase::is_one(element description, bool any) {
  element found;
  return has(description, "requires_grad", found) || (any && has(description, "grads", found));
}

CaseOutcome GradCase::run() {
  int64_t seed = 0;
  if (has(case_, "seed", seed)) generator_.set_seed(static_cast<uint64_t>(seed));
  if (std::string_view text; has(case_, "grad_error", text)) return check_error(text);
  std::string difference = find_wrong_output(read_arguments(), call());
  element given;
  if (difference.empty()) {
    difference = has(case_, "cotangents", given) ? read_cotangents() : sum_cotangents();
  }
  if (difference.empty()) difference = check_first();
  element second;
  if (difference.empty() && has(case_, "double", second)) difference = check_second(second);
  return difference.empty() ? CaseOutcome::passed() : CaseOutcome::failed(difference);
}

void GradCase::mark_leaves() {
  const auto mark = [&](std::string_view name) {
    const Tensor leaf = tensors_.leaf(std::string(name));
    require(leaf.defined(), ErrorCode::kCorruptArchive, "the case has no input {}", name);
    leaf.set_requires_grad(true);
    leaves_[std::string(name)] = leaf;
  };
  simdjson::dom::array named;
  simdjson::dom::object recorded;
  if (has(case_, "requires_grad", named)) {
    for (element name : named) mark(name);
  } else if (has(case_, "grads", recorded)) {
    for (auto field : recorded) mark(field.key);
  }
}

// Arguments that the call writes to are clones of their leaves.
std::vector<IValue> GradCase::call() {
  std::vector<IValue> args = read_arguments();
  mark_leaves();
  const auto clone = [&](const IValue& value) {
    return call_taped(tape_, context_, "aten::clone", {value});
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Argument& argument = op_.schema().arguments[i];
    if (!argument.alias.is_write && !argument.element_alias.is_write) continue;
    if (args[i].is_tensor()) args[i] = clone(args[i]);
    if (!args[i].is_list()) continue;
    for (IValue& item : args[i].to_list().items) item = item.is_tensor() ? clone(item) : item;
  }
  std::vector<IValue> results(op_.schema().returns.size());
  ops::OpCall op_call{args, results, context_};
  tape_.call(op_, op_call, nullptr);
  simdjson::dom::array outputs = case_["outputs"];
  size_t i = 0;
  for (element tree : outputs) {
    if (i < results.size()) name_outputs(results[i++], tree);
  }
  return results;
}

void GradCase::name_outputs(const IValue& result, element tree) {
  simdjson::dom::array items;
  if (tree.get(items) == simdjson::SUCCESS && result.is_list()) {
    size_t i = 0;
    for (element item : items) {
      if (i < result.to_list().items.size()) name_outputs(result.to_list().items[i++], item);
    }
    return;
  }
  std::string_view name;
  if (result.is_tensor() && has(tree, "t", name)) outputs_[std::string(name)] = result.to_tensor();
}

// PyTorch has no derivative here. We may have one, or raise; but not say nothing.
CaseOutcome GradCase::check_error(std::string_view text) {
  try {
    call();
    bool flows = false;
    for (const auto& [name, output] : outputs_) {
      if (!output.requires_grad()) continue;
      flows = true;
      differentiate({{name, output}}, {{name, weights_like(output)}}, leaves_, false);
    }
    if (flows) return CaseOutcome::passed();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    const std::string name = op_.schema().name.substr(op_.schema().name.find("::") + 2);
    if (message.find(name) != std::string_view::npos) return CaseOutcome::passed();
    return CaseOutcome::failed(fmt::format("the error does not name the operator: {}", message));
  }
  return CaseOutcome::failed(
      fmt::format("no result requires gradients, and no error; PyTorch raises: {}", text));
}

std::string GradCase::read_cotangents() {
  simdjson::dom::object given = case_["cotangents"];
  const TreeReader reader(tensors_);
  std::map<std::string, bool> named;
  for (auto field : given) {
    const std::string name(field.key);
    named[name] = true;
    if (!outputs_.contains(name)) return fmt::format("no output {}", name);
    if (!outputs_[name].requires_grad()) return fmt::format("{} requires no gradient", name);
    if (!field.value.is_null()) cotangents_[name] = reader.read(field.value, nullptr).to_tensor();
  }
  for (const auto& [name, output] : outputs_) {
    if (!named.contains(name) && output.requires_grad()) {
      return fmt::format("{} requires a gradient, in PyTorch it does not", name);
    }
  }
  return {};
}

std::string GradCase::sum_cotangents() {
  for (const auto& [name, output] : outputs_) {
    if (output.requires_grad()) cotangents_[name] = weights_like(output);
  }
  return cotangents_.empty() && !leaves_.empty() ? "no output requires a gradient" : "";
}

GradCase::Named GradCase::differentiate(const Named& outputs, const Named& cotangents,
                                        const Named& inputs, bool create_graph) {
  ops::BackwardRequest request;
  for (const auto& [name, cotangent] : cotangents) {
    const auto output = outputs.find(name);
    if (output == outputs.end() || !output->second.defined()) continue;
    if (!output->second.requires_grad()) continue;
    request.outputs.push_back(output->second);
    request.cotangents.push_back(cotangent);
  }
  for (const auto& [name, input] : inputs) request.inputs.push_back(input);
  request.create_graph = create_graph;
  request.allow_unused = true;
  std::vector<Tensor> made(inputs.size());
  if (!request.outputs.empty()) made = tape_.grad(context_, request);
  Named named;
  size_t i = 0;
  for (const auto& [name, input] : inputs) named[name] = made[i++];
  return named;
}

std::string GradCase::check_first() {
  element second;
  const bool again = has(case_, "double", second);
  if (again) {
    for (const auto& [name, cotangent] : cotangents_) {
      if (is_differentiable(cotangent.dtype())) cotangent.set_requires_grad(true);
    }
  }
  gradients_ = differentiate(outputs_, cotangents_, leaves_, again);
  return compare(gradients_, case_["grads"], "gradient");
}

std::string GradCase::check_second(element second) {
  const TreeReader reader(tensors_);
  Named cotangents;
  simdjson::dom::object given = second["cotangents"];
  for (auto field : given) {
    if (field.value.is_null()) continue;
    cotangents[std::string(field.key)] = reader.read(field.value, nullptr).to_tensor();
  }
  Named inputs = leaves_;
  for (const auto& [name, cotangent] : cotangents_) inputs["cotangent " + name] = cotangent;
  const Named made = differentiate(gradients_, cotangents, inputs, false);
  Named of_cotangents;
  for (const auto& [name, cotangent] : cotangents_) {
    of_cotangents[name] = made.at("cotangent " + name);
  }
  std::string difference = compare(made, second["grads"], "second gradient");
  if (!difference.empty()) return difference;
  return compare(of_cotangents, second["cotangent_grads"], "gradient of the cotangent of");
}

std::string GradCase::compare(const Named& gradients, element expected,
                              std::string_view what) const {
  const TreeReader reader(tensors_);
  simdjson::dom::object wanted = expected;
  for (auto field : wanted) {
    const auto found = gradients.find(std::string(field.key));
    const bool is_there = found != gradients.end() && found->second.defined();
    if (field.value.is_null() && !is_there) continue;
    if (field.value.is_null()) return fmt::format("{} {}: there should be none", what, field.key);
    if (!is_there) return fmt::format("{} {}: there is none", what, field.key);
    const std::string difference =
        find_difference(found->second, reader.read(field.value, nullptr), grad_options_);
    if (!difference.empty()) return fmt::format("{} {}: {}", what, field.key, difference);
  }
  return {};
}

}  // namespace tierup::api
