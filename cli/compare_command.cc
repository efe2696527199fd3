// tierup compare: two models on the same inputs, and the first value in which they differ.
#include <fmt/format.h>

#include "commands.h"
#include "json_writer.h"
#include "model_options.h"
#include "tierup/api/model_cases.h"

namespace tierup::cli {
namespace {

struct CompareArguments {
  ModelArguments first;
  std::string second;
  std::vector<std::string> inputs;
  double rtol = -1;
  double atol = -1;
  bool json = false;
};

struct Outcome {
  std::string label;  // The case file, the call.
  std::string difference;
  api::Deviation deviation;
};

// On copies: a model may write to its inputs, which the other one is to see as they were.
IValue make_call(const api::Model& model, const api::CaseCall& call) {
  std::vector<IValue> args = deep_copy(make_tuple(call.args)).to_tuple().items;
  return call.method == "forward" ? model.call(std::move(args))
                                  : model.run(call.method, std::move(args));
}

// The first result is what is expected of the second.
Outcome compare_call(const api::Model& first, const api::Model& second, const api::CaseCall& call,
                     const api::ComparisonOptions& comparison) {
  Outcome outcome;
  const IValue expected = make_call(first, call);
  const IValue found = make_call(second, call);
  outcome.difference = api::find_difference(found, expected, comparison, &outcome.deviation);
  return outcome;
}

std::vector<Outcome> compare_all(const CompareArguments& arguments) {
  ModelArguments second_arguments = arguments.first;
  second_arguments.path = arguments.second;
  std::vector<Outcome> outcomes;
  for (const std::string& path : arguments.inputs) {
    const api::ModelCase model_case = api::read_model_case(path);
    api::ComparisonOptions comparison = model_case.comparison;
    if (arguments.rtol >= 0 || arguments.atol >= 0) {
      const api::Tolerance own = comparison.tolerances.of(ScalarType::kFloat);
      comparison.tolerances =
          api::Tolerances::uniform({arguments.rtol < 0 ? own.rtol : arguments.rtol,
                                    arguments.atol < 0 ? own.atol : arguments.atol});
    }
    // Models with state start each case anew.
    const Ref<api::Model> first = arguments.first.load();
    const Ref<api::Model> second = second_arguments.load();
    for (size_t i = 0; i < model_case.calls.size(); ++i) {
      Outcome outcome = compare_call(*first, *second, model_case.calls[i], comparison);
      outcome.label = fmt::format("{} call {}", path, i);
      outcomes.push_back(std::move(outcome));
      if (!outcomes.back().difference.empty()) return outcomes;
    }
  }
  return outcomes;
}

int run_compare(const CompareArguments& arguments) {
  const std::vector<Outcome> outcomes = compare_all(arguments);
  const bool differs = !outcomes.empty() && !outcomes.back().difference.empty();
  if (arguments.json) {
    JsonWriter json;
    json.begin_object().key("equal").boolean(!differs).key("calls").begin_array();
    for (const Outcome& outcome : outcomes) {
      json.begin_object();
      json.key("call").string(outcome.label);
      json.key("difference").string(outcome.difference);
      json.key("max_absolute_error").number(outcome.deviation.max_absolute);
      json.key("max_relative_error").number(outcome.deviation.max_relative);
      json.end_object();
    }
    json.end_array().end_object();
    fmt::print("{}\n", json.text());
  } else {
    for (const Outcome& outcome : outcomes) {
      fmt::print("{}: largest absolute error {:.3g}, relative {:.3g}: {}\n", outcome.label,
                 outcome.deviation.max_absolute, outcome.deviation.max_relative,
                 outcome.difference.empty() ? "equal" : outcome.difference);
    }
  }
  return differs ? kMismatch : kOk;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command =
      app.add_subcommand("compare", "Run two models on the same inputs; find the first difference");
  arguments->first.add_to(*command);
  command->add_option("other", arguments->second, "The model to compare with the first")
      ->required();
  command->add_option("--inputs", arguments->inputs, "Case file; may be given several times")
      ->required();
  command->add_option("--rtol", arguments->rtol, "Relative tolerance instead of the case's");
  command->add_option("--atol", arguments->atol, "Absolute tolerance instead of the case's");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return run_compare(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
