// tierup run: calls a model on the inputs of a case file.
#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "json_writer.h"
#include "model_options.h"
#include "result_text.h"
#include "tierup/archive/safetensors.h"
#include "tierup/cases/model_cases.h"

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
  bool is_compared;  // The case says what is expected of the call.
  api::CallResult outcome;
};

std::vector<CallReport> make_calls(const RunArguments& arguments, const api::Model& model,
                                   api::ModelCase& model_case) {
  std::vector<CallReport> reports;
  for (api::CaseCall& call : model_case.calls) {
    if (model_case.calls.size() == 1) call.method = arguments.method;
    if (!arguments.check) {
      call.expected.reset();
      call.error.reset();
    }
    reports.push_back(
        {call.method, call.expected || call.error, api::run_case_call(model, call, model_case)});
  }
  return reports;
}

void write_results(const std::string& path, const std::vector<CallReport>& reports) {
  archive::NamedTensors tensors;
  std::string trees;
  for (const CallReport& report : reports) {
    trees += (trees.empty() ? "" : ", ") + result_tree(report.outcome.value, tensors);
  }
  const bool is_sequence = reports.size() != 1;
  archive::write_safetensors(path, tensors, {{"outputs", is_sequence ? "[" + trees + "]" : trees}});
}

void print_json(const RunArguments& arguments, const std::vector<CallReport>& reports) {
  JsonWriter json;
  json.begin_object().key("calls").begin_array();
  for (const CallReport& report : reports) {
    json.begin_object();
    json.key("method").string(report.method);
    json.key("result").string(result_text(report.outcome.value));
    if (arguments.check && report.is_compared) {
      json.key("passed").boolean(report.outcome.difference.empty());
      json.key("difference").string(report.outcome.difference);
      json.key("max_absolute_error").number(report.outcome.deviation.max_absolute);
      json.key("max_relative_error").number(report.outcome.deviation.relative());
    }
    json.end_object();
  }
  json.end_array().end_object();
  fmt::print("{}\n", json.text());
}

void print_text(const RunArguments& arguments, const std::vector<CallReport>& reports) {
  for (const CallReport& report : reports) {
    if (!arguments.check) {
      fmt::print("{}", result_text(report.outcome.value));
      continue;
    }
    const api::CallResult& outcome = report.outcome;
    const std::string verdict = outcome.difference.empty() ? "ok" : outcome.difference;
    if (!outcome.raised.empty()) {
      fmt::print("{}: error: {}: {}\n", report.method, outcome.raised, verdict);
      continue;
    }
    if (!report.is_compared) {
      fmt::print("{}: nothing to compare\n", report.method);
      continue;
    }
    fmt::print("{}: {}: {}\n", report.method,
               error_text(outcome.deviation.max_absolute, outcome.deviation.largest_value),
               verdict);
  }
}

bool expects_anything(const api::ModelCase& model_case) {
  return std::any_of(model_case.calls.begin(), model_case.calls.end(),
                     [](const api::CaseCall& call) { return call.expected || call.error; });
}

int run_model(const RunArguments& arguments) {
  api::ModelCase model_case = api::read_model_case(arguments.inputs);
  model_case.comparison.tolerances.replace(arguments.rtol, arguments.atol);
  const Ref<api::Model> model = arguments.model.load(arguments.json);
  const std::vector<CallReport> reports = make_calls(arguments, *model, model_case);
  if (!arguments.out.empty()) write_results(arguments.out, reports);
  arguments.json ? print_json(arguments, reports) : print_text(arguments, reports);
  for (const CallReport& report : reports) {
    if (!report.outcome.difference.empty()) return kMismatch;
  }
  if (arguments.check && !expects_anything(model_case)) {
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
  command->add_option("--rtol", arguments->rtol, "Relative tolerance instead of the case's");
  command->add_option("--atol", arguments->atol, "Absolute tolerance instead of the case's");
  command->add_option("--out", arguments->out, "Write the results to this .safetensors file");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return run_model(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
