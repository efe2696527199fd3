// Norms over groups of channels, padding, resampling and branches in a net, against the twin.
#include <gtest/gtest.h>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using kernels::InstructionSet;
using kernels::limit_instruction_set;
using L = Line;

IValue factors(std::vector<double> values) {
  std::vector<IValue> items;
  for (const double v : values) items.emplace_back(v);
  return make_ref<ListValue>(Type::simple(TypeKind::kFloat), std::move(items));
}

class NetOfImages : public kernels::OnInstructionSet {};

// So many channels from 3, by a window of 3x3.
int first_layer(Line& line, int64_t channels, uint32_t seed = 1) {
  return line.convolution(0, numbers({channels, 3, 3, 3}, seed, 0.3F),
                          numbers({channels}, seed + 1), 1, 1, 1, 1);
}

TEST_P(NetOfImages, norms_over_groups_and_what_follows) {
  const ThreadCountScope threads(2);
  struct Form {
    int64_t channels, groups, height, width;
  };
  for (const Form& f : {Form{8, 2, 9, 7}, Form{6, 6, 5, 5}, Form{5, 1, 4, 3}, Form{20, 4, 31, 33},
                        Form{33, 11, 6, 1}, Form{70, 7, 40, 41}}) {
    SCOPED_TRACE(f.channels);
    for (const char* after : {"", "aten::relu", "aten::silu", "aten::gelu"}) {
      Line line;
      const int y = first_layer(line, f.channels);
      int n =
          line.add("aten::group_norm", {L::v(y), L::c(f.groups), L::c(numbers({f.channels}, 3)),
                                        L::c(numbers({f.channels}, 4)), L::c(1e-5), L::c(true)});
      if (std::string(after) == "aten::gelu") {
        n = line.add(after, {L::v(n), L::c("none")});
      } else if (*after != '\0') {
        n = line.add(after, {L::v(n)});
      }
      const int sum = line.add("aten::add.Tensor", {L::v(n), L::v(y), L::c(1)});
      expect_same_thrice(*line.make({sum}), numbers({2, 3, f.height, f.width}, 8));
    }
  }
}

TEST_P(NetOfImages, slopes_of_each_channel) {
  const ThreadCountScope threads(2);
  for (const int64_t channels : {1, 5, 16, 33, 70}) {
    SCOPED_TRACE(channels);
    Line line;
    const int y = first_layer(line, channels);
    const int bent = line.add("aten::prelu", {L::v(y), L::c(numbers({channels}, 5))});
    const int next = line.convolution(bent, numbers({channels, channels, 1, 1}, 6, 0.3F),
                                      numbers({channels}, 7), 1, 0, 1, 1);
    const int last = line.add("aten::prelu", {L::v(next), L::c(numbers({channels}, 9))});
    const int sum = line.add("aten::add.Tensor", {L::v(last), L::v(y), L::c(1)});
    expect_same_thrice(*line.make({line.add("aten::relu", {L::v(sum)})}), numbers({2, 3, 9, 7}, 8));
  }
}

TEST_P(NetOfImages, a_norm_of_large_equal_numbers_keeps_their_differences) {
  Line line;
  Tensor bias = numbers({4}, 2);
  for (int i = 0; i < 4; ++i) bias.data<float>()[i] = 300;
  const int y = line.convolution(0, numbers({4, 3, 3, 3}, 1, 0.3F), bias, 1, 1, 1, 1);
  const int n = line.add("aten::instance_norm",
                         {L::v(y), L::c(IValue()), L::c(IValue()), L::c(IValue()), L::c(IValue()),
                          L::c(true), L::c(0.1), L::c(1e-5), L::c(true)});
  const int r = line.add("aten::leaky_relu", {L::v(n), L::c(0.2)});
  const auto object = line.make({r});
  // Some units of the last place of the mean over the deviation, about 3000, which both subtract.
  constexpr float kTolerance = 1e-3F;
  RunContext context;
  std::vector<IValue> input{numbers({2, 3, 40, 50}, 8)};
  const Tensor first = object->run(input, context)[0].to_tensor();
  for (int i = 0; i < 2; ++i) {
    const Tensor next = object->run(input, context)[0].to_tensor();
    for (int64_t j = 0; j < first.numel(); ++j)
      ASSERT_NEAR(first.data<float>()[j], next.data<float>()[j], kTolerance);
  }
}

