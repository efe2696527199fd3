#include "tierup/cases/model_cases.h"

#include <fmt/format.h>

#include <charconv>

#include "tierup/base/error.h"
#include "tierup/cases/tree_reader.h"

namespace tierup::api {
namespace {

// None if the key is absent. Throws kCorruptArchive for text that is no number.
std::optional<double> number_of(const archive::TextMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return std::nullopt;
  double value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, value);
  require(read.ec == std::errc() && read.ptr == end && value >= 0, ErrorCode::kCorruptArchive,
          "the case's {} is '{}', which is no tolerance", key, found->second);
  return value;
}

std::vector<IValue> items_of(const IValue& value) {
  if (value.is_tuple()) return value.to_tuple().items;
  if (value.is_list()) return value.to_list().items;
  return {value};
}

// `in.0`, `in.1`... as they stand.
std::vector<IValue> numbered(const archive::Safetensors& file, const std::string& prefix,
                             CaseTensors& tensors) {
  std::vector<IValue> values;
  for (size_t i = 0; file.contains(prefix + std::to_string(i)); ++i) {
    values.emplace_back(tensors.stored(prefix + std::to_string(i)));
  }
  return values;
}

void read_calls(const std::string& json, CaseTensors& tensors, std::vector<CaseCall>& calls) {
  simdjson::dom::parser parser;
  const TreeReader reader(tensors);
  for (simdjson::dom::element item : parser.parse(json).get_array()) {
    CaseCall call;
    call.method = std::string(std::string_view{item["method"]});
    call.args = items_of(reader.read(item["inputs"], nullptr));
    std::string_view error;
    simdjson::dom::element outputs;
    if (item["error"].get(error) == simdjson::SUCCESS) {
      call.error = std::string(error);
    } else if (item["outputs"].get(outputs) == simdjson::SUCCESS) {
      call.expected = reader.read(outputs, nullptr);
    }
    calls.push_back(std::move(call));
  }
}

void flatten_into(const IValue& value, std::vector<IValue>& flat) {
  if (value.is_list() || value.is_tuple()) {
    for (const IValue& item : items_of(value)) flatten_into(item, flat);
  } else if (value.is_dict()) {
    for (const auto& [key, item] : value.to_dict().entries()) flatten_into(item, flat);
  } else if (value.is_tensor()) {
    flat.push_back(value);
  }
}

IValue value_of_call(const Model& model, const CaseCall& call, const RunOptions& options) {
  return call.method == "forward" ? model.call(call.args, {}, options)
                                  : model.run(call.method, call.args, {}, options);
}

CallResult run_failing_call(const Model& model, const CaseCall& call, const RunOptions& options) {
  CallResult result;
  try {
    value_of_call(model, call, options);
    result.difference = fmt::format("should raise an error with '{}'", *call.error);
  } catch (const Error& error) {
    result.raised = error.what();
    result.difference = find_error_difference(result.raised, *call.error);
  }
  return result;
}

}  // namespace

std::string find_error_difference(const std::string& raised, const std::string& expected) {
  if (raised.find(expected) != std::string::npos) return {};
  return fmt::format("the error should say '{}' but says: {}", expected, raised);
}

IValue flatten_result(const IValue& result) {
  std::vector<IValue> flat;
  flatten_into(result, flat);
  return make_tuple(std::move(flat));
}

ModelCase read_model_case(const std::string& path) {
  const archive::Safetensors file = archive::Safetensors::open(path);
  const auto& metadata = file.metadata();
  CaseTensors tensors([&](std::string_view name) { return file.tensor(name); });
  ModelCase result;
  result.comparison.tolerances = Tolerances::of_dtypes();
  result.comparison.tolerances.replace(number_of(metadata, "rtol"), number_of(metadata, "atol"));
  result.gradients = metadata.contains("gradients");
  try {
    if (const auto calls = metadata.find("calls"); calls != metadata.end()) {
      read_calls(calls->second, tensors, result.calls);
      return result;
    }
    CaseCall call;
    call.method = "forward";
    if (const auto inputs = metadata.find("inputs"); inputs != metadata.end()) {
      call.args = items_of(value_from_tree(inputs->second, tensors));
      const auto outputs = metadata.find("outputs");
      if (outputs != metadata.end()) call.expected = value_from_tree(outputs->second, tensors);
    } else {
      call.args = numbered(file, "in.", tensors);
      std::vector<IValue> outputs = numbered(file, "out.", tensors);
      if (!outputs.empty()) call.expected = make_tuple(std::move(outputs));
      result.is_plain = true;
    }
    if (const auto error = metadata.find("error"); error != metadata.end()) {
      call.error = error->second;
    }
    result.calls.push_back(std::move(call));
  } catch (const simdjson::simdjson_error& error) {
    fail_json(path, error);
  }
  return result;
}

CallResult run_case_call(const Model& model, const CaseCall& call, const ModelCase& model_case,
                         const RunOptions& given) {
  RunOptions options = given;
  options.gradients |= model_case.gradients;
  if (call.error) return run_failing_call(model, call, options);
  CallResult result;
  result.value = value_of_call(model, call, options);
  if (!call.expected) return result;
  const IValue found = model_case.is_plain ? flatten_result(result.value) : result.value;
  result.difference =
      find_difference(found, *call.expected, model_case.comparison, &result.deviation);
  return result;
}

}  // namespace tierup::api
