// Means over any dimensions, layer norms that are written out, and factors of parts
// of a value, in a net, against the twin.
#include <gtest/gtest.h>

#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using kernels::InstructionSet;
using kernels::limit_instruction_set;
using L = Line;

class NetOfReductions : public kernels::OnInstructionSet {};

// So many channels from 3, by a window of 3x3.
int some_channels(Line& line, int64_t channels) {
  return line.convolution(0, numbers({channels, 3, 3, 3}, 1, 0.3F), numbers({channels}, 2), 1, 1, 1,
                          1);
}

int reduced_by(Line& line, const std::string& name, int x, const IntVector& dims, bool keep) {
  if (name == "aten::linalg_vector_norm")
    return line.add(name.c_str(), {L::v(x), L::c(2), L::c(ints(dims)), L::c(keep), L::c(IValue())});
  if (name == "aten::amax") return line.add("aten::amax", {L::v(x), L::c(ints(dims)), L::c(keep)});
  return line.add(name.c_str(), {L::v(x), L::c(ints(dims)), L::c(keep), L::c(IValue())});
}

TEST_P(NetOfReductions, over_any_dimensions) {
  const ThreadCountScope threads(2);
  const std::vector<IntVector> all{{0},    {1},       {2},       {3},       {-1},
                                   {0, 1}, {0, 2},    {0, 3},    {1, 2},    {1, 3},
                                   {2, 3}, {0, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 3}};
  for (const char* name : {"aten::mean.dim", "aten::amax", "aten::linalg_vector_norm"}) {
    for (const IntVector& dims : all) {
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(name + shape_string(dims) + (keep ? " kept" : ""));
        for (const int64_t channels : {5, 32}) {
          Line line;
          const int y = some_channels(line, channels);
          expect_same_thrice(*line.make({reduced_by(line, name, y, dims, keep)}),
                             numbers({2, 3, 9, 7}, 8));
        }
      }
    }
  }
}

TEST_P(NetOfReductions, of_all_numbers_keeps_its_dimensions) {
  Line line;
  const int y = some_channels(line, 6);
  expect_same_thrice(*line.make({reduced_by(line, "aten::mean.dim", y, {0, 1, 2, 3}, true)}),
                     numbers({2, 3, 5, 4}, 8));
}

TEST_P(NetOfReductions, a_factor_that_is_added_to_the_product_is_not_overwritten) {
  Line line;
  const int y = some_channels(line, 6);
  const int mean = reduced_by(line, "aten::mean.dim", y, {1, 2, 3}, true);
  const int product = line.add("aten::mul.Tensor", {L::v(y), L::v(mean)});
  const int sum = line.add("aten::add.Tensor", {L::v(product), L::v(y), L::c(1)});
  expect_same_thrice(*line.make({sum}), numbers({2, 3, 9, 7}, 8));
}

// As in ConvNeXt V2: the size of each channel over the points of rows, and what is made of it.
TEST_P(NetOfReductions, response_norms_of_rows) {
  const ThreadCountScope threads(2);
  for (const int64_t channels : {5, 16, 40}) {
    Line line;
    const int x = some_channels(line, channels);
    const int rows = line.add("aten::permute", {L::v(x), L::c(ints({0, 2, 3, 1}))});
    const int q = line.add("aten::pow.Tensor_Scalar", {L::v(rows), L::c(2)});
    const int u = reduced_by(line, "aten::mean.dim", q, {1, 2}, true);
    const int g = line.add("aten::sqrt", {L::v(u)});
    const int e =
        line.add("aten::add.Scalar",
                 {L::v(reduced_by(line, "aten::mean.dim", g, {-1}, true)), L::c(1e-6), L::c(1)});
    const int n = line.add("aten::div.Tensor", {L::v(g), L::v(e)});
    const int p = line.add("aten::mul.Tensor", {L::v(rows), L::v(n)});
    const int f = line.add("aten::mul.Tensor", {L::c(numbers({channels}, 5)), L::v(p)});
    const int s = line.add("aten::add.Tensor", {L::v(f), L::v(rows), L::c(1)});
    const auto net = line.make({s});
    expect_same_thrice(*net, numbers({2, 3, 11, 13}, 8));
    expect_same_thrice(*net, numbers({1, 3, 1, 6}, 9));
    // Squares are not stored, and factors go into the small value.
    std::vector<IValue> input{numbers({2, 3, 9, 8}, 8)};
    net::LayerNet layers = net::resolve(line.program({s}), input);
    net::recognize(layers);
    for (const net::Layer& layer : layers.layers) {
      const IntVector& sizes = layers.values[static_cast<size_t>(layer.output)].sizes;
      const bool is_square =
          layer.kind == net::LayerKind::kBinary && layer.inputs[0] == layer.inputs[1];
      EXPECT_FALSE(is_square);
      if (layer.kind == net::LayerKind::kAffine) EXPECT_EQ(numel_of(sizes), 2 * channels);
    }
  }
}

