// Which plans are made from those of older weights, and which from the beginning.
#include "tierup/tier/plan_for_weights.h"

#include <numeric>

#include "tierup/tier/code_generator.h"
#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

// Weights w and v of a module, and what a test makes of them and of x.
std::string graph_with(const std::string& body) {
  return R"(graph @main(%self : __torch__.M, %x : Tensor) {
  %none : NoneType = prim::Constant[value=None]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %v : Tensor = prim::GetAttr[name="v"](%self)
)" + body +
         "\n}";
}

// A net.
constexpr const char* kProducts = R"(
  %a : Tensor = aten::linear(%x, %w, %none)
  %b : Tensor = aten::relu(%a)
  %r : Tensor = aten::linear(%b, %v, %none)
  return (%r))";
// A net with a bias.
constexpr const char* kBiased = R"(
  %a : Tensor = aten::linear(%x, %w, %v)
  %r : Tensor = aten::relu(%a)
  return (%r))";
// A group with a weight as its input.
constexpr const char* kPointwise = R"(
  %a : Tensor = aten::mul.Tensor(%x, %w)
  %b : Tensor = aten::relu(%a)
  %r : Tensor = aten::mul.Tensor(%b, %v)
  return (%r))";
// A constant of weights.
constexpr const char* kFolded = R"(
  %a : Tensor = aten::mul.Tensor(%w, %v)
  %b : Tensor = aten::relu(%a)
  %r : Tensor = aten::matmul(%x, %b)
  return (%r))";
// A group whose right factors are a constant that lies column by column.
constexpr const char* kTransposed = R"(
  %t : Tensor = aten::t(%w)
  %a : Tensor = aten::matmul(%x, %t)
  %b : Tensor = aten::relu(%a)
  %r : Tensor = aten::matmul(%b, %t)
  return (%r))";
// One number of a weight, and what follows from it alone.
constexpr const char* kOfOneElement = R"(
  %row : Tensor = aten::select.int(%w, %zero, %zero)
  %first : Tensor = aten::select.int(%row, %zero, %zero)
  %number : number = aten::item(%first)
  %r : Tensor = aten::mul.Scalar(%x, %number)
  return (%r))";

class PlanForWeights : public TieredGraphFixture {
 protected:
  void SetUp() override {
    type_ = ClassType::make("__torch__.M", true);
    for (const char* name : {"w", "v"}) type_->add_attribute({name, Type::tensor()});
  }
  void TearDown() override {
    next_tiers_ = nullptr;
    TieredGraphFixture::TearDown();
  }

  Ref<ObjectValue> module_of(const IValue& w, const IValue& v) {
    auto module = make_ref<ObjectValue>(type_);
    module->slots = {w, v};
    return module;
  }

  // A plan for a module with these weights.
  void make_first(const char* body, const IValue& w, const IValue& v) {
    ir::TextContext context;
    context.operators = &ops::OpTable::instance();
    context.types = [this](std::string_view) { return type_; };
    function_ = make_ref<TextFunction>(ir::parse_graph(graph_with(body), context));
    program_ = std::make_unique<runtime::Program>([](const ir::Function& f) { return f.graph(); });
    options_.apply("compile=blocking,profiled_runs=1,verify_passes=on");
    tiers_ = std::make_unique<TieredProgram>(*program_, options_);
    module_ = module_of(w, v);
    graph_ = &tiers_->add(program_->slot_of(*function_), module_);
    for (int i = 0; i < 2; ++i) answer();
    ASSERT_EQ(report().plans.size(), 1U) << report().detail;
  }
  // The same for others, made from the one before.
  void swap(const IValue& w, const IValue& v) {
    module_ = module_of(w, v);
    auto tiers = std::make_unique<TieredProgram>(*program_, options_);
    TieredGraph& next = tiers->add(program_->slot_of(*function_), module_);
    next.adopt(*graph_);
    graph_ = &next;
    next_tiers_ = std::exchange(tiers_, std::move(tiers));
  }

  float answer() {
    const IValue result = call({IValue(module_), filled({4, 4}, 1)});
    return result.to_tensor().data<float>()[0];
  }
  bool is_made_from_older() const {
    const std::vector<PlanReport> plans = report().plans;
    return plans.size() == 1 && !plans[0].steps.empty() &&
           plans[0].steps[0].name == "other_weights";
  }

  TieringOptions options_;
  std::shared_ptr<ClassType> type_;
  Ref<ObjectValue> module_;
  std::unique_ptr<TieredProgram> next_tiers_;
};

TEST_F(PlanForWeights, ANetIsPackedAnew) {
  options_.apply("fusion=off");
  make_first(kProducts, filled({4, 4}, 1), filled({4, 4}, 2));
  ASSERT_EQ(report().plans[0].compiled_steps.size(), 1U);
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_TRUE(is_made_from_older());
  EXPECT_EQ(answer(), 12 * 20);
  EXPECT_EQ(report().plans[0].hits, 1U);
}

