// For tests: one graph given as text, called by hand through its tiers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/text.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/tier/tiered_graph.h"
#include "tierup/tier/tiered_program.h"

namespace tierup::tier {

class TextFunction final : public ir::Function {
 public:
  explicit TextFunction(std::shared_ptr<const ir::Graph> graph)
      : Function("main"), graph_(std::move(graph)) {}
  const ir::Schema& schema() const override { return schema_; }
  const std::shared_ptr<const ir::Graph>& graph() const override { return graph_; }

 private:
  ir::Schema schema_;
  std::shared_ptr<const ir::Graph> graph_;
};

// c = a*b; d = c*b; e = d*b; d + e: 72 for a = 2, b = 3.
inline constexpr const char* kChain = R"(graph @main(%a : Tensor, %b : Tensor) {
  %one : int = prim::Constant[value=1]()
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %d : Tensor = aten::mul.Tensor(%c, %b)
  %e : Tensor = aten::mul.Tensor(%d, %b)
  %r : Tensor = aten::add.Tensor(%d, %e, %one)
  return (%r)
})";

// Two products with one weight, which a net takes.
inline constexpr const char* kTwoProducts = R"(graph @main(%x : Tensor, %w : Tensor) {
  %none : NoneType = prim::Constant[value=None]()
  %a : Tensor = aten::linear(%x, %w, %none)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::linear(%b, %w, %none)
  return (%c)
})";

inline IValue filled(IntVector sizes, double value, ScalarType dtype = ScalarType::kFloat) {
  Tensor tensor = Tensor::empty(std::move(sizes), dtype);
  kernels::fill_(tensor, Scalar(value));
  return tensor;
}

// Suites of tests derive from it.
class TieredGraphFixture : public testing::Test {
 protected:
  // `constant`, if given, takes the place of the last input.
  void make(const std::string& options, const char* text = kChain,
            const IValue& constant = IValue()) {
    tiers_ = nullptr;
    ir::TextContext context;
    context.operators = &ops::OpTable::instance();
    const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text, context);
    if (!constant.is_none()) {
      ir::GraphEditor editor(*graph);
      editor.set_insert_before(graph->block().first());
      editor.replace_uses(graph->inputs().back(), editor.constant(constant));
    }
    function_ = make_ref<TextFunction>(graph);
    program_ = std::make_unique<runtime::Program>([](const ir::Function& f) { return f.graph(); });
    TieringOptions tiering;
    tiering.apply(options);
    tiers_ = std::make_unique<TieredProgram>(*program_, tiering);
    graph_ = &tiers_->add(program_->slot_of(*function_), nullptr);
  }
  void TearDown() override { tiers_ = nullptr; }

  IValue call(std::vector<IValue> args, bool grad_mode = false) {
    ops::RunContext context;
    const Ref<kernels::Generator> generator = make_ref<kernels::Generator>();
    context.generator = generator.get();
    context.policy.grad_mode = grad_mode;
    const Ref<const runtime::RunState> state(make_ref<runtime::RunState>().get());
    return graph_->run(args, context, state);
  }
  // The chain over vectors of `length`; checks the answer.
  void call_length(int64_t length) {
    const Tensor result = call({filled({length}, 2), filled({length}, 3)}).to_tensor();
    ASSERT_EQ(result.sizes()[0], length);
    for (int64_t i = 0; i < length; ++i) ASSERT_EQ(result.data<float>()[i], 72.0F);
  }
  GraphReport report() const { return graph_->report(); }
  size_t static_plans() const {
    size_t count = 0;
    for (const PlanReport& plan : report().plans) count += plan.is_static ? 1 : 0;
    return count;
  }

  Ref<TextFunction> function_;
  std::unique_ptr<runtime::Program> program_;
  std::unique_ptr<TieredProgram> tiers_;
  TieredGraph* graph_ = nullptr;
};

}  // namespace tierup::tier
