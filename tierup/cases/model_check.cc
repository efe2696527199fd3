#include "tierup/cases/model_check.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>

#include "tierup/api/public/facade.h"
#include "tierup/cases/case_run.h"
#include "tierup/cases/model_cases.h"

namespace tierup::api {
namespace {

namespace fs = std::filesystem;

bool names_archive(const archive::TextMetadata& metadata, const std::string& file_name) {
  const auto found = metadata.find("archives");
  if (found == metadata.end()) return true;
  simdjson::dom::parser parser;
  for (simdjson::dom::element item : parser.parse(found->second).get_array()) {
    if (std::string_view{item} == file_name) return true;
  }
  return false;
}

std::vector<std::string> find_case_paths(const std::string& model_path) {
  const fs::path path(model_path);
  const std::string file_name = path.filename().string();
  const std::string prefix = file_name.substr(0, file_name.find('.')) + ".case";
  std::vector<std::string> result;
  const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || entry.path().extension() != ".safetensors") continue;
    const archive::Safetensors file = archive::Safetensors::open(entry.path().string());
    if (names_archive(file.metadata(), file_name)) result.push_back(entry.path().string());
  }
  std::sort(result.begin(), result.end());
  return result;
}

CaseOutcome check_calls(const Model& model, const ModelCase& model_case) {
  for (size_t i = 0; i < model_case.calls.size(); ++i) {
    const CallResult result = run_case_call(model, model_case.calls[i], model_case);
    if (result.difference.empty()) continue;
    return CaseOutcome::failed(model_case.calls.size() == 1
                                   ? result.difference
                                   : fmt::format("call {}: {}", i, result.difference));
  }
  return CaseOutcome::passed();
}

}  // namespace

std::vector<std::string> case_paths_of(const std::string& model_path) {
  return v1::guarded([&] { return find_case_paths(model_path); });
}

CaseOutcome check_model_case(const std::string& model_path, const std::string& case_path) {
  return outcome_of([&] {
    const ModelCase model_case = read_model_case(case_path);
    return check_calls(*load_silently(model_path), model_case);
  });
}

}  // namespace tierup::api