struct WrittenOut {
  const char* name;
  bool is_over_channels;
  bool multiplies;  // By rsqrt, in place of a division by a root.
  bool has_factors;
  bool reads_the_mean;  // Elsewhere, too: then it stays written out.
};

TEST_P(NetOfReductions, layer_norms_written_out) {
  const ThreadCountScope threads(2);
  for (const WrittenOut& form : {WrittenOut{"channels", true, false, true, false},
                                 WrittenOut{"channels, rsqrt", true, true, false, false},
                                 WrittenOut{"rows", false, true, true, false},
                                 WrittenOut{"rows, root", false, false, false, false},
                                 WrittenOut{"read mean", true, false, true, true}}) {
    SCOPED_TRACE(form.name);
    for (const int64_t channels : {3, 20, 70}) {
      Line line;
      int x = some_channels(line, channels);
      if (!form.is_over_channels)
        x = line.add("aten::permute", {L::v(x), L::c(ints({0, 2, 3, 1}))});
      const IValue dim = ints({form.is_over_channels ? 1 : -1});
      const auto mean = [&](int of) {
        return line.add("aten::mean.dim", {L::v(of), L::c(dim), L::c(true), L::c(IValue())});
      };
      const int u = mean(x);
      const int d = line.add("aten::sub.Tensor", {L::v(x), L::v(u), L::c(1)});
      const int q = line.add("aten::pow.Tensor_Scalar", {L::v(d), L::c(2)});
      const int e = line.add("aten::add.Scalar", {L::v(mean(q)), L::c(1e-6), L::c(1)});
      int y = 0;
      if (form.multiplies) {
        y = line.add("aten::mul.Tensor", {L::v(d), L::v(line.add("aten::rsqrt", {L::v(e)}))});
      } else {
        y = line.add("aten::div.Tensor", {L::v(d), L::v(line.add("aten::sqrt", {L::v(e)}))});
      }
      // Of channels, as w[:, None, None] is traced.
      const auto factors = [&](uint32_t seed) {
        const Tensor weight = numbers({channels}, seed);
        if (!form.is_over_channels) return L::c(weight);
        int view = line.add(
            "aten::slice.Tensor",
            {L::c(weight), L::c(0), L::c(0), L::c(std::numeric_limits<int64_t>::max()), L::c(1)});
        view = line.add("aten::unsqueeze", {L::v(view), L::c(1)});
        return L::v(line.add("aten::unsqueeze", {L::v(view), L::c(2)}));
      };
      if (form.has_factors) {
        const net::Arg weight = factors(5);
        y = line.add("aten::mul.Tensor", {weight, L::v(y)});
        y = line.add("aten::add.Tensor", {L::v(y), factors(6), L::c(1)});
      }
      std::vector<int> results{y};
      if (form.reads_the_mean) results.push_back(u);
      expect_same_thrice(*line.make(results), numbers({2, 3, 9, 8}, 8));
      // One layer reads rows once where the formula reads them four times.
      std::vector<IValue> input{numbers({2, 3, 9, 8}, 8)};
      net::LayerNet layers = net::resolve(line.program(results), input);
      net::recognize(layers);
      const auto norms = std::count_if(layers.layers.begin(), layers.layers.end(), [](auto& layer) {
        return layer.kind == net::LayerKind::kLayerNorm;
      });
      EXPECT_EQ(norms, form.reads_the_mean ? 0 : 1);
    }
  }
}

