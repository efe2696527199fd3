#include "tierup/cases/case_file.h"

#include "tierup/api/public/facade.h"
#include "tierup/cases/model_cases.h"

namespace tierup::api {

using v1::Access;

struct CaseFile::State {
  explicit State(const std::string& path);

  std::vector<RecordedCall> calls;
  ComparisonOptions comparison;
  bool gradients;
  bool is_plain;
};

CaseFile::State::State(const std::string& path) {
  ModelCase model_case = read_model_case(path);
  for (CaseCall& call : model_case.calls) {
    RecordedCall& recorded = calls.emplace_back();
    recorded.method = std::move(call.method);
    for (IValue& arg : call.args) recorded.args.push_back(Access::wrap(std::move(arg)));
    if (call.expected) recorded.expected = Access::wrap(std::move(*call.expected));
    recorded.error = std::move(call.error);
  }
  comparison = model_case.comparison;
  gradients = model_case.gradients;
  is_plain = model_case.is_plain;
}

namespace {

ResultComparison compare_values(const IValue& found, const IValue& expected,
                                const ComparisonOptions& options) {
  Deviation deviation;
  ResultComparison result;
  result.difference = find_difference(found, expected, options, &deviation);
  result.max_absolute_error = deviation.max_absolute;
  result.largest_value = deviation.largest_value;
  result.relative_error = deviation.relative();
  return result;
}

}  // namespace

CaseFile::CaseFile(const std::string& path)
    : state_(v1::guarded([&] { return std::make_unique<State>(path); })) {}
CaseFile::~CaseFile() = default;
CaseFile::CaseFile(CaseFile&&) noexcept = default;
CaseFile& CaseFile::operator=(CaseFile&&) noexcept = default;

const std::vector<RecordedCall>& CaseFile::calls() const { return state_->calls; }
bool CaseFile::gradients() const { return state_->gradients; }

void CaseFile::set_tolerances(std::optional<double> rtol, std::optional<double> atol) {
  state_->comparison.tolerances.replace(rtol, atol);
}

ResultComparison CaseFile::compare(const v1::Value& found, const RecordedCall& call) const {
  return v1::guarded([&] {
    const IValue& value = Access::unwrap(found);
    return compare_values(state_->is_plain ? flatten_result(value) : value,
                          Access::unwrap(*call.expected), state_->comparison);
  });
}

ResultComparison CaseFile::compare(const v1::Value& found, const v1::Value& expected) const {
  return v1::guarded([&] {
    return compare_values(Access::unwrap(found), Access::unwrap(expected), state_->comparison);
  });
}

std::string compare_error(const std::string& raised, const std::string& expected) {
  return find_error_difference(raised, expected);
}

double relative_deviation(const v1::Value& found, const v1::Value& expected) {
  return v1::guarded([&] {
    return ::tierup::relative_deviation(Access::unwrap(found), Access::unwrap(expected));
  });
}

std::vector<v1::Value> copies_of(const std::vector<v1::Value>& args) {
  return v1::guarded([&] {
    std::vector<IValue> originals;
    for (const v1::Value& arg : args) originals.push_back(Access::unwrap(arg));
    std::vector<v1::Value> copies;
    const IValue copied = deep_copy(make_tuple(std::move(originals)));
    for (const IValue& item : copied.to_tuple().items) copies.push_back(Access::wrap(item));
    return copies;
  });
}

}  // namespace tierup::api
