#include "tierup/passes/core/run_operator.h"

#include "tierup/analysis/effects.h"
#include "tierup/base/error.h"
#include "tierup/ops/table/missing_tensor.h"

namespace tierup::passes {

bool can_run(const ir::Node& node, const ops::Op& op) {
  constexpr uint8_t kHarmless = ir::kMayRaise;
  return op.kernel() != nullptr && (analysis::effects_of(node) & ~kHarmless) == 0 &&
         !op.schema().is_mutating() && !node.outputs().empty();
}

std::optional<std::vector<IValue>> run_operator(const ops::Op& op, std::vector<IValue>& arguments,
                                                size_t result_count) {
  if (ops::find_missing_tensor(op.schema(), arguments))
    return std::nullopt;  // To raise in the run.
  std::vector<IValue> results(result_count);
  ops::RunContext run;
  ops::OpCall call{.args = arguments, .results = results, .context = run};
  try {
    op.kernel()(call);
  } catch (const Error&) {
    return std::nullopt;
  }
  return results;
}

std::optional<std::vector<IValue>> run_operator(PassContext& context, const ops::Op& op,
                                                std::vector<IValue>& arguments,
                                                size_t result_count) {
  WeightReads* reads = context.weight_reads();
  if (reads == nullptr) return run_operator(op, arguments, result_count);
  const std::vector<IValue> given = arguments;
  auto results = run_operator(op, arguments, result_count);
  if (results) reads->note(given, *results);
  return results;
}

}  // namespace tierup::passes
