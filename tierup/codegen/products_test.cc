// Small matrix products as members of groups, against tier 0: bit for bit, over shapes, dtypes and
// layouts. Which instruction set tier 0's products use is fixed at the first one, so others are
// other runs of these tests (codegen.cmake).
#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::codegen {
namespace {

class Products : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
};

Tensor random(const IntVector& sizes, uint32_t seed, ScalarType type = ScalarType::kFloat) {
  const Tensor wide = Tensor::empty(sizes, ScalarType::kDouble);
  std::mt19937 source(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < wide.numel(); ++i) wide.data<double>()[i] = normal(source);
  return kernels::convert_to(wide, {type, {}, {}, false});
}

ops::GroupMember product(std::string_view op, std::vector<ops::GroupArgument> arguments) {
  ops::GroupMember made = call(op, std::move(arguments));
  made.multiplies = true;
  return made;
}

Ref<ops::FusionGroup> compiled_products(ops::GroupProgram program, const std::vector<Tensor>& like,
                                        CompileOptions options = process_options()) {
  auto group = make_ref<ops::FusionGroup>(std::move(program));
  std::vector<ops::ValueForm> forms;
  std::vector<IntVector> sizes;
  for (const Tensor& tensor : like) {
    forms.push_back(ops::form_of(*tensor.impl()));
    sizes.emplace_back(tensor.sizes().begin(), tensor.sizes().end());
  }
  group->expect(std::move(forms), std::vector<bool>(like.size(), false));
  group->expect_sizes(std::move(sizes));
  compile(group, Library::instance(), options);
  return group;
}

// tanh(a b) + c, and the product itself.
ops::GroupProgram mixed() {
  ops::GroupProgram program;
  program.input_count = 3;
  program.members.push_back(product("aten::mm", {input(0), input(1)}));
  program.members.push_back(call("aten::tanh", {member(0)}));
  program.members.push_back(
      call("aten::add.Tensor", {member(1), input(2), constant(IValue(int64_t{1}))}));
  program.outputs = {0, 2};
  return program;
}

TEST_F(Products, AConstantThatLiesTransposedIsReadAsItLies) {
  for (const int64_t depth : {7, 20}) {
    ops::GroupProgram program = mixed();
    program.input_count = 1;
    const Tensor turned = kernels::transpose(random({6, depth}, 2), 0, 1);
    program.constants = {turned, kernels::transpose(random({6, 5}, 3), 0, 1)};
    const Tensor x = random({5, depth}, 1);
    const auto group = compiled_products(program, {x, turned, program.constants[1]});
    ASSERT_FALSE(group->refusal()) << group->refusal().text();
    expect_twin(*group, {random({5, depth}, 4)}, fmt::format("a depth of {}", depth));
  }
}

TEST_F(Products, AMatrixProductHasTier0sBitsInEveryShape) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kBFloat16}) {
    for (const int64_t n : {1, 3, 8, 17, 40}) {
      const std::vector<Tensor> like{random({5, 7}, 1, type), random({7, n}, 2, type),
                                     random({n}, 3, type)};
      const auto group = compiled_products(mixed(), like);
      ASSERT_FALSE(group->refusal()) << group->refusal().text();
      for (const auto& [m, k] : {std::pair{5, 7}, {1, 1}, {2, 300}, {9, 0}, {33, 5}, {8, 16}}) {
        const std::vector<Tensor> inputs{random({m, k}, 4, type), random({k, n}, 5, type),
                                         random({n}, 6, type)};
        expect_twin(*group, inputs, fmt::format("{}: {}x{}x{}", scalar_type_name(type), m, k, n));
      }
    }
  }
}

ops::GroupArgument viewed(ops::GroupArgument argument, uint32_t chain) {
  argument.chain = chain;
  return argument;
}

ops::ViewStep step(std::string_view op, std::vector<IValue> rest) {
  return {ops::OpTable::instance().find(op), std::move(rest), -1};
}

// Of one product and what follows it: sigmoid(product) * product.
ops::GroupProgram alone(uint32_t inputs, ops::GroupMember multiplied) {
  ops::GroupProgram program;
  program.input_count = inputs;
  program.members.push_back(std::move(multiplied));
  program.members.push_back(call("aten::sigmoid", {member(0)}));
  program.members.push_back(call("aten::mul.Tensor", {member(1), member(0)}));
  program.outputs = {2};
  return program;
}

struct ProductCase {
  std::string name;
  ops::GroupMember made;
  std::vector<IntVector> sizes;
};

