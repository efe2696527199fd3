#include "tierup/tier/first_node.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tierup/ir/text.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/runtime/lower.h"
#include "tierup/runtime/program.h"
#include "tierup/tensor/tensor.h"
#include "tierup/tier/silent_context.h"

namespace tierup::tier {
namespace {

// Two tiers of one graph: %c is right in both, %d is made by `second`.
std::shared_ptr<const ir::Graph> graph_with(const std::string& second) {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  return ir::parse_graph(R"(graph @main(%a : Tensor, %b : Tensor) {
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %d : Tensor = )" + second + R"((%c, %b)
  %e : Tensor = aten::mul.Tensor(%d, %d)
  return (%e)
})",
                         context);
}

std::optional<std::string> compare(const std::string& expected, const std::string& got) {
  runtime::Program program([](const ir::Function& f) { return f.graph(); });
  const auto want = runtime::lower(graph_with(expected));
  const auto have = runtime::lower(graph_with(got));
  const Tensor number = Tensor::empty(IntVector{2}, ScalarType::kFloat);
  std::fill_n(number.data<float>(), 2, 3.0F);
  return first_differing_node(
      *want, *have, [&](const runtime::Plan& plan, runtime::StepObserver& observer) {
        std::vector<IValue> args{number, number};
        SilentContext silent({});
        auto state = make_ref<runtime::RunState>();
        state->observer = &observer;
        program.run_single(plan, args, silent.context(), Ref<const runtime::RunState>(state.get()));
      });
}

TEST(FirstDifferingNode, IsTheFirstOfTierZeroWhoseValueDiffers) {
  EXPECT_EQ(compare("aten::mul.Tensor", "aten::div.Tensor"),
            "aten::mul.Tensor (%d): the result[0] is 3 instead of 27 (889 times the tolerance)");
  EXPECT_EQ(compare("aten::mul.Tensor", "aten::mul.Tensor"), std::nullopt);
}

}  // namespace
}  // namespace tierup::tier