TEST_P(NetOfImages, instance_norm_by_its_averages_is_a_batch_norm) {
  Line line;
  const int y = first_layer(line, 6);
  const int n =
      line.add("aten::instance_norm",
               {L::v(y), L::c(numbers({6}, 2)), L::c(numbers({6}, 3)), L::c(numbers({6}, 5)),
                L::c(variances(6)), L::c(false), L::c(0.1), L::c(1e-5), L::c(true)});
  expect_same_thrice(*line.make({n}), numbers({2, 3, 7, 9}, 8));
}

TEST_P(NetOfImages, padding_of_every_mode) {
  const ThreadCountScope threads(2);
  for (const int64_t channels : {2, 5, 20}) {
    for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
      SCOPED_TRACE(mode);
      Line line;
      const int y = first_layer(line, channels);
      const bool is_constant = std::string(mode) == "constant";
      const int p = line.add("aten::pad", {L::v(y), L::c(ints({1, 3, 2, 0})), L::c(mode),
                                           L::c(is_constant ? IValue(0.5) : IValue())});
      const int z =
          line.convolution(p, numbers({7, channels, 3, 3}, 6, 0.3F), Tensor(), 1, 0, 1, 1);
      expect_same_thrice(*line.make({z}), numbers({2, 3, 9, 8}, 8));
      expect_same_thrice(*line.make({p}), numbers({2, 3, 9, 8}, 8));
    }
  }
}

TEST_P(NetOfImages, zeros_around_an_image_are_the_windows_own) {
  for (const IntVector& pad :
       {IntVector{0, 1, 0, 1}, IntVector{2, 0, 1, 3}, IntVector{1, 1}, IntVector{-1, 1, 0, -2}}) {
    SCOPED_TRACE(shape_string(pad));
    for (const int64_t stride : {1, 2}) {
      Line line;
      const int y = first_layer(line, 16);
      const int p = line.add("aten::constant_pad_nd", {L::v(y), L::c(ints(pad)), L::c(0)});
      const int z =
          line.convolution(p, numbers({16, 16, 3, 3}, 6, 0.3F), Tensor(), stride, 1, 1, 1);
      expect_same_thrice(*line.make({z}), numbers({2, 3, 12, 11}, 8));
    }
  }
}

TEST_P(NetOfImages, resampling) {
  const ThreadCountScope threads(2);
  for (const int64_t channels : {1, 3, 16, 21}) {
    SCOPED_TRACE(channels);
    const auto check = [&](const char* name, std::vector<net::Arg> arguments) {
      for (const bool goes_on : {false, true}) {
        Line line;
        const int y = first_layer(line, channels);
        std::vector<net::Arg> all{L::v(y)};
        all.insert(all.end(), arguments.begin(), arguments.end());
        int u = line.add(name, all);
        if (goes_on)
          u = line.convolution(u, numbers({5, channels, 3, 3}, 6, 0.3F), Tensor(), 1, 1, 1, 1);
        expect_same_thrice(*line.make({u}), numbers({2, 3, 9, 8}, 8));
      }
    };
    const auto none = L::c(IValue());
    check("aten::upsample_nearest2d.vec", {none, L::c(factors({2, 2}))});
    check("aten::upsample_nearest2d.vec", {none, L::c(factors({1.5, 3.3}))});
    check("aten::upsample_nearest2d.vec", {L::c(ints({7, 19})), none});
    for (const bool aligned : {false, true}) {
      check("aten::upsample_bilinear2d.vec", {none, L::c(aligned), L::c(factors({2, 2}))});
      check("aten::upsample_bilinear2d.vec", {L::c(ints({5, 23})), L::c(aligned), none});
      check("aten::upsample_bilinear2d.vec", {L::c(ints({9, 8})), L::c(aligned), none});
    }
  }
}

// As a trace has it that resamples to the sizes of another value.
TEST_P(NetOfImages, resampling_to_sizes) {
  for (const bool with_factors : {false, true}) {
    const auto factor = L::c(with_factors ? IValue(1.9) : IValue());
    for (const char* name : {"aten::upsample_nearest2d", "aten::upsample_bilinear2d"}) {
      SCOPED_TRACE(name);
      Line line;
      const int y = first_layer(line, 18);
      std::vector<net::Arg> arguments{L::v(y), L::c(ints({17, 15}))};
      if (std::string(name).find("linear") != std::string::npos) arguments.push_back(L::c(false));
      arguments.insert(arguments.end(), {factor, factor});
      const int u = line.add(name, arguments);
      const int z = line.convolution(u, numbers({5, 18, 1, 1}, 6, 0.3F), Tensor(), 1, 0, 1, 1);
      expect_same_thrice(*line.make({z}), numbers({2, 3, 9, 8}, 8));
    }
  }
}