// A layout takes milliseconds to find, more than the rest of a copy of the plan.
TEST_F(PlanForWeights, MemoryLiesAsItDidForTheOlderPlan) {
  options_.apply("fusion=off");
  make_first(kProducts, filled({4, 4}, 1), filled({4, 4}, 2));
  for (int i = 0; i < 3; ++i) answer();
  ASSERT_EQ(report().plans[0].memory.size(), 1U);
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  ASSERT_TRUE(is_made_from_older());
  ASSERT_EQ(report().plans[0].memory.size(), 1U) << "before any call";
  EXPECT_EQ(answer(), 12 * 20);
}

// Its right factors stand in the graph once more, column by column.
TEST_F(PlanForWeights, AGroupWithProductsMultipliesByTheNewOnes) {
  make_first(kProducts, filled({4, 4}, 1), filled({4, 4}, 2));
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_EQ(answer(), 12 * 20);
}

TEST_F(PlanForWeights, AGroupReadsTheNewOnes) {
  make_first(kPointwise, filled({4, 4}, 1), filled({4, 4}, 2));
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_TRUE(is_made_from_older());
  EXPECT_EQ(answer(), 15);
}

TEST_F(PlanForWeights, AConstantOfWeightsIsFoldedAnew) {
  make_first(kFolded, filled({4, 4}, 1), filled({4, 4}, 2));
  EXPECT_EQ(answer(), 8);
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_FALSE(is_made_from_older());
  EXPECT_EQ(answer(), 60);
  EXPECT_EQ(report().plans[0].hits, 1U);
}

TEST_F(PlanForWeights, ANumberThatWasReadOfAWeightIsReadAnew) {
  make_first(kOfOneElement, filled({4, 4}, 1), filled({4, 4}, 2));
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_EQ(answer(), 3);
}

TEST_F(PlanForWeights, AWeightOfOneNumberMayDecide) {
  make_first(kPointwise, filled({4, 4}, 1), filled({1}, 2));
  swap(filled({4, 4}, 3), filled({1}, 2));
  EXPECT_TRUE(is_made_from_older());
  EXPECT_EQ(answer(), 6);
  swap(filled({4, 4}, 3), filled({1}, 5));
  EXPECT_FALSE(is_made_from_older());
  EXPECT_EQ(answer(), 15);
}

TEST_F(PlanForWeights, ABiasOfOneNumberMayDecide) {
  options_.apply("fusion=off");
  make_first(kBiased, filled({1, 4}, 1), filled({1}, 2));
  ASSERT_EQ(report().plans[0].compiled_steps.size(), 1U);
  swap(filled({1, 4}, 3), filled({1}, 2));
  EXPECT_TRUE(is_made_from_older());
  EXPECT_EQ(answer(), 14);
  swap(filled({1, 4}, 3), filled({1}, 5));
  EXPECT_FALSE(is_made_from_older());
  EXPECT_EQ(answer(), 17);
}

TEST_F(PlanForWeights, OneWeightUnderTwoNamesMayBecomeTwo) {
  const IValue both = filled({4, 4}, 1);
  make_first(kPointwise, both, both);
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_FALSE(is_made_from_older());
  EXPECT_EQ(answer(), 15);
  const IValue again = filled({4, 4}, 2);
  swap(again, again);
  EXPECT_EQ(answer(), 4);
}

TEST_F(PlanForWeights, AWeightThatLiesOtherwiseNeedsAnotherPlan) {
  make_first(kProducts, filled({4, 4}, 1), filled({4, 4}, 2));
  const Tensor turned = Tensor::empty_strided(IntVector{4, 4}, IntVector{1, 4}, ScalarType::kFloat);
  kernels::fill_(turned, Scalar(3));
  swap(turned, filled({4, 4}, 5));
  EXPECT_FALSE(is_made_from_older());
  EXPECT_EQ(answer(), 12 * 20);
}

TEST_F(PlanForWeights, AGroupMultipliesByTransposedWeightsInCompiledCode) {
  const Tensor w = Tensor::empty(IntVector{4, 4}, ScalarType::kFloat);
  std::iota(w.data<float>(), w.data<float>() + w.numel(), 0.0F);
  if (!code_generator_failure({}).empty()) GTEST_SKIP() << "no code generator";
  make_first(kTransposed, w, filled({4, 4}, 2));
  EXPECT_EQ(answer(), 22 * 1 + 38 * 2 + 54 * 3);
  const std::vector<ops::StepReport> steps = report().plans[0].compiled_steps;
  ASSERT_EQ(steps.size(), 1U);
  for (const uint64_t calls : steps[0].twin_calls) EXPECT_EQ(calls, 0U);
}

TEST_F(PlanForWeights, AWriteToTheNewWeightsEndsThePlan) {
  make_first(kPointwise, filled({4, 4}, 1), filled({4, 4}, 2));
  swap(filled({4, 4}, 3), filled({4, 4}, 5));
  EXPECT_EQ(answer(), 15);
  const Tensor written = module_->slots[0].to_tensor();
  kernels::fill_(written, Scalar(7));
  written.storage()->bump_version();
  EXPECT_EQ(answer(), 35);
  EXPECT_EQ(report().invalidations, 1U);
  module_->set("v", filled({4, 4}, 1));
  EXPECT_EQ(answer(), 7);
}

}  // namespace
}  // namespace tierup::tier
