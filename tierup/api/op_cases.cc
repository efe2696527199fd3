#include "tierup/api/op_cases.h"

#include <filesystem>
#include <set>

#include "tierup/api/tree_reader.h"
#include "tierup/archive/safetensors.h"
#include "tierup/kernels/generator.h"
#include "tierup/ops/op_table.h"
#include "tierup/ops/shape_check.h"

namespace tierup::api {

using simdjson::dom::element;

struct OpCaseBundle::State {
  State(const std::string& path, Tolerances t)
      : file(archive::Safetensors::open(path)), tolerances(std::move(t)) {}

  archive::Safetensors file;
  Tolerances tolerances;
  std::string name;
  simdjson::dom::parser parser;
  std::vector<element> cases;  // Borrowed from the parser.
};

namespace {

template <typename T>
T value_or(simdjson::simdjson_result<element> field, T fallback) {
  T value;
  return field.get(value) == simdjson::SUCCESS ? value : fallback;
}

// One case being run.
class OpCase {
 public:
  OpCase(element description, const ops::Op& op, CaseTensors& tensors, ComparisonOptions options)
      : case_(description), op_(op), tensors_(tensors), options_(std::move(options)) {}

  CaseOutcome run() {
    std::vector<IValue> args = read_arguments();
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
    std::string difference = check_outputs(results);
    if (difference.empty()) difference = shapes.mistake(results);
    if (difference.empty()) difference = check_written();
    return difference.empty() ? CaseOutcome::passed() : CaseOutcome::failed(difference);
  }

 private:
  // PyTorch raised an error of this text, which need not be ours.
  CaseOutcome check_error(ops::OpCall& call, std::string_view text) const {
    try {
      op_.kernel()(call);
    } catch (const Error&) {
      return CaseOutcome::passed();
    }
    return CaseOutcome::failed(fmt::format("no error; PyTorch raises: {}", text));
  }

  // In schema order: positional ones from `args`, the others by name, missing ones by default.
  std::vector<IValue> read_arguments() {
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
    for (element tree : positional)
      args.push_back(read_argument(reader, tree, wanted[args.size()]));
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

  static IValue read_argument(const TreeReader& reader, element tree,
                              const ir::Argument& argument) {
    IValue value = reader.read(tree, argument.type);
    if (!argument.broadcast_size || !value.is_number()) return value;
    const auto count = static_cast<size_t>(*argument.broadcast_size);
    return make_ref<ListValue>(value.type(), std::vector<IValue>(count, value));
  }

  std::string check_outputs(const std::vector<IValue>& results) {
    simdjson::dom::array outputs = case_["outputs"];
    std::vector<IValue> expected;
    const TreeReader reader(tensors_);
    for (element tree : outputs) expected.push_back(reader.read(tree, nullptr));
    // An operator without returns was recorded as giving None.
    if (results.empty() && expected.size() == 1 && expected[0].is_none()) return {};
    if (expected.size() != results.size()) {
      return fmt::format("{} results instead of {}", results.size(), expected.size());
    }
    size_t i = 0;
    for (element tree : outputs) {
      std::string difference = find_difference(results[i], expected[i], options_);
      if (difference.empty()) difference = check_views(results[i], tree);
      if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
      ++i;
    }
    return {};
  }

  // Walks result and tree together; the values were found equal, so the structures match.
  std::string check_views(const IValue& result, element tree) {
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

  static std::string check_view(const Tensor& view, const Tensor& base, element leaf) {
    if (base.defined() && view.storage().get() != base.storage().get()) {
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

  std::string check_written() {
    simdjson::dom::object written;
    if (case_["mutated"].get(written) != simdjson::SUCCESS) return {};
    const TreeReader reader(tensors_);
    for (auto field : written) {
      const Tensor input = tensors_.leaf(std::string(field.key));
      if (!input.defined()) continue;
      std::string difference = find_difference(input, reader.read(field.value, nullptr), options_);
      if (!difference.empty()) return fmt::format("written input {}: {}", field.key, difference);
    }
    return {};
  }

  element case_;
  const ops::Op& op_;
  CaseTensors& tensors_;
  ComparisonOptions options_;
};

}  // namespace

Tolerances tolerances_beside(const std::string& folder) {
  Tolerances result = Tolerances::of_operators();
  const std::filesystem::path index = std::filesystem::path(folder) / "index.json";
  if (!std::filesystem::exists(index)) return result;
  try {
    simdjson::dom::parser parser;
    simdjson::dom::object tolerances = parser.load(index.string())["tolerances"];
    for (auto field : tolerances) {
      const auto dtype = parse_dtype(field.key);
      if (dtype) result.set(*dtype, {double{field.value["rtol"]}, double{field.value["atol"]}});
    }
  } catch (const simdjson::simdjson_error& error) {
    fail_json(index.string(), error);
  }
  return result;
}

OpCaseBundle::OpCaseBundle(const std::string& path, Tolerances tolerances)
    : state_(std::make_unique<State>(path, std::move(tolerances))) {
  const auto& metadata = state_->file.metadata();
  const auto schema = metadata.find("schema");
  const auto cases = metadata.find("cases");
  require(schema != metadata.end() && cases != metadata.end(), ErrorCode::kCorruptArchive,
          "{} has no operator cases: its metadata lack 'schema' or 'cases'", path);
  state_->name = schema->second.substr(0, schema->second.find('('));
  try {
    for (element item : state_->parser.parse(cases->second).get_array()) {
      state_->cases.push_back(item);
    }
  } catch (const simdjson::simdjson_error& error) {
    fail_json("'cases' of " + path, error);
  }
}

OpCaseBundle::~OpCaseBundle() = default;

const std::string& OpCaseBundle::operator_name() const { return state_->name; }

size_t OpCaseBundle::size() const { return state_->cases.size(); }

std::string OpCaseBundle::label(size_t index) const {
  const element description = state_->cases[index];
  const auto id = value_or(description["id"], static_cast<int64_t>(index));
  const auto dtype = value_or(description["dtype"], std::string_view("no dtype"));
  return fmt::format("{} case {} ({})", state_->name, id, dtype);
}

CaseOutcome OpCaseBundle::run(size_t index) {
  try {
    const ops::Op* op = ops::OpTable::instance().find(state_->name);
    if (op == nullptr) return CaseOutcome::refused("unknown operator");
    if (op->kernel() == nullptr) return CaseOutcome::refused("no kernel");
    CaseTensors tensors([&](std::string_view name) { return state_->file.tensor(name); });
    element description = state_->cases[index];
    ComparisonOptions options;
    options.tolerances = state_->tolerances;
    options.ambiguous = value_or(description["ambiguous"], false);
    double atol = 0;
    if (description["atol"].get(atol) == simdjson::SUCCESS) options.tolerances.raise_atol(atol);
    return OpCase(description, *op, tensors, std::move(options)).run();
  } catch (const Error& error) {
    return CaseOutcome::of_error(error);
  } catch (const simdjson::simdjson_error& error) {
    return CaseOutcome::failed(fmt::format("the case is malformed: {}", error.what()));
  } catch (const std::exception& error) {
    return CaseOutcome::failed(fmt::format("unexpected exception: {}", error.what()));
  }
}

}  // namespace tierup::api