TEST_P(NetOfImages, halves_of_the_channels_gate_each_other) {
  for (const char* name : {"", "aten::tanh", "aten::elu", "aten::relu"}) {
    for (const bool swapped : {false, true}) {
      SCOPED_TRACE(name);
      Line line;
      const int y = first_layer(line, 36);
      const int half = line.add("aten::chunk", {L::v(y), L::c(2), L::c(1)}, 2);
      int f = half + static_cast<int>(swapped);
      const int s = line.add("aten::sigmoid", {L::v(half + static_cast<int>(!swapped))});
      if (std::string(name) == "aten::elu") {
        f = line.add(name, {L::v(f), L::c(1), L::c(1), L::c(1)});
      } else if (*name != '\0') {
        f = line.add(name, {L::v(f)});
      }
      const int g = line.add("aten::mul.Tensor", {L::v(s), L::v(f)});
      expect_same_thrice(*line.make({g}), numbers({2, 3, 9, 8}, 8));
    }
  }
}

TEST_P(NetOfImages, resampling_of_lines) {
  for (const char* name : {"aten::upsample_nearest1d.vec", "aten::upsample_linear1d.vec"}) {
    SCOPED_TRACE(name);
    Line line;
    const int y =
        line.add("aten::conv1d", {L::v(0), L::c(numbers({20, 3, 3}, 1)), L::c(Tensor()),
                                  L::c(ints({1})), L::c(ints({1})), L::c(ints({1})), L::c(1)});
    std::vector<net::Arg> arguments{L::v(y), L::c(ints({31}))};
    if (std::string(name).find("linear") != std::string::npos) arguments.push_back(L::c(false));
    arguments.push_back(L::c(IValue()));
    expect_same_thrice(*line.make({line.add(name, arguments)}), numbers({2, 3, 17}, 8));
  }
}

TEST_P(NetOfImages, pixels_and_channels_change_places) {
  for (const bool goes_on : {false, true}) {
    const auto check = [&](const char* name, int64_t number, int64_t channels, int64_t after) {
      SCOPED_TRACE(name);
      Line line;
      const int y = first_layer(line, channels);
      int s = line.add(name, {L::v(y), L::c(number)});
      if (goes_on) s = line.convolution(s, numbers({6, after, 1, 1}, 6), Tensor(), 1, 0, 1, 1);
      expect_same_thrice(*line.make({s}), numbers({2, 3, 6, 9}, 8));
    };
    check("aten::pixel_shuffle", 2, 12, 3);
    check("aten::pixel_shuffle", 3, 27, 3);
    check("aten::pixel_unshuffle", 3, 4, 36);
    check("aten::channel_shuffle", 4, 24, 24);
  }
}

// Over the last dimensions alone: neighbours of a point (PointNet++, DGCNN).
TEST_P(NetOfImages, the_largest_and_the_mean_of_neighbours) {
  for (const char* name : {"aten::amax", "aten::mean.dim"}) {
    for (const bool keeps : {false, true}) {
      SCOPED_TRACE(name);
      Line line;
      const int y = first_layer(line, 20);
      std::vector<net::Arg> arguments{L::v(y), L::c(ints({-1})), L::c(keeps)};
      if (std::string(name) == "aten::mean.dim") arguments.push_back(L::c(IValue()));
      const int m = line.add(name, arguments);
      expect_same_thrice(*line.make({m}), numbers({2, 3, 11, 16}, 8));
    }
  }
}

// Attention over places, and norms that are written out: reductions over the channels, and what is
// made of them.
TEST_P(NetOfImages, reductions_over_channels) {
  for (const char* name : {"aten::amax", "aten::mean.dim"}) {
    for (const bool goes_on : {false, true}) {
      SCOPED_TRACE(name);
      Line line;
      const int y = first_layer(line, 20);
      std::vector<net::Arg> arguments{L::v(y), L::c(ints({1})), L::c(goes_on)};
      if (std::string(name) == "aten::mean.dim") arguments.push_back(L::c(IValue()));
      int m = line.add(name, arguments);
      if (goes_on) {
        const int d = line.add("aten::sub.Tensor", {L::v(y), L::v(m), L::c(1)});
        const int q = line.add("aten::mul.Tensor", {L::v(d), L::v(d)});
        const int v =
            line.add("aten::mean.dim", {L::v(q), L::c(ints({1})), L::c(true), L::c(IValue())});
        const int e = line.add("aten::add.Scalar", {L::v(v), L::c(1e-3), L::c(1)});
        const int r = line.add("aten::sqrt", {L::v(e)});
        m = line.add("aten::div.Tensor", {L::v(d), L::v(r)});
      }
      expect_same_thrice(*line.make({m}), numbers({2, 3, 11, 9}, 8));
    }
  }
}

