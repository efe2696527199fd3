#include "tierup/cases/op_cases.h"

#include <filesystem>
#include <set>

#include "tierup/api/public/facade.h"
#include "tierup/archive/safetensors.h"
#include "tierup/cases/grad_case.h"
#include "tierup/cases/tree_reader.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::api {

using simdjson::dom::element;

struct OpCaseBundle::State {
  State(const std::string& path, bool with_gradients);

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

// Those that the index.json in the file's folder names; those of operators without one.
Tolerances tolerances_beside(const std::string& path) {
  Tolerances result = Tolerances::of_operators();
  const std::filesystem::path index = std::filesystem::path(path).replace_filename("index.json");
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

}  // namespace

OpCaseBundle::State::State(const std::string& path, bool with_gradients)
    : file(archive::Safetensors::open(path)),
      tolerances(tolerances_beside(path)),
      gradients(with_gradients) {
  const auto& metadata = file.metadata();
  const auto schema = metadata.find("schema");
  const auto found = metadata.find("cases");
  require(schema != metadata.end() && found != metadata.end(), ErrorCode::kCorruptArchive,
          "{} has no operator cases: its metadata lack 'schema' or 'cases'", path);
  name = schema->second.substr(0, schema->second.find('('));
  try {
    for (element item : parser.parse(found->second).get_array()) cases.push_back(item);
  } catch (const simdjson::simdjson_error& error) {
    fail_json("'cases' of " + path, error);
  }
}

OpCaseBundle::OpCaseBundle(const std::string& path, bool gradients)
    : state_(v1::guarded([&] { return std::make_unique<State>(path, gradients); })) {}

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
