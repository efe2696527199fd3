#include "tierup/cases/lockstep_check.h"

#include <fmt/format.h>

#include <optional>

#include "tierup/base/error.h"
#include "tierup/cases/case_run.h"
#include "tierup/cases/model_cases.h"

namespace tierup::api {
namespace {

struct Answer {
  IValue value;
  std::optional<std::string> error;
};

Ref<Model> load(const std::string& path, bool with_tiers) {
  ModelOptions options = silent_options();
  // Whatever the environment says: one operator after the other.
  if (!with_tiers) options.tiering.apply("compile=off,inter_op_threads=1");
  return load_silently(path, std::move(options));
}

// On copies of the arguments, which the model may write to.
Answer answer(const Model& model, const CaseCall& call) {
  std::vector<IValue> args =
      deep_copy(make_tuple({call.args.begin(), call.args.end()})).to_tuple().items;
  try {
    return {call.method == "forward" ? model.call(std::move(args), {})
                                     : model.run(call.method, std::move(args), {}),
            {}};
  } catch (const Error& error) {
    return {IValue(), error.message()};
  }
}

std::string difference_of(const Answer& found, const Answer& wanted,
                          const ComparisonOptions& comparison) {
  if (found.error != wanted.error) {
    return fmt::format("raises '{}', tier 0 raises '{}'", found.error.value_or("nothing"),
                       wanted.error.value_or("nothing"));
  }
  if (found.error) return "";
  Deviation deviation;
  return find_difference(found.value, wanted.value, comparison, &deviation);
}

std::optional<std::string> failed_job(const Model& model) {
  for (const tier::GraphReport& graph : model.tiers().report().graphs) {
    if (graph.reason == tier::Reason::kCompileFailed)
      return fmt::format("{}: compilation failed: {}", graph.name, graph.detail);
  }
  return std::nullopt;
}

}  // namespace

CaseOutcome check_in_lockstep(const std::string& model_path, const std::string& case_path,
                              int rounds) {
  return outcome_of([&] {
    const ModelCase model_case = read_model_case(case_path);
    const Ref<Model> model = load(model_path, true);
    const Ref<Model> reference = load(model_path, false);
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < model_case.calls.size(); ++i) {
        const Answer found = answer(*model, model_case.calls[i]);
        const Answer wanted = answer(*reference, model_case.calls[i]);
        const std::string difference = difference_of(found, wanted, model_case.comparison);
        if (!difference.empty()) {
          return CaseOutcome::failed(
              fmt::format("round {}, call {}, against tier 0: {}", round, i, difference));
        }
      }
      model->tiers().wait_for_jobs();
      if (const auto failure = failed_job(*model)) return CaseOutcome::failed(*failure);
    }
    return CaseOutcome::passed();
  });
}

}  // namespace tierup::api
