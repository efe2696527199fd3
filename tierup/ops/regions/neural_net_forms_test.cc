// Point-wise work of any kind, and other forms of views, joins and reductions, in a net against the
// twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using kernels::InstructionSet;
using L = Line;
using net::LayerKind;

class NetOfForms : public kernels::OnInstructionSet {};

net::LayerNet fused(Line& line, int output, const std::vector<IValue>& inputs) {
  net::LayerNet layers = recognized(line, output, inputs);
  net::fuse(layers, net::FactorCheck::kBeforehand);
  return layers;
}

Tensor image() { return numbers({2, 6, 5, 7}, 3); }

// A convolution, the operator, and a convolution of what it gives, if that is an image again.
void expect_between_convolutions(const char* name, std::vector<net::Arg> rest,
                                 bool is_image = true) {
  SCOPED_TRACE(name);
  Line line;
  const int first = line.convolution(0, numbers({6, 6, 3, 3}, 1), numbers({6}, 2), 1, 1, 1, 1);
  rest.insert(rest.begin(), L::v(first));
  int out = line.add(name, rest);
  if (is_image) out = line.convolution(out, numbers({4, 6, 1, 1}, 5), Tensor(), 1, 0, 1, 1);
  expect_same_thrice(*line.make({out}), image());
}

TEST_P(NetOfForms, functions_stand_between_convolutions) {
  for (const char* name : {"aten::exp", "aten::sin", "aten::cos", "aten::abs", "aten::sign",
                           "aten::floor", "aten::erf", "aten::square", "aten::log_sigmoid"})
    expect_between_convolutions(name, {});
  expect_between_convolutions("aten::softplus", {L::c(1), L::c(20)});
  expect_between_convolutions("aten::threshold", {L::c(0.1), L::c(-0.5)});
  expect_between_convolutions("aten::hardshrink", {L::c(0.2)});
  expect_between_convolutions("aten::pow.Tensor_Scalar", {L::c(4)});
  // What a kind of its own does not take: another scale, another weight.
  expect_between_convolutions("aten::elu", {L::c(1.6732632), L::c(1.0507), L::c(1)});
  expect_between_convolutions("aten::add.Tensor", {L::c(numbers({6, 1, 1}, 4)), L::c(0.5)});
}

TEST_P(NetOfForms, numbers_and_repeated_operands_are_operands_of_functions) {
  expect_between_convolutions("aten::lerp.Scalar", {L::c(numbers({2, 6, 5, 7}, 8)), L::c(0.3)});
  expect_between_convolutions("aten::maximum", {L::c(numbers({6, 1, 7}, 8))});
  expect_between_convolutions("aten::minimum", {L::c(numbers({1}, 8))});
  expect_between_convolutions("aten::addcmul",
                              {L::c(numbers({6, 1, 1}, 8)), L::c(numbers({5, 7}, 9)), L::c(0.5)});
}

// Of other dtypes without dimensions; of one entry, but more dimensions than the image.
TEST_P(NetOfForms, constants_of_one_number_keep_their_dimensions) {
  Tensor wide = numbers({1}, 8);
  wide = Tensor::from_storage(wide.storage(), ScalarType::kFloat, IntVector{1, 1, 1, 1, 1},
                              IntVector{1, 1, 1, 1, 1}, 0);
  expect_between_convolutions("aten::hypot", {L::c(wide)}, false);
  expect_between_convolutions("aten::atan2", {L::c(Tensor::scalar(Scalar(3), ScalarType::kLong))});
  expect_between_convolutions("aten::hypot",
                              {L::c(Tensor::scalar(Scalar(1.5), ScalarType::kDouble))});
}

TEST_P(NetOfForms, a_line_of_functions_is_one_formula) {
  Line line;
  const int x = line.convolution(0, numbers({6, 6, 3, 3}, 1), numbers({6}, 2), 1, 1, 1, 1);
  const int scaled = line.add("aten::mul.Tensor", {L::v(x), L::c(3)});
  const int wave = line.add("aten::sin", {L::v(scaled)});
  const int square = line.add("aten::mul.Tensor", {L::v(wave), L::v(wave)});
  const int part = line.add("aten::div.Tensor", {L::v(square), L::c(3)});
  const int out = line.add("aten::add.Tensor", {L::v(x), L::v(part), L::c(1)});
  const net::LayerNet layers = fused(line, out, {image()});
  ASSERT_EQ(layers.layers.size(), 2U);
  EXPECT_EQ(layers.layers[1].kind, LayerKind::kFunction);
  EXPECT_EQ(layers.layers[1].formula.size(), 5U);
  EXPECT_EQ(layers.layers[1].inputs.size(), 1U);
  expect_same_thrice(*line.make({out}), image());
}