std::vector<ProductCase> product_cases() {
  const auto one = [] { return constant(IValue(int64_t{1})); };
  const auto none = [] { return constant(IValue()); };
  const auto half = [] { return constant(IValue(0.5)); };
  const auto zero = [] { return constant(IValue(int64_t{0})); };
  const auto of = [](std::string_view op, std::vector<ops::GroupArgument> arguments) {
    return product(op, std::move(arguments));
  };
  return {
      {"batches", of("aten::bmm", {input(0), input(1)}), {{3, 5, 7}, {3, 7, 9}}},
      {"two matrices", of("aten::matmul", {input(0), input(1)}), {{6, 8}, {8, 20}}},
      {"heads", of("aten::matmul", {input(0), input(1)}), {{2, 4, 5, 8}, {2, 4, 8, 5}}},
      {"one for all", of("aten::matmul", {input(0), input(1)}), {{2, 4, 5, 8}, {8, 6}}},
      {"broadcast batches", of("aten::matmul", {input(0), input(1)}), {{2, 1, 5, 8}, {4, 8, 5}}},
      {"a row", of("aten::matmul", {input(0), input(1)}), {{8}, {8, 19}}},
      {"a matrix and a vector", of("aten::matmul", {input(0), input(1)}), {{18, 8}, {8}}},
      {"mv", of("aten::mv", {input(0), input(1)}), {{18, 8}, {8}}},
      {"dot", of("aten::dot", {input(0), input(1)}), {{40}, {40}}},
      {"linear", of("aten::linear", {input(0), input(1), input(2)}), {{5, 8}, {20, 8}, {20}}},
      {"linear of batches",
       of("aten::linear", {input(0), input(1), input(2)}),
       {{2, 3, 5, 8}, {7, 8}, {7}}},
      {"linear of a row", of("aten::linear", {input(0), input(1), none()}), {{8}, {33, 8}}},
      {"addmm",
       of("aten::addmm", {input(2), input(0), input(1), one(), one()}),
       {{5, 8}, {8, 17}, {17}}},
      {"scaled addmm",
       of("aten::addmm", {input(2), input(0), input(1), half(), constant(IValue(3.25))}),
       {{5, 8}, {8, 17}, {5, 1}}},
      {"addmm of nothing",
       of("aten::addmm", {input(2), input(0), input(1), zero(), half()}),
       {{5, 8}, {8, 17}, {5, 17}}},
      {"baddbmm",
       of("aten::baddbmm", {input(2), input(0), input(1), half(), half()}),
       {{3, 5, 8}, {3, 8, 4}, {3, 1, 4}}},
  };
}

TEST_F(Products, EveryKindHasTier0sBits) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kBFloat16}) {
    for (const ProductCase& of : product_cases()) {
      std::vector<Tensor> inputs;
      for (const IntVector& sizes : of.sizes) {
        inputs.push_back(random(sizes, static_cast<uint32_t>(inputs.size() + 7), type));
      }
      const auto group =
          compiled_products(alone(static_cast<uint32_t>(inputs.size()), of.made), inputs);
      ASSERT_FALSE(group->refusal()) << group->refusal().text() << of.name;
      expect_twin(*group, inputs, fmt::format("{} of {}", of.name, scalar_type_name(type)));
    }
  }
}

TEST_F(Products, KeepNaNAndInfinityInTheirPlaces) {
  const std::vector<Tensor> inputs{random({5, 7}, 1), random({7, 40}, 2), random({40}, 3)};
  const float special[] = {std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::infinity(), -0.0F, 1e-45F, 3e38F};
  for (int64_t i = 0; i < 5; ++i) inputs[0].data<float>()[i * 7 + i] = special[i];
  for (int64_t i = 0; i < 5; ++i) inputs[1].data<float>()[i * 40 + 3 * i] = special[4 - i];
  expect_twin(*compiled_products(mixed(), inputs), inputs, "special values");
}

// softmax(q k^T / 2 + mask) v, k through a view.
ops::GroupProgram attention() {
  ops::GroupProgram program;
  program.input_count = 4;
  program.chains.push_back(
      {{step("aten::transpose.int", {IValue(int64_t{-2}), IValue(int64_t{-1})})},
       ops::PromotionCategory::kDimensioned});
  program.members.push_back(product("aten::matmul", {input(0), viewed(input(1), 0)}));
  program.members.push_back(call("aten::mul.Scalar", {member(0), constant(IValue(0.5))}));
  program.members.push_back(
      call("aten::add.Tensor", {member(1), input(3), constant(IValue(int64_t{1}))}));
  program.members.push_back(
      call("aten::softmax.int", {member(2), constant(IValue(int64_t{-1})), constant(IValue())}));
  program.members.back().by_rows = true;
  program.members.push_back(product("aten::matmul", {member(3), input(2)}));
  program.members.push_back(call("aten::neg", {member(4)}));
  program.outputs = {5};
  return program;
}

TEST_F(Products, GoThroughSoftmaxAndFurtherProducts) {
  const auto inputs_of = [](int64_t heads, int64_t queries, int64_t keys, int64_t width) {
    return std::vector<Tensor>{random({1, heads, queries, width}, 1),
                               random({1, heads, keys, width}, 2),
                               random({1, heads, keys, width}, 3), random({queries, keys}, 4)};
  };
  const auto group = compiled_products(attention(), inputs_of(4, 16, 16, 8));
  ASSERT_FALSE(group->refusal()) << group->refusal().text();
  expect_twin(*group, inputs_of(4, 16, 16, 8), "as expected");
  expect_twin(*group, inputs_of(2, 1, 19, 8), "one query");
  expect_twin(*group, inputs_of(3, 7, 5, 30), "other sizes");
  expect_twin(*group, inputs_of(8, 64, 64, 64), "more multiplications than are fused", By::kTwin);
}