// x * rsqrt(mean(x^2) + eps) or x / sqrt(mean(x^2) + eps), and a factor for each column.
TEST_P(NetOfReductions, root_mean_square_norms_written_out) {
  for (const bool divides : {false, true}) {
    Line line;
    const int x = line.add("aten::linear", {L::v(0), L::c(numbers({24, 6}, 1)), L::c({})});
    const int square = line.add("aten::pow.Tensor_Scalar", {L::v(x), L::c(2)});
    const int mean = reduced_by(line, "aten::mean.dim", square, {-1}, true);
    const int sum = line.add("aten::add.Tensor", {L::v(mean), L::c(Tensor::scalar(1e-6)), L::c(1)});
    const int root = line.add(divides ? "aten::sqrt" : "aten::rsqrt", {L::v(sum)});
    const int y =
        line.add(divides ? "aten::div.Tensor" : "aten::mul.Tensor", {L::v(x), L::v(root)});
    const int z = line.add("aten::mul.Tensor", {L::c(numbers({24}, 3)), L::v(y)});
    const int result = line.add("aten::linear", {L::v(z), L::c(numbers({9, 24}, 1)), L::c({})});
    expect_same_thrice(*line.make({result}), numbers({2, 7, 6}, 8));
    std::vector<IValue> input{numbers({2, 7, 6}, 8)};
    net::LayerNet layers = net::resolve(line.program({result}), input);
    net::recognize(layers);
    EXPECT_EQ(layers.layers.size(), 3U) << "a norm between two products";
  }
}

// Squeeze and excitation: factors of channels, and a sum behind them.
TEST_P(NetOfReductions, factors_of_channels_and_a_sum) {
  const ThreadCountScope threads(2);
  for (const int64_t channels : {4, 16, 33}) {
    for (const char* after : {"", "aten::relu"}) {
      Line line;
      const int x = some_channels(line, channels);
      const int y =
          line.convolution(x, numbers({channels, channels, 3, 3}, 3, 0.2F), Tensor(), 1, 1, 1, 1);
      const int m = line.add("aten::mean.dim", {L::v(y), L::c(ints({2, 3})), L::c(true), L::c({})});
      const int s = line.add("aten::sigmoid", {L::v(m)});
      const int p = line.add("aten::mul.Tensor", {L::v(y), L::v(s)});
      int r = line.add("aten::add.Tensor", {L::v(x), L::v(p), L::c(1)});
      if (*after != '\0') r = line.add(after, {L::v(r)});
      expect_same_thrice(*line.make({r}), numbers({2, 3, 9, 8}, 8));
    }
  }
}

// The same, by its norm.
TEST_P(NetOfReductions, response_norms_by_vector_norm) {
  const ThreadCountScope threads(2);
  for (const char* name : {"aten::linalg_vector_norm", "aten::norm.ScalarOpt_dim"}) {
    for (const int64_t channels : {5, 16, 40}) {
      Line line;
      const int x = some_channels(line, channels);
      const int rows = line.add("aten::permute", {L::v(x), L::c(ints({0, 2, 3, 1}))});
      const int g = std::string(name) == "aten::norm.ScalarOpt_dim"
                        ? line.add(name, {L::v(rows), L::c(2), L::c(ints({1, 2})), L::c(true)})
                        : reduced_by(line, name, rows, {1, 2}, true);
      const int e =
          line.add("aten::add.Scalar",
                   {L::v(reduced_by(line, "aten::mean.dim", g, {-1}, true)), L::c(1e-6), L::c(1)});
      const int n = line.add("aten::div.Tensor", {L::v(g), L::v(e)});
      const int p = line.add("aten::mul.Tensor", {L::v(rows), L::v(n)});
      const int s = line.add("aten::add.Tensor", {L::v(p), L::v(rows), L::c(1)});
      const auto net = line.make({s});
      expect_same_thrice(*net, numbers({2, 3, 11, 13}, 8));
      expect_same_thrice(*net, numbers({1, 3, 2, 7}, 9));
    }
  }
}

// Axis 1 of what lies row by row: its numbers lie further apart than those of the axes behind it.
TEST_P(NetOfReductions, over_the_second_axis_of_rows) {
  const ThreadCountScope threads(2);
  for (const char* name : {"aten::mean.dim", "aten::amax", "aten::linalg_vector_norm"}) {
    for (const int64_t width : {1, 5, 40}) {
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(width) + (keep ? " kept" : ""));
        Line line;
        const int y = line.add("aten::linear", {L::v(0), L::c(numbers({width, 12}, 1, 0.3F)),
                                                L::c(numbers({width}, 2))});
        const int parts = line.add("aten::view", {L::v(y), L::c(ints({2, 4, -1, 3, width}))});
        expect_same_thrice(*line.make({reduced_by(line, name, parts, {1}, keep)}),
                           numbers({2, 4 * 7 * 3, 12}, 8));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NetOfReductions,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::ops