// 0.5 x * (1 + erf(x / sqrt(2))), with the half at either factor, and x * sigmoid(x).
TEST_P(NetOfForms, activations_that_are_written_out_follow_the_convolution) {
  for (const int form : {0, 1, 2}) {
    Line line;
    const int x = line.convolution(0, numbers({6, 6, 3, 3}, 1), numbers({6}, 2), 1, 1, 1, 1);
    int out = 0;
    if (form == 2) {
      out = line.add("aten::mul.Tensor", {L::v(line.add("aten::sigmoid", {L::v(x)})), L::v(x)});
    } else {
      const auto halved = [&](int id) {
        return line.add("aten::mul.Tensor", {L::v(id), L::c(0.5)});
      };
      const int scaled = line.add("aten::div.Tensor", {L::v(x), L::c(std::sqrt(2.0))});
      const int erf = line.add("aten::erf", {L::v(scaled)});
      const int bent = line.add("aten::add.Tensor", {L::v(erf), L::c(1), L::c(1)});
      out = line.add("aten::mul.Tensor",
                     {L::v(form == 0 ? halved(x) : x), L::v(form == 0 ? bent : halved(bent))});
    }
    const net::LayerNet layers = fused(line, out, {image()});
    ASSERT_EQ(layers.layers.size(), 1U) << form;
    ASSERT_EQ(layers.layers[0].epilogue.size(), 1U);
    EXPECT_EQ(layers.layers[0].epilogue[0].activation.function,
              form == 2 ? net::Function::kSwish : net::Function::kGeluErf);
    expect_same_thrice(*line.make({out}), image());
  }
}

TEST_P(NetOfForms, a_gate_of_another_value_is_no_swish) {
  Line line;
  const int x = line.convolution(0, numbers({6, 6, 3, 3}, 1), numbers({6}, 2), 1, 1, 1, 1);
  const int y = line.convolution(0, numbers({6, 6, 3, 3}, 3), numbers({6}, 4), 1, 1, 1, 1);
  const int gate = line.add("aten::sigmoid", {L::v(y)});
  const int out = line.add("aten::mul.Tensor", {L::v(x), L::v(gate)});
  EXPECT_EQ(fused(line, out, {image()}).layers.size(), 3U);
  expect_same_thrice(*line.make({out}), image());
}

TEST_P(NetOfForms, other_factors_are_no_gelu) {
  Line line;
  const int x = line.convolution(0, numbers({6, 6, 3, 3}, 1), numbers({6}, 2), 1, 1, 1, 1);
  const int scaled = line.add("aten::div.Tensor", {L::v(x), L::c(1.5)});
  const int erf = line.add("aten::erf", {L::v(scaled)});
  const int bent = line.add("aten::add.Tensor", {L::v(erf), L::c(1), L::c(1)});
  const int half = line.add("aten::mul.Tensor", {L::v(x), L::c(0.5)});
  const int out = line.add("aten::mul.Tensor", {L::v(half), L::v(bent)});
  EXPECT_EQ(count_of(fused(line, out, {image()}), LayerKind::kFunction), 1);
  expect_same_thrice(*line.make({out}), image());
}

TEST_P(NetOfForms, what_others_read_stays_out_of_a_formula) {
  Line line;
  const int wave = line.add("aten::sin", {L::v(0)});
  const int bent = line.add("aten::exp", {L::v(wave)});
  const int out = line.add("aten::mul.Tensor", {L::v(bent), L::v(bent)});
  const Ref<NeuralNet> net = line.make({wave, out});
  net::LayerNet layers = net::resolve(line.program({wave, out}), std::vector<IValue>{image()});
  net::fuse(layers, net::FactorCheck::kBeforehand);
  EXPECT_EQ(count_of(layers, LayerKind::kFunction), 2);
  expect_same_thrice(*net, image());
}

TEST_P(NetOfForms, long_lines_are_several_formulas) {
  Line line;
  int out = 0;
  for (size_t i = 0; i < 2 * net::kMostFormulaSteps + 1; ++i)
    out = line.add(i % 2 == 0 ? "aten::sin" : "aten::abs", {L::v(out)});
  const net::LayerNet layers = fused(line, out, {image()});
  EXPECT_EQ(layers.layers.size(), 3U);
  for (const net::Layer& layer : layers.layers)
    EXPECT_LE(layer.formula.size(), net::kMostFormulaSteps);
  expect_same_thrice(*line.make({out}), image());
}

TEST_P(NetOfForms, results_are_not_written_over_what_a_view_still_shows) {
  Line line;
  const int x = line.convolution(0, numbers({16, 6, 3, 3}, 1), numbers({16}, 2), 1, 1, 1, 1);
  const int later = line.add("aten::narrow", {L::v(x), L::c(2), L::c(1), L::c(19)});
  const int earlier = line.add("aten::narrow", {L::v(x), L::c(2), L::c(0), L::c(19)});
  const int least = line.add("aten::minimum", {L::v(later), L::v(earlier)});
  const int out = line.convolution(least, numbers({4, 16, 1, 1}, 5), Tensor(), 1, 0, 1, 1);
  expect_same_thrice(*line.make({out}), numbers({1, 6, 20, 20}, 3));
}