// A cell's gates: chunks of a sum of two products.
TEST_F(Products, GiveTheirPartsToWhatFollows) {
  ops::GroupProgram program;
  program.input_count = 5;
  for (int64_t part = 0; part < 2; ++part) {
    ops::ViewStep chunk = step("aten::chunk", {IValue(int64_t{2}), IValue(int64_t{1})});
    chunk.part = part;
    program.chains.push_back({{chunk}, ops::PromotionCategory::kDimensioned});
  }
  program.members.push_back(product("aten::linear", {input(0), input(1), input(4)}));
  program.members.push_back(product("aten::linear", {input(2), input(3), constant(IValue())}));
  program.members.push_back(
      call("aten::add.Tensor", {member(0), member(1), constant(IValue(int64_t{1}))}));
  program.members.push_back(call("aten::sigmoid", {viewed(member(2), 0)}));
  program.members.push_back(call("aten::tanh", {viewed(member(2), 1)}));
  program.members.push_back(call("aten::mul.Tensor", {member(3), member(4)}));
  program.members.push_back(call("aten::mul.Tensor", {member(5), input(2)}));
  program.outputs = {5, 6};
  const auto inputs = [](int64_t rows, int64_t n) {
    return std::vector<Tensor>{random({rows, 6}, 1), random({2 * n, 6}, 2), random({rows, n}, 3),
                               random({2 * n, n}, 4), random({2 * n}, 5)};
  };
  const auto group = compiled_products(program, inputs(1, 16));
  ASSERT_FALSE(group->refusal()) << group->refusal().text();
  expect_twin(*group, inputs(1, 16), "a row");
  expect_twin(*group, inputs(9, 10), "more");
}

TEST_F(Products, TakeOtherLayoutsOrLeaveThemToTheTwin) {
  const std::vector<Tensor> like{random({20, 30}, 1), random({30, 40}, 2), random({40}, 3)};
  const auto group = compiled_products(mixed(), like);
  const auto turned = [](const Tensor& tensor) { return kernels::transpose(tensor, 0, 1); };
  expect_twin(*group, {turned(random({30, 20}, 1)), like[1], like[2]}, "rows that lie apart");
  expect_twin(*group, {like[0], turned(random({40, 30}, 2)), like[2]}, "columns that lie apart",
              By::kTwin);
  expect_twin(*group, {like[0], like[1], random({20, 1}, 3)}, "one column", By::kTwin);
  expect_twin(*group, {random({0, 30}, 1), like[1], like[2]}, "no rows");
}

TEST_F(Products, RaiseTier0sErrors) {
  const std::vector<Tensor> like{random({4, 6}, 1), random({6, 8}, 2), random({8}, 3)};
  const auto group = compiled_products(mixed(), like);
  try {
    run_group(*group, {like[0], random({5, 8}, 2), like[2]});
    FAIL() << "shapes that cannot be multiplied";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "mat1 and mat2 shapes cannot be multiplied (4x6 and 5x8)");
  }
  EXPECT_THROW(run_group(*group, {like[0], like[1], random({7}, 3)}), Error);
}

TEST_F(Products, ReadATurnedFactorWhereThereIsOne) {
  ops::GroupProgram program = alone(3, product("aten::linear", {input(0), input(1), constant({})}));
  program.members[0].turned = 2;
  const Tensor weight = random({20, 8}, 2);
  const Tensor turned = kernels::contiguous(kernels::transpose(weight, 0, 1));
  const auto group = compiled_products(program, {random({5, 8}, 1), weight, turned});
  expect_twin(*group, {random({9, 8}, 3), weight, turned}, "a turned weight");
}

TEST_F(Products, ReadConstantsThatNoCallGives) {
  const Tensor weight = random({20, 8}, 2);
  ops::GroupProgram program = alone(1, product("aten::linear", {input(0), input(1), input(2)}));
  program.constants = {weight, random({20}, 4),
                       kernels::contiguous(kernels::transpose(weight, 0, 1))};
  program.members[0].turned = 3;
  std::vector<Tensor> all{random({5, 8}, 1)};
  all.insert(all.end(), program.constants.begin(), program.constants.end());
  const auto group = compiled_products(program, all);
  ASSERT_FALSE(group->refusal()) << group->refusal().text();
  expect_twin(*group, {random({9, 8}, 3)}, "a weight and a bias");
}

// Whoever meets new sizes makes their plan while others run.
TEST_F(Products, RunInManyThreadsOverManySizes) {
  const auto inputs = [](int64_t m) {
    return std::vector<Tensor>{random({m, 7}, 1), random({7, 9}, 2), random({9}, 3)};
  };
  const auto group = compiled_products(mixed(), inputs(5));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 200; ++i) {
        const int64_t m = 1 + (i * 7 + t) % 40;
        const auto fused = run_group(*group, inputs(m));
        const auto plain = run_group(*group, inputs(m), true);
        const bool same = std::memcmp(fused[1].raw(), plain[1].raw(), plain[1].bytes()) == 0;
        wrong += same ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace tierup::codegen
