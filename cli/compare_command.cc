// tierup compare: two models on the same inputs, the first value in which they differ, and how long
// they take by turns.
#include <fmt/format.h>

#include <algorithm>

#include "case_calls.h"
#include "code_generator_notice.h"
#include "commands.h"
#include "json_writer.h"
#include "model_options.h"
#include "number_range.h"
#include "result_text.h"
#include "settling.h"

namespace tierup::cli {
namespace {

struct CompareArguments {
  ModelArguments first;
  std::string second;
  std::string second_tiering;  // Over first.tiering.
  std::vector<std::string> inputs;
  std::optional<double> rtol;  // Instead of the case's.
  std::optional<double> atol;
  double seconds = 0;  // Of calls by turns; 0: none.
  bool json = false;
};

struct Outcome {
  std::string label;  // The case file, the call.
  api::ResultComparison comparison;
};

// On copies: a model may write to its inputs, which the other one is to see as they were.
v1::Value call_on_copies(const v1::Module& module, const RecordedCall& call) {
  return make_call(module, call, api::copies_of(call.args));
}

ModelArguments second_model(const CompareArguments& arguments) {
  ModelArguments second = arguments.first;
  second.path = arguments.second;
  if (!second.tiering.empty() && !arguments.second_tiering.empty()) second.tiering += ',';
  second.tiering += arguments.second_tiering;
  return second;
}

struct Times {
  std::vector<double> first_ms;
  std::vector<double> second_ms;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of the model alone, without the copies.
double timed_call(const v1::Module& module, const RecordedCall& call) {
  std::vector<v1::Value> args = api::copies_of(call.args);
  const auto start = Clock::now();
  const v1::Value result = make_call(module, call, std::move(args));
  return milliseconds_since(start);
}

// Both at the tier they reach, in the order first, second, second, first, so that neither a drift
// of the machine's speed nor the place after the other favours one.
Times time_by_turns(const CompareArguments& arguments) {
  const CaseFile file(arguments.inputs.front());
  const RecordedCall& call = file.calls().front();
  const v1::Module first = arguments.first.load(true);
  const v1::Module second = second_model(arguments).load(true);
  Settling(first).finish([&](size_t) { call_on_copies(first, call); });
  Settling(second).finish([&](size_t) { call_on_copies(second, call); });
  Times times;
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  while (times.first_ms.size() < 10 || Clock::now() < end) {
    times.first_ms.push_back(timed_call(first, call));
    times.second_ms.push_back(timed_call(second, call));
    times.second_ms.push_back(timed_call(second, call));
    times.first_ms.push_back(timed_call(first, call));
  }
  return times;
}

std::vector<Outcome> compare_all(const CompareArguments& arguments) {
  const ModelArguments second_arguments = second_model(arguments);
  std::vector<Outcome> outcomes;
  for (const std::string& path : arguments.inputs) {
    CaseFile file(path);
    file.set_tolerances(arguments.rtol, arguments.atol);
    // Models with state start each case anew.
    const v1::Module first = arguments.first.load(true);
    const v1::Module second = second_arguments.load(true);
    for (size_t i = 0; i < file.calls().size(); ++i) {
      const RecordedCall& call = file.calls()[i];
      // The first result is what is expected of the second.
      const v1::Value expected = call_on_copies(first, call);
      const v1::Value found = call_on_copies(second, call);
      outcomes.push_back({fmt::format("{} call {}", path, i), file.compare(found, expected)});
      if (!outcomes.back().comparison.difference.empty()) return outcomes;
    }
  }
  return outcomes;
}

void print_json(const CompareArguments& arguments, const std::vector<Outcome>& outcomes,
                bool differs, const Times& times) {
  JsonWriter json;
  json.begin_object();
  write_code_generator(json, arguments.first);
  json.key("equal").boolean(!differs).key("calls").begin_array();
  for (const Outcome& outcome : outcomes) {
    json.begin_object();
    json.key("call").string(outcome.label);
    json.key("difference").string(outcome.comparison.difference);
    json.key("max_absolute_error").number(outcome.comparison.max_absolute_error);
    json.key("max_relative_error").number(outcome.comparison.relative_error);
    json.end_object();
  }
  json.end_array();
  if (!times.first_ms.empty()) {
    json.key("first_p50_ms").number(median(times.first_ms));
    json.key("second_p50_ms").number(median(times.second_ms));
    json.key("timed_calls").number(times.first_ms.size());
  }
  json.end_object();
  fmt::print("{}\n", json.text());
}

int run_compare(const CompareArguments& arguments) {
  const std::vector<Outcome> outcomes = compare_all(arguments);
  if (outcomes.empty()) {
    fmt::print(stderr, "tierup: nothing to compare: the cases have no calls\n");
    return kMismatch;
  }
  const bool differs = !outcomes.back().comparison.difference.empty();
  const Times times = arguments.seconds > 0 ? time_by_turns(arguments) : Times{};
  if (arguments.json) {
    print_json(arguments, outcomes, differs, times);
    return differs ? kMismatch : kOk;
  }
  print_missing_code_generator(arguments.first);
  for (const Outcome& outcome : outcomes) {
    const std::string& difference = outcome.comparison.difference;
    fmt::print("{}: {}: {}\n", outcome.label, error_text(outcome.comparison),
               difference.empty() ? "equal" : difference);
  }
  if (!times.first_ms.empty()) {
    const double first = median(times.first_ms);
    const double second = median(times.second_ms);
    fmt::print(
        "by turns, {} calls of each: median {:.4g} ms and {:.4g} ms, second / first {:.3f}\n",
        times.first_ms.size(), first, second, second / first);
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
  command
      ->add_option("--other-tiering", arguments->second_tiering,
                   "Tiering options of the other model, over --tiering")
      ->check(tiering_failure);
  command->add_option("--inputs", arguments->inputs, "Case file; may be given several times")
      ->required();
  command->add_option("--rtol", arguments->rtol, "Relative tolerance instead of the case's")
      ->check(factor_range());
  command->add_option("--atol", arguments->atol, "Absolute tolerance instead of the case's")
      ->check(factor_range());
  command
      ->add_option("-t", arguments->seconds,
                   "Also time both by turns for so many seconds, on the first case's first call")
      ->check(seconds_range());
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return run_compare(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