TEST_P(NetOfForms, other_views_stand_between_convolutions) {
  for (const char* name : {"aten::detach", "aten::alias", "aten::ravel", "aten::squeeze",
                           "aten::mT", "aten::mH", "aten::adjoint"})
    expect_between_convolutions(name, {}, name == std::string("aten::detach"));
  expect_between_convolutions("aten::clone", {L::c(IValue())});
  expect_between_convolutions("aten::movedim.int", {L::c(1), L::c(-1)}, false);
  expect_between_convolutions("aten::movedim.intlist", {L::c(ints({0, 3})), L::c(ints({1, 0}))},
                              false);
  expect_between_convolutions("aten::moveaxis.int", {L::c(-1), L::c(0)}, false);
  expect_between_convolutions("aten::narrow", {L::c(2), L::c(-4), L::c(3)});
  expect_between_convolutions("aten::view_as", {L::c(numbers({12, 35}, 1))}, false);
  expect_between_convolutions("aten::squeeze.dims", {L::c(ints({0, 1}))});
  expect_between_convolutions("aten::type_as", {L::c(numbers({1}, 1))});
}

TEST_P(NetOfForms, entries_are_repeated_and_turned) {
  expect_between_convolutions("aten::repeat", {L::c(ints({1, 1, 2, 3}))});
  expect_between_convolutions("aten::repeat", {L::c(ints({2, 1, 1, 2, 1}))}, false);
  expect_between_convolutions("aten::tile", {L::c(ints({2, 1}))});
  expect_between_convolutions("aten::repeat_interleave.self_int",
                              {L::c(2), L::c(3), L::c(IValue())});
  expect_between_convolutions("aten::flip", {L::c(ints({3}))});
  expect_between_convolutions("aten::flip", {L::c(ints({-2, -1}))});
}

TEST_P(NetOfForms, reductions_are_taken_over_any_dimensions) {
  for (const IntVector& dims :
       {IntVector{1}, IntVector{3}, IntVector{2, 3}, IntVector{0}, IntVector{1, 2, 3}}) {
    for (const bool keep : {true, false}) {
      expect_between_convolutions("aten::sum.dim_IntList",
                                  {L::c(ints(dims)), L::c(keep), L::c(IValue())}, false);
    }
  }
}

// Sums of whole numbers are whole.
TEST_P(NetOfForms, sums_are_no_multiples_of_means) {
  Tensor ones = numbers({1, 3, 7, 11}, 1);
  std::fill_n(ones.data<float>(), ones.numel(), 1.0F);
  for (const IntVector& dims : {IntVector{1}, IntVector{3}, IntVector{2, 3}}) {
    Line line;
    const int doubled = line.add("aten::add.Tensor", {L::v(0), L::v(0), L::c(1)});
    const int out = line.add("aten::sum.dim_IntList",
                             {L::v(doubled), L::c(ints(dims)), L::c(true), L::c(IValue())});
    const Ref<NeuralNet> net = line.make({out});
    RunContext context;
    for (int i = 0; i < 3; ++i) {
      std::vector<IValue> inputs{ones};
      const Tensor sum = net->run(inputs, context)[0].to_tensor();
      for (int64_t at = 0; at < sum.numel(); ++at)
        EXPECT_EQ(sum.data<float>()[at], 2.0F * static_cast<float>(231 / sum.numel()));
    }
    EXPECT_EQ(net->net_count(), 1U);
  }
}

TEST_P(NetOfForms, lists_are_stacked) {
  for (const auto& [name, rest] :
       std::vector<std::pair<const char*, std::vector<net::Arg>>>{{"aten::stack", {L::c(0)}},
                                                                  {"aten::stack", {L::c(2)}},
                                                                  {"aten::stack", {L::c(-1)}},
                                                                  {"aten::hstack", {}},
                                                                  {"aten::vstack", {}}}) {
    SCOPED_TRACE(name);
    for (const IntVector& sizes : {IntVector{2, 6, 5, 7}, IntVector{9}}) {
      Line line;
      const int a = line.add("aten::relu", {L::v(0)});
      const int b = line.add("aten::tanh", {L::v(0)});
      std::vector<net::Arg> args = rest;
      if (sizes.size() == 1 && !args.empty()) args[0] = L::c(-1);
      args.insert(args.begin(), L::v(line.list({a, b})));
      const int out = line.add(name, args);
      expect_same_thrice(*line.make({out}), numbers(sizes, 4));
    }
  }
}

// Formulas keep NaN and infinities as tier 0 does.
TEST_P(NetOfForms, functions_keep_what_is_no_number) {
  Tensor x = image();
  x.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  x.data<float>()[40] = std::numeric_limits<float>::infinity();
  Line line;
  const int wave = line.add("aten::abs", {L::v(0)});
  const int out = line.add("aten::minimum", {L::v(wave), L::c(numbers({1}, 2, 1e9F))});
  const Ref<NeuralNet> net = line.make({out});
  RunContext context;
  std::vector<IValue> first;
  for (int i = 0; i < 3; ++i) {
    std::vector<IValue> inputs{x};
    const std::vector<IValue> now = net->run(inputs, context);
    if (i == 0) first = now;
    const float* a = first[0].to_tensor().data<float>();
    const float* b = now[0].to_tensor().data<float>();
    for (int64_t k = 0; k < x.numel(); ++k)
      EXPECT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NetOfForms,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::ops