TEST_P(NetOfImages, softmax_over_any_dimension) {
  for (const int64_t dim : {0, 1, 2, -1}) {
    SCOPED_TRACE(dim);
    Line line;
    const int y = first_layer(line, 21);
    const int s = line.add("aten::softmax.int", {L::v(y), L::c(dim), L::c(IValue())});
    expect_same_thrice(*line.make({s}), numbers({2, 3, 7, 9}, 8));
  }
}

TEST_P(NetOfImages, functions_of_each_number) {
  Line line;
  const int y = first_layer(line, 20);
  const int g = line.add("aten::sigmoid", {L::v(y)});
  const int r = line.add("aten::reciprocal", {L::v(g)});
  const int m = line.add("aten::mish", {L::v(y)});
  const int u = line.add("aten::rsub.Scalar", {L::v(m), L::c(3), L::c(1)});
  const int w = line.add("aten::sqrt", {L::v(g)});
  const int a = line.add("aten::mul.Tensor", {L::v(r), L::v(u)});
  expect_same_thrice(*line.make({line.add("aten::add.Tensor", {L::v(a), L::v(w), L::c(1)})}),
                     numbers({2, 3, 7, 9}, 8));
}

TEST_P(NetOfImages, rolls_and_slices_with_steps) {
  for (const int64_t channels : {3, 20}) {
    Line line;
    const int y = first_layer(line, channels);
    const int r = line.add("aten::roll", {L::v(y), L::c(ints({3, -2})), L::c(ints({2, 3}))});
    const int s =
        line.add("aten::slice.Tensor", {L::v(r), L::c(2), L::c(1), L::c(IValue()), L::c(2)});
    const int t = line.add("aten::slice.Tensor", {L::v(s), L::c(3), L::c(0), L::c(8), L::c(3)});
    const int z = line.convolution(t, numbers({7, channels, 1, 1}, 6, 0.3F), Tensor(), 1, 0, 1, 1);
    expect_same_thrice(*line.make({r, z}), numbers({2, 3, 8, 11}, 8));
  }
}

TEST_P(NetOfImages, average_pools_that_reach_over_the_end) {
  struct Form {
    int64_t kernel, stride, padding;
    bool counts;
  };
  for (const Form& f : {Form{2, 2, 0, true}, Form{3, 2, 0, true}, Form{3, 2, 1, false},
                        Form{3, 2, 1, true}, Form{3, 1, 1, false}}) {
    SCOPED_TRACE(f.kernel);
    Line line;
    const int y = first_layer(line, 20);
    const int p =
        line.add("aten::avg_pool2d",
                 {L::v(y), L::c(ints({f.kernel, f.kernel})), L::c(ints({f.stride, f.stride})),
                  L::c(ints({f.padding, f.padding})), L::c(true), L::c(f.counts), L::c(IValue())});
    expect_same_thrice(*line.make({p}), numbers({2, 3, 9, 7}, 8));
  }
}

