#include "tierup/cases/op_case.h"

#include <algorithm>

#include "tierup/cases/chosen_results.h"
#include "tierup/cases/tree_reader.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/shapes/shape_check.h"

namespace tierup::api {

using simdjson::dom::element;

namespace {

IValue read_argument(const TreeReader& reader, element tree, const ir::Argument& argument) {
  IValue value = reader.read(tree, argument.type);
  if (!argument.broadcast_size || !value.is_number()) return value;
  const auto count = static_cast<size_t>(*argument.broadcast_size);
  return make_ref<ListValue>(value.type(), std::vector<IValue>(count, value));
}

std::string check_view(const Tensor& view, const Tensor& base, element leaf) {
  // Parts of unsafe splits have storages of their own over the same bytes.
  if (base.defined() && view.storage()->data() != base.storage()->data()) {
    return "it is a copy; PyTorch makes a view of the input";
  }
  simdjson::dom::array strides;
  if (leaf["stride"].get(strides) != simdjson::SUCCESS) return {};
  IntVector wanted;
  for (element stride : strides) wanted.push_back(int64_t{stride});
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (view.sizes()[d] > 1 && view.strides()[d] != wanted[d]) {
      return fmt::format("the view's strides are {} instead of {}", shape_string(view.strides()),
                         shape_string(wanted));
    }
  }
  return {};
}

}  // namespace

CaseOutcome OpCase::run() {
  std::vector<IValue> args = read_arguments();
  const std::vector<IValue> given = args;  // A kernel may move arguments on.
  std::vector<IValue> results(op_.schema().returns.size());
  ops::RunContext context;
  kernels::Generator generator;
  context.generator = &generator;
  context.warn = [](const std::string&) {};
  ops::OpCall call{args, results, context};
  if (std::string_view text; case_["error"].get(text) == simdjson::SUCCESS) {
    return check_error(call, text);
  }
  ops::ShapeCheck shapes(op_, args);
  op_.kernel()(call);
  std::string difference = check_outputs(given, results);
  if (difference.empty()) difference = shapes.mistake(results);
  if (difference.empty()) difference = check_written(results);
  return difference.empty() ? CaseOutcome::passed() : CaseOutcome::failed(difference);
}

// PyTorch raised an error of this text, which need not be ours.
CaseOutcome OpCase::check_error(ops::OpCall& call, std::string_view text) const {
  try {
    op_.kernel()(call);
  } catch (const Error& error) {
    // A bug that was caught is no answer.
    return error.code() == ErrorCode::kInternal ? CaseOutcome::of_error(error)
                                                : CaseOutcome::passed();
  }
  return CaseOutcome::failed(fmt::format("no error; PyTorch raises: {}", text));
}

// In schema order: positional ones from `args`, the others by name, missing ones by default.
std::vector<IValue> OpCase::read_arguments() const {
  const auto& wanted = op_.schema().arguments;
  simdjson::dom::array positional = case_["args"];
  simdjson::dom::object named = case_["kwargs"];
  if (!(positional.size() <= wanted.size())) {
    fail(ErrorCode::kInvalidArgument, "the case has {} arguments, {} takes {}", positional.size(),
         op_.schema().to_string(), wanted.size());
  }
  for (auto field : named) {
    if (!(op_.schema().find_argument(field.key).has_value())) {
      fail(ErrorCode::kInvalidArgument, "the case names the argument '{}', unknown to {}",
           field.key, op_.schema().to_string());
    }
  }
  const TreeReader reader(tensors_);
  std::vector<IValue> args;
  for (element tree : positional) args.push_back(read_argument(reader, tree, wanted[args.size()]));
  while (args.size() < wanted.size()) {
    const ir::Argument& argument = wanted[args.size()];
    element tree;
    if (named[argument.name].get(tree) == simdjson::SUCCESS) {
      args.push_back(read_argument(reader, tree, argument));
    } else {
      require(argument.default_value.has_value(), ErrorCode::kInvalidArgument,
              "the case lacks the argument '{}'", argument.name);
      args.push_back(*argument.default_value);
    }
  }
  return args;
}

bool OpCase::is_ambiguous() const {
  bool result = false;
  return case_["ambiguous"].get(result) == simdjson::SUCCESS && result;
}

std::string OpCase::find_wrong_output(const std::vector<IValue>& args,
                                      const std::vector<IValue>& results) const {
  simdjson::dom::array outputs = case_["outputs"];
  std::vector<IValue> expected;
  const TreeReader reader(tensors_);
  for (element tree : outputs) expected.push_back(reader.read(tree, nullptr));
  // An operator without returns was recorded as giving None.
  if (results.empty() && expected.size() == 1 && expected[0].is_none()) return {};
  if (expected.size() != results.size()) {
    return fmt::format("{} results instead of {}", results.size(), expected.size());
  }
  if (is_ambiguous()) return check_choice({op_, args, results, expected, options_});
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string difference = find_difference(results[i], expected[i], options_);
    if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
  }
  return {};
}

std::string OpCase::check_outputs(const std::vector<IValue>& args,
                                  const std::vector<IValue>& results) const {
  std::string difference = find_wrong_output(args, results);
  size_t i = 0;
  simdjson::dom::array outputs = case_["outputs"];
  for (element tree : outputs) {
    if (!difference.empty() || results.empty()) return difference;
    difference = check_views(results[i], tree);
    if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
    ++i;
  }
  return difference;
}

// Walks result and tree together; the values were found equal, so the structures match.
std::string OpCase::check_views(const IValue& result, element tree) const {
  simdjson::dom::array items;
  if (tree.get(items) == simdjson::SUCCESS) {
    const auto& found = result.is_list() ? result.to_list().items : result.to_tuple().items;
    size_t i = 0;
    for (element item : items) {
      std::string difference = check_views(found[i++], item);
      if (!difference.empty()) return difference;
    }
    return {};
  }
  std::string_view name;
  if (!result.is_tensor() || tree["t"].get(name) != simdjson::SUCCESS) return {};
  std::string_view base;
  simdjson::dom::object aliases;
  if (case_["aliases"].get(aliases) != simdjson::SUCCESS ||
      aliases[name].get(base) != simdjson::SUCCESS) {
    return {};
  }
  return check_view(result.to_tensor(), tensors_.leaf(std::string(base)), tree);
}

std::string OpCase::check_written(const std::vector<IValue>& results) const {
  simdjson::dom::object written;
  if (case_["mutated"].get(written) != simdjson::SUCCESS) return {};
  const TreeReader reader(tensors_);
  for (auto field : written) {
    const Tensor input = tensors_.leaf(std::string(field.key));
    if (!input.defined()) continue;
    // What is right up to a choice was compared as a result.
    if (is_ambiguous()) {
      const bool is_result = std::ranges::any_of(results, [&](const IValue& result) {
        return result.is_tensor() && result.to_tensor().storage().get() == input.storage().get();
      });
      if (is_result) continue;
      return fmt::format("written input {} is no result", field.key);
    }
    std::string difference = find_difference(input, reader.read(field.value, nullptr), options_);
    if (!difference.empty()) return fmt::format("written input {}: {}", field.key, difference);
  }
  return {};
}

}  // namespace tierup::api
