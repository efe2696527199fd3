#include "tierup/passes/core/run_operator.h"

#include "tierup/base/error.h"

namespace tierup::passes {

std::optional<std::vector<IValue>> run_operator(const ops::Op& op, std::vector<IValue>& arguments,
                                                size_t result_count) {
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

}  // namespace tierup::passes