TEST_P(NetOfImages, windows_of_volumes_may_be_flat) {
  Line line;
  const auto convolve = [&](int value, const IntVector& weight, const IntVector& stride,
                            const IntVector& padding, int64_t seed) {
    return line.add("aten::conv3d", {L::v(value), L::c(numbers(weight, seed, 0.1F)),
                                     L::c(numbers({weight[0]}, seed + 1)), L::c(ints(stride)),
                                     L::c(ints(padding)), L::c(ints({1})), L::c(1)});
  };
  int y = convolve(0, {64, 16, 1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 1);
  y = convolve(line.add("aten::relu", {L::v(y)}), {64, 64, 3, 1, 1}, {2, 1, 1}, {1, 0, 0}, 3);
  y = convolve(line.add("aten::relu", {L::v(y)}), {32, 64, 1, 3, 3}, {1, 2, 2}, {0, 0, 1}, 5);
  expect_same_thrice(*line.make({y}), numbers({2, 16, 5, 9, 8}, 8));
}

TEST_P(NetOfImages, volumes_are_pooled) {
  const auto check = [](const char* name, std::vector<net::Arg> arguments) {
    SCOPED_TRACE(name);
    Line line;
    const int y = line.add(
        "aten::conv3d", {L::v(0), L::c(numbers({20, 3, 3, 3, 3}, 1, 0.2F)), L::c(numbers({20}, 2)),
                         L::c(ints({1})), L::c(ints({1})), L::c(ints({1})), L::c(1)});
    std::vector<net::Arg> all{L::v(y)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const int p = line.add(name, all);
    const int z =
        line.add("aten::conv3d", {L::v(p), L::c(numbers({5, 20, 1, 1, 1}, 3, 0.2F)), L::c(Tensor()),
                                  L::c(ints({1})), L::c(ints({0})), L::c(ints({1})), L::c(1)});
    expect_same_thrice(*line.make({z}), numbers({2, 3, 6, 8, 4}, 8));
  };
  check("aten::max_pool3d", {L::c(ints({1, 2, 2})), L::c(ints({1, 2, 2})), L::c(ints({0})),
                             L::c(ints({1})), L::c(false)});
  check("aten::avg_pool3d", {L::c(ints({2})), L::c(ints({2})), L::c(ints({0})), L::c(false),
                             L::c(true), L::c(IValue())});
  check("aten::adaptive_avg_pool3d", {L::c(ints({1, 1, 1}))});
  check("aten::adaptive_avg_pool3d", {L::c(ints({3, 2, 2}))});
}

TEST_P(NetOfImages, volumes_grow_by_windows_side_by_side) {
  for (const IntVector& window : {IntVector{2, 2, 2}, IntVector{1, 2, 3}}) {
    SCOPED_TRACE(shape_string(window));
    Line line;
    const int y = line.add(
        "aten::conv_transpose3d.input",
        {L::v(0), L::c(numbers({3, 5, window[0], window[1], window[2]}, 1)), L::c(numbers({5}, 2)),
         L::c(ints(window)), L::c(ints({0})), L::c(ints({0})), L::c(1), L::c(ints({1}))});
    const int r = line.add("aten::relu", {L::v(y)});
    expect_same_thrice(*line.make({r}), numbers({2, 3, 4, 3, 5}, 8));
  }
}

// A stencil over a few planes (blurs, Laplacians of simulations): they are read as they come.
TEST_P(NetOfImages, few_planes_are_convolved_each_on_its_own) {
  const ThreadCountScope threads(2);
  for (const int64_t channels : {2, 3, 15}) {
    for (const int64_t dilation : {1, 2}) {
      for (const bool has_summand : {false, true}) {
        SCOPED_TRACE(channels);
        Line line;
        const int p = line.add("aten::pad", {L::v(0), L::c(ints({dilation, dilation, 1, 1})),
                                             L::c("replicate"), L::c(IValue())});
        int y = line.convolution(p, numbers({channels, 1, 3, 3}, 6, 0.3F), numbers({channels}, 7),
                                 1, dilation - 1, dilation, channels);
        std::vector<IValue> inputs{numbers({2, channels, 9, 8}, 8)};
        if (has_summand) {
          y = line.add("aten::add.Tensor", {L::v(y), L::v(line.input()), L::c(1)});
          inputs.push_back(numbers({2, channels, 9, 6 + 2 * dilation}, 9));
        }
        const int r = line.add("aten::relu", {L::v(y)});
        expect_same_thrice(*line.make({r}), inputs);
      }
    }
  }
}

// Windows for which oneDNN gathers rows: our own kernel takes some twentieth of the time.
TEST_P(NetOfImages, wide_windows_of_each_channel) {
  for (const int64_t channels : {35, 48}) {
    for (const bool has_summand : {false, true}) {
      SCOPED_TRACE(channels);
      Line line;
      const int first = first_layer(line, channels);
      int y = line.convolution(first, numbers({channels, 1, 31, 31}, 6, 0.1F),
                               numbers({channels}, 7), 1, 15, 1, channels);
      const int n = line.add("aten::batch_norm",
                             {L::v(y), L::c(numbers({channels}, 8)), L::c(numbers({channels}, 9)),
                              L::c(numbers({channels}, 10)), L::c(variances(channels)), L::c(false),
                              L::c(0.1), L::c(1e-5), L::c(true)});
      const int s = line.add("aten::silu", {L::v(n)});
      const int r = has_summand ? line.add("aten::add.Tensor", {L::v(s), L::v(first), L::c(1)}) : s;
      // Each net has a geometry of its own: nothing is noted of one that was measured before.
      const int64_t lines = 40 + 2 * static_cast<int64_t>(GetParam()) + (has_summand ? 1 : 0);
      std::vector<IValue> inputs{numbers({2, 3, lines, 37}, 11)};
      RunContext context;
      const IValue expected = line.make({r})->run(inputs, context)[0];  // By the twin.
      const auto net = line.make({r});
      ASSERT_TRUE(net->prepare(inputs, 2));
      const std::vector<std::string> notes = net->notes();
      EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("channels ") != std::string::npos;
      })) << ::testing::PrintToString(notes);
      expect_close(expected, net->run(inputs, context)[0]);
      EXPECT_EQ(net->twin_calls(), 0);
    }
  }
}

