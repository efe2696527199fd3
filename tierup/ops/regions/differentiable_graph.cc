#include "tierup/ops/regions/differentiable_graph.h"

#include "tierup/base/error.h"
#include "tierup/ops/table/derivative.h"

namespace tierup::ops {

const Op& differentiable_graph_row() { return named_op("tierup::differentiable_graph"); }

void differentiable_graph(OpCall& call) {
  const bool has_capsule = !call.args.empty() && call.args.back().is_capsule();
  auto* step =
      has_capsule ? dynamic_cast<DifferentiableStep*>(call.args.back().to_capsule()) : nullptr;
  require(step != nullptr, ErrorCode::kTypeError,
          "the last argument is no differentiable part of a program");
  OpCall inner{call.args.first(call.args.size() - 1), call.results, call.context};
  step->run(inner);
}

}  // namespace tierup::ops
