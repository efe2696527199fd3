// tierup run: calls a model on the inputs of a case file.
#include <fmt/format.h>

#include <algorithm>

#include "case_calls.h"
#include "commands.h"
#include "json_writer.h"
#include "model_options.h"
#include "number_range.h"
#include "result_text.h"
#include "tierup/tensor_file.h"

namespace tierup::cli {
namespace {

struct RunArguments {
  ModelArguments model;
  std::string inputs;
  std::string method = "forward";
  bool check = false;
  std::optional<double> rtol;  // Instead of the case's.
  std::optional<double> atol;
  std::string out;
  bool json = false;
};

// One call's outcome, as it is printed.
struct CallReport {
  std::string method;
  v1::Value value;
  bool is_compared = false;  // The case says what is expected of the call.
  std::string raised;        // The error's text, for a call that expects one.
  api::ResultComparison comparison;
};

CallReport report_call(const v1::Module& module, const CaseFile& file, const RecordedCall& call) {
  CallReport report;
  report.method = call.method;
  report.is_compared = call.expected || call.error;
  v1::RunOptions options;
  options.gradients = file.gradients();
  try {
    report.value = make_call(module, call, options);
  } catch (const v1::Error& error) {
    if (!call.error) throw;
    report.raised = error.what();
    report.comparison.difference = api::compare_error(report.raised, *call.error);
    return report;
  }
  if (call.error) {
    report.comparison.difference = fmt::format("should raise an error with '{}'", *call.error);
  } else if (call.expected) {
    report.comparison = file.compare(report.value, call);
  }
  return report;
}

std::vector<CallReport> make_calls(const RunArguments& arguments, const v1::Module& module,
                                   const CaseFile& file) {
  std::vector<CallReport> reports;
  for (RecordedCall call : file.calls()) {
    if (file.calls().size() == 1) call.method = arguments.method;
    if (!arguments.check) {
      call.expected.reset();
      call.error.reset();
    }
    reports.push_back(report_call(module, file, call));
  }
  return reports;
}

void write_results(const std::string& path, const std::vector<CallReport>& reports) {
  v1::NamedTensors tensors;
  std::string trees;
  for (const CallReport& report : reports) {
    trees += (trees.empty() ? "" : ", ") + result_tree(report.value, tensors);
  }
  const bool is_sequence = reports.size() != 1;
  v1::save_safetensors(path, tensors, {{"outputs", is_sequence ? "[" + trees + "]" : trees}});
}

void print_json(const RunArguments& arguments, const std::vector<CallReport>& reports) {
  JsonWriter json;
  json.begin_object().key("calls").begin_array();
  for (const CallReport& report : reports) {
    json.begin_object();
    json.key("method").string(report.method);
    json.key("result").string(result_text(report.value));
    if (arguments.check && report.is_compared) {
      json.key("passed").boolean(report.comparison.difference.empty());
      json.key("difference").string(report.comparison.difference);
      json.key("max_absolute_error").number(report.comparison.max_absolute_error);
      json.key("max_relative_error").number(report.comparison.relative_error);
    }
    json.end_object();
  }
  json.end_array().end_object();
  fmt::print("{}\n", json.text());
}

void print_text(const RunArguments& arguments, const std::vector<CallReport>& reports) {
  for (const CallReport& report : reports) {
    if (!arguments.check) {
      fmt::print("{}", result_text(report.value));
      continue;
    }
    const api::ResultComparison& comparison = report.comparison;
    const std::string verdict = comparison.difference.empty() ? "ok" : comparison.difference;
    if (!report.raised.empty()) {
      fmt::print("{}: error: {}: {}\n", report.method, report.raised, verdict);
      continue;
    }
    if (!report.is_compared) {
      fmt::print("{}: nothing to compare\n", report.method);
      continue;
    }
    fmt::print("{}: {}: {}\n", report.method, error_text(comparison), verdict);
  }
}

bool expects_anything(const CaseFile& file) {
  return std::any_of(file.calls().begin(), file.calls().end(),
                     [](const RecordedCall& call) { return call.expected || call.error; });
}

int run_model(const RunArguments& arguments) {
  CaseFile file(arguments.inputs);
  file.set_tolerances(arguments.rtol, arguments.atol);
  const v1::Module module = arguments.model.load(arguments.json);
  const std::vector<CallReport> reports = make_calls(arguments, module, file);
  if (!arguments.out.empty()) write_results(arguments.out, reports);
  arguments.json ? print_json(arguments, reports) : print_text(arguments, reports);
  for (const CallReport& report : reports) {
    if (!report.comparison.difference.empty()) return kMismatch;
  }
  if (arguments.check && !expects_anything(file)) {
    fmt::print(stderr, "tierup: nothing to compare: {} records neither outputs nor an error\n",
               arguments.inputs);
    return kMismatch;
  }
  return kOk;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Call a model on the inputs of a case file");
  arguments->model.add_to(*command);
  command->add_option("--inputs", arguments->inputs, "Case file (.safetensors)")->required();
  command->add_option("--method", arguments->method, "Method to call (default: forward)");
  command->add_flag("--check", arguments->check, "Compare with the outputs of the case");
  command->add_option("--rtol", arguments->rtol, "Relative tolerance instead of the case's")
      ->check(factor_range());
  command->add_option("--atol", arguments->atol, "Absolute tolerance instead of the case's")
      ->check(factor_range());
  command->add_option("--out", arguments->out, "Write the results to this .safetensors file");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return run_model(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
