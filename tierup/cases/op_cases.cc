#include "tierup/cases/op_cases.h"

#include <filesystem>
#include <set>

#include "tierup/archive/safetensors.h"
#include "tierup/cases/grad_case.h"
#include "tierup/cases/tree_reader.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::api {

using simdjson::dom::element;

struct OpCaseBundle::State {
  State(const std::string& path, Tolerances t, bool with_gradients)
      : file(archive::Safetensors::open(path)),
        tolerances(std::move(t)),
        gradients(with_gradients) {}

  archive::Safetensors file;
  Tolerances tolerances;
  bool gradients;
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

OpCaseBundle::OpCaseBundle(const std::string& path, Tolerances tolerances, bool gradients)
    : state_(std::make_unique<State>(path, std::move(tolerances), gradients)) {
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
    double atol = 0;
    if (description["atol"].get(atol) == simdjson::SUCCESS) options.tolerances.raise_atol(atol);
    if (GradCase::is_one(description, state_->gradients)) {
      return GradCase(description, *op, tensors, std::move(options)).run();
    }
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