// ShuffleNet's shuffle, written as views: channels stay innermost.
TEST_P(NetOfImages, views_that_join_channels) {
  Line line;
  const int y = first_layer(line, 24);
  const int v = line.add("aten::view", {L::v(y), L::c(ints({2, 3, 8, 6, 9}))});
  const int t = line.add("aten::transpose.int", {L::v(v), L::c(1), L::c(2)});
  const int c = line.add("aten::contiguous", {L::v(t), L::c(0)});
  const int w = line.add("aten::view", {L::v(c), L::c(ints({2, -1, 6, 9}))});
  const int z = line.convolution(w, numbers({24, 1, 3, 3}, 6, 0.3F), Tensor(), 1, 1, 1, 24);
  expect_same_thrice(*line.make({w, z}), numbers({2, 3, 6, 9}, 8));
}

// RepVGG's blocks: a window of 3x3, one of 1x1 and the input itself, each with its norm.
TEST_P(NetOfImages, branches_of_one_input_are_added) {
  const ThreadCountScope threads(2);
  struct Form {
    int64_t in, out, stride, padding, dilation, groups;
  };
  for (const Form& f :
       {Form{16, 16, 1, 1, 1, 1}, Form{12, 20, 2, 1, 1, 1}, Form{16, 16, 1, 1, 1, 16},
        Form{8, 8, 1, 2, 2, 2}, Form{6, 10, 1, 0, 1, 1}, Form{8, 8, 1, 1, 1, 4}}) {
    SCOPED_TRACE(f.out);
    const auto norm = [&](Line& line, int y, uint32_t seed) {
      const int64_t channels = seed == 30 ? f.in : f.out;
      return line.add("aten::batch_norm",
                      {L::v(y), L::c(numbers({channels}, seed)),
                       L::c(numbers({channels}, seed + 1)), L::c(numbers({channels}, seed + 2)),
                       L::c(variances(channels)), L::c(false), L::c(0.1), L::c(1e-5), L::c(true)});
    };
    Line line;
    const int x = first_layer(line, f.in);
    const int wide = line.convolution(x, numbers({f.out, f.in / f.groups, 3, 3}, 11, 0.3F),
                                      Tensor(), f.stride, f.padding, f.dilation, f.groups);
    const int narrow = line.convolution(
        x, numbers({f.out, f.in / f.groups, 1, 1}, 12, 0.3F), numbers({f.out}, 13), f.stride,
        f.padding - f.dilation < 0 ? 0 : f.padding - f.dilation, 1, f.groups);
    // Without room around it, the window of 1x1 has other places, and both stay.
    if (f.padding == 0) {
      const int n = norm(line, wide, 10);
      const int cut =
          line.add("aten::pad", {L::v(norm(line, narrow, 20)), L::c(ints({-1, -1, -1, -1})),
                                 L::c("constant"), L::c(IValue())});
      const int sum = line.add("aten::add.Tensor", {L::v(n), L::v(cut), L::c(1)});
      expect_same_thrice(*line.make({sum}), numbers({2, 3, 12, 11}, 8));
      continue;
    }
    int sum = line.add("aten::add.Tensor",
                       {L::v(norm(line, wide, 10)), L::v(norm(line, narrow, 20)), L::c(1)});
    if (f.in == f.out && f.stride == 1)
      sum = line.add("aten::add.Tensor", {L::v(sum), L::v(norm(line, x, 30)), L::c(1)});
    const int r = line.add("aten::relu", {L::v(sum)});
    const auto object = line.make({r});
    expect_same_thrice(*object, numbers({2, 3, 12, 11}, 8));
    // Of another size, by weights that were packed for the first one.
    expect_same_thrice(*object, numbers({1, 3, 7, 5}, 9));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NetOfImages,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::ops
