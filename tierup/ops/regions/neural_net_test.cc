// A compiled net against its twin, over sizes, layouts and dtypes.
#include "tierup/ops/regions/neural_net.h"

#include <gtest/gtest.h>

#include <string>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

Ref<NeuralNet> block(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, int64_t groups) {
  Line line;
  using L = Line;
  const int y = line.convolution(0, numbers({out, in / groups, kernel, kernel}, 1, 0.3F), Tensor(),
                                 stride, padding, dilation, groups);
  const Tensor variance = variances(out);
  const int n =
      line.add("aten::batch_norm",
               {L::v(y), L::c(numbers({out}, 2)), L::c(numbers({out}, 3)), L::c(numbers({out}, 5)),
                L::c(variance), L::c(false), L::c(0.1), L::c(1e-5), L::c(true)});
  const int r = line.add("aten::hardswish", {L::v(n)});
  return line.make({r});
}

TEST(NeuralNet, convolutions_of_many_forms) {
  const ThreadCountScope threads(2);
  struct Form {
    int64_t in, out, kernel, stride, padding, dilation, groups, size;
  };
  for (const Form& f : {Form{3, 16, 3, 2, 1, 1, 1, 17}, Form{16, 24, 1, 1, 0, 1, 1, 9},
                        Form{24, 24, 3, 1, 1, 1, 24, 11}, Form{10, 7, 3, 1, 2, 2, 1, 13},
                        Form{12, 8, 3, 1, 1, 1, 4, 8}, Form{5, 3, 5, 3, 2, 1, 1, 16},
                        Form{16, 32, 1, 1, 0, 1, 1, 1}, Form{20, 20, 3, 2, 1, 1, 20, 41},
                        Form{17, 17, 5, 1, 2, 1, 17, 70}, Form{18, 18, 3, 3, 1, 1, 18, 20}}) {
    const auto object = block(f.in, f.out, f.kernel, f.stride, f.padding, f.dilation, f.groups);
    for (const int64_t batch : {1, 3})
      expect_same_thrice(*object, numbers({batch, f.in, f.size, f.size}, 9));
  }
}

TEST(NeuralNet, the_twin_takes_what_was_not_compiled_for) {
  const auto object = block(8, 8, 3, 1, 1, 1, 1);
  RunContext context;
  Tensor wide = Tensor::empty(IntVector{1, 8, 5, 5}, ScalarType::kDouble);
  std::vector<IValue> doubles{wide};
  EXPECT_THROW(object->run(doubles, context), Error);
  EXPECT_THROW(object->run(doubles, context), Error);
  std::vector<IValue> empty{Tensor::empty(IntVector{0, 8, 5, 5}, ScalarType::kFloat)};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(object->run(empty, context)[0].to_tensor().numel(), 0);
  EXPECT_EQ(object->net_count(), 0U);
}

TEST(NeuralNet, results_lie_as_tier_0s_do) {
  const auto object = block(8, 8, 3, 1, 1, 1, 1);
  const Tensor rows = numbers({1, 6, 5, 8}, 3);
  const Tensor last = rows.as_view(IntVector{1, 8, 6, 5}, IntVector{240, 1, 40, 8}, 0);
  expect_same_thrice(*object, last);
  expect_same_thrice(*object, numbers({1, 8, 6, 5}, 3));
}

TEST(NeuralNet, many_sizes_stay_bounded) {
  const auto object = block(4, 4, 1, 1, 0, 1, 1);
  RunContext context;
  for (int round = 0; round < 3; ++round) {
    for (int64_t n = 1; n <= 256; ++n) {
      std::vector<IValue> one{numbers({n, 4, 2, 2}, 1)};
      EXPECT_EQ(object->run(one, context)[0].to_tensor().size(0), n);
    }
  }
  EXPECT_LE(object->net_count(), 256U);
  EXPECT_GT(object->net_count(), 200U);
}

TEST(NeuralNet, sizes_in_use_take_the_place_of_those_no_longer_used) {
  const auto object = block(4, 4, 1, 1, 0, 1, 1);
  RunContext context;
  const auto call = [&](int64_t n) {
    std::vector<IValue> one{numbers({n, 4, 2, 2}, 1)};
    object->run(one, context);
  };
  for (int64_t n = 1; n <= 300; ++n) {
    for (int i = 0; i < 3; ++i) call(n);
  }
  for (int i = 0; i < 8; ++i) call(1000);
  const int64_t before = object->twin_calls();
  for (int i = 0; i < 8; ++i) call(1000);
  EXPECT_EQ(object->twin_calls(), before);
  EXPECT_LE(object->net_count(), 256U);
}

TEST(NeuralNet, sizes_that_take_turns_are_not_compiled_for_again_and_again) {
  const auto object = block(4, 4, 1, 1, 0, 1, 1);
  RunContext context;
  const auto call = [&](int64_t n) {
    std::vector<IValue> one{numbers({n, 4, 2, 2}, 1)};
    object->run(one, context);
  };
  for (int64_t n = 1; n <= 256; ++n) {
    for (int i = 0; i < 3; ++i) call(n);
  }
  for (int round = 0; round < 100; ++round) {
    for (int64_t n = 1; n <= 300; ++n) call(n);
  }
  EXPECT_GE(object->replacements(), 44U);
  EXPECT_LE(object->replacements(), 1500U);
}

// Tier 0's relu, but for what a test plants: relu(x) + 1 with one infinity.
void off_by_one_and_infinite(OpCall& call) {
  OpTable::instance().find("aten::relu")->kernel()(call);
  const Tensor result = call.results[0].to_tensor();
  for (int64_t i = 0; i < result.numel(); ++i) result.data<float>()[i] += 1;
  result.data<float>()[0] = INFINITY;
}

// Off by one on the samples, and infinite once their last bits are changed.
void off_by_one_then_infinite(OpCall& call) {
  static int calls = 0;
  off_by_one_and_infinite(call);
  const Tensor result = call.results[0].to_tensor();
  if (calls++ % 2 == 0) result.data<float>()[0] = 1;
}

TEST(NeuralNet, no_difference_from_tier_0_hides_behind_an_infinity) {
  for (const KernelFn planted : {&off_by_one_and_infinite, &off_by_one_then_infinite}) {
    Line line;
    const int y = line.convolution(0, numbers({4, 4, 1, 1}, 1), Tensor(), 1, 0, 1, 1);
    const int z = line.add("aten::relu", {Line::v(y)});
    line.replace_kernel(planted);
    const auto object = line.make({z});
    std::vector<IValue> one{numbers({1, 4, 5, 5}, 3)};
    EXPECT_FALSE(object->prepare(one, 1)) << ::testing::PrintToString(object->notes());
  }
}

// A pointwise convolution and a relu, of which tier 0 gives something else where `is_wrong`; as a
// whole call has left it: not compared yet, and run where `is_run`.
Ref<NeuralNet> unconfirmed(Line& line, bool is_wrong, bool is_run) {
  const int y = line.convolution(0, numbers({4, 4, 1, 1}, 1), Tensor(), 1, 0, 1, 1);
  const int z = line.add("aten::relu", {Line::v(y)});
  if (is_wrong) line.replace_kernel(&off_by_one_and_infinite);
  const auto object = line.make({z});
  std::vector<IValue> one{numbers({1, 4, 5, 5}, 3)};
  EXPECT_TRUE(object->prepare_unconfirmed(one, intra_op_threads(), {{100, 25, 5, 1}}));
  RunContext context;
  if (is_run) object->run(one, context);
  EXPECT_EQ(object->twin_calls(), 0);
  return object;
}

bool confirms(bool is_wrong, bool is_run, bool agreed) {
  Line line;  // Has the operators, and outlives the net.
  return unconfirmed(line, is_wrong, is_run)->confirm(agreed);
}

TEST(NeuralNet, what_no_whole_call_has_run_is_compared_with_its_twin) {
  EXPECT_FALSE(confirms(true, false, true));
  EXPECT_TRUE(confirms(true, true, true));
  EXPECT_TRUE(confirms(false, false, true));
}

TEST(NeuralNet, a_whole_call_that_differs_has_each_net_compared_with_its_twin) {
  EXPECT_FALSE(confirms(true, true, false));
  EXPECT_TRUE(confirms(false, true, false));
}

// A steep function of sums near zero makes much of their last bits, whatever order they are in.
TEST(NeuralNet, a_net_may_differ_by_what_the_last_bit_of_its_inputs_makes) {
  using L = Line;
  Line line;
  constexpr int64_t kWidth = 256;
  const int y = line.convolution(0, numbers({kWidth, kWidth, 1, 1}, 1), Tensor(), 1, 0, 1, 1);
  const int m = line.add("aten::batch_norm",
                         {L::v(y), L::c(numbers({kWidth}, 2, 3e4F)), L::c(numbers({kWidth}, 6, 0)),
                          L::c(numbers({kWidth}, 6, 0)), L::c(variances(kWidth)), L::c(false),
                          L::c(0.1), L::c(1e-5), L::c(true)});
  const int z = line.add("aten::tanh", {L::v(m)});
  const auto object = line.make({z});
  std::vector<IValue> one{numbers({1, kWidth, 20, 20}, 3)};
  EXPECT_TRUE(object->prepare(one, 1)) << ::testing::PrintToString(object->notes());
  // Of the trial, the difference, and what the last bit makes.
  EXPECT_EQ(object->notes().size(), 3U) << ::testing::PrintToString(object->notes());
}

TEST(NeuralNet, windows_are_padded_to_the_same_size) {
  using L = Line;
  for (const int64_t kernel : {1, 4, 5}) {
    for (const char* padding : {"same", "valid"}) {
      SCOPED_TRACE(::testing::Message() << kernel << " " << padding);
      Line line;
      const int y =
          line.add("aten::conv2d.padding",
                   {L::v(0), L::c(numbers({16, 5, kernel, kernel}, 1)), L::c(numbers({16}, 2)),
                    L::c(ints({1, 1})), L::c(padding), L::c(ints({1, 1})), L::c(1)});
      expect_same_thrice(*line.make({line.add("aten::gelu", {L::v(y), L::c("none")})}),
                         numbers({2, 5, 9, 8}, 3));
    }
  }
}

TEST(NeuralNet, transposed_convolutions_of_many_forms) {
#ifdef __aarch64__
  GTEST_SKIP() << "oneDNN takes none of their paddings there: such nets stay at tier 0";
#endif
  using L = Line;
  struct Form {
    int64_t in, out, kernel, stride, padding, output_padding, height, width;
  };
  // Kernels as long as the stride, longer, and shorter, so that some results are the bias alone.
  for (const Form& f :
       {Form{8, 16, 4, 2, 1, 0, 5, 7}, Form{16, 16, 2, 2, 0, 0, 6, 4}, Form{5, 3, 3, 2, 1, 1, 7, 5},
        Form{4, 32, 2, 3, 0, 1, 4, 5}, Form{3, 7, 5, 1, 2, 0, 6, 6}, Form{6, 33, 3, 3, 2, 2, 5, 3},
        Form{4, 16, 2, 2, 1, 0, 3, 4}, Form{2, 2, 8, 5, 3, 4, 3, 2}}) {
    SCOPED_TRACE(::testing::Message() << f.kernel << " by " << f.stride);
    Line line;
    const int y = line.add("aten::conv_transpose2d.input",
                           {L::v(0), L::c(numbers({f.in, f.out, f.kernel, f.kernel}, 1, 0.3F)),
                            L::c(numbers({f.out}, 2)), L::c(ints({f.stride, f.stride})),
                            L::c(ints({f.padding, f.padding})), L::c(ints({f.output_padding})),
                            L::c(1), L::c(ints({1, 1}))});
    const int n =
        line.add("aten::batch_norm", {L::v(y), L::c(numbers({f.out}, 2)), L::c(numbers({f.out}, 3)),
                                      L::c(numbers({f.out}, 5)), L::c(variances(f.out)),
                                      L::c(false), L::c(0.1), L::c(1e-5), L::c(true)});
    const int r = line.add("aten::leaky_relu", {L::v(n), L::c(0.2)});
    expect_same_thrice(*line.make({r, line.add("aten::neg", {L::v(r)})}),
                       numbers({2, f.in, f.height, f.width}, 9));
    Line lines;
    const int z = lines.add(
        "aten::conv_transpose1d",
        {L::v(0), L::c(numbers({f.in, f.out, f.kernel}, 1, 0.3F)), L::c({}), L::c(ints({f.stride})),
         L::c(ints({f.padding})), L::c(ints({f.output_padding})), L::c(1), L::c(ints({1}))});
    expect_same_thrice(*lines.make({lines.add("aten::tanh", {L::v(z)})}),
                       numbers({3, f.in, f.width}, 9));
  }
}

TEST(NeuralNet, points_of_a_line_are_pooled_and_reduced) {
  using L = Line;
  for (const int64_t channels : {5, 16, 80}) {
    Line line;
    const int y = line.add(
        "aten::conv1d", {L::v(0), L::c(numbers({channels, 3, 1}, 1)), L::c(numbers({channels}, 2)),
                         L::c(ints({1})), L::c(ints({0})), L::c(ints({1})), L::c(1)});
    const int pooled = line.add(
        "aten::max_pool1d",
        {L::v(y), L::c(ints({3})), L::c(ints({2})), L::c(ints({1})), L::c(ints({1})), L::c(false)});
    const int means = line.add("aten::avg_pool1d", {L::v(pooled), L::c(ints({2})), L::c(ints({2})),
                                                    L::c(ints({0})), L::c(false), L::c(true)});
    const int largest = line.add("aten::amax", {L::v(y), L::c(ints({2})), L::c(false)});
    const int kept = line.add("aten::amax", {L::v(means), L::c(ints({-1})), L::c(true)});
    const int mean =
        line.add("aten::mean.dim", {L::v(means), L::c(ints({2})), L::c(true), L::c({})});
    const auto object = line.make({largest, kept, mean});
    expect_same_thrice(*object, numbers({3, 3, 37}, 8));
    expect_same_thrice(*object, numbers({1, 3, 400}, 8));
  }
}

TEST(NeuralNet, squeeze_and_excite_with_residual) {
  using L = Line;
  Line line;
  const int x = line.convolution(0, numbers({20, 12, 1, 1}, 1), numbers({20}, 2), 1, 0, 1, 1);
  const int a = line.add("aten::silu", {L::v(x)});
  const int p = line.add("aten::adaptive_avg_pool2d", {L::v(a), L::c(ints({1, 1}))});
  const int s = line.convolution(p, numbers({6, 20, 1, 1}, 3), numbers({6}, 4), 1, 0, 1, 1);
  const int t = line.add("aten::relu", {L::v(s)});
  const int u = line.convolution(t, numbers({20, 6, 1, 1}, 5), numbers({20}, 6), 1, 0, 1, 1);
  const int g = line.add("aten::hardsigmoid", {L::v(u)});
  const int m = line.add("aten::mul.Tensor", {L::v(g), L::v(a)});
  const int y = line.convolution(m, numbers({12, 20, 1, 1}, 7), Tensor(), 1, 0, 1, 1);
  const int z = line.add("aten::add.Tensor", {L::v(y), L::v(0), L::c(1)});
  const int q = line.add("aten::max_pool2d", {L::v(z), L::c(ints({3, 3})), L::c(ints({2, 2})),
                                              L::c(ints({1, 1})), L::c(ints({1, 1})), L::c(false)});
  const auto object = line.make({q, z});
  expect_same_thrice(*object, numbers({2, 12, 7, 7}, 8));
}

TEST(NeuralNet, a_transformer_block) {
  using L = Line;
  Line line;
  constexpr int64_t kWidth = 24;
  const int q = line.add("aten::linear",
                         {L::v(0), L::c(numbers({kWidth, kWidth}, 1)), L::c(numbers({kWidth}, 2))});
  const int h = line.add("aten::view", {L::v(q), L::c(ints({2, -1, 4, 6}))});
  const int t = line.add("aten::transpose.int", {L::v(h), L::c(1), L::c(2)});
  const int a =
      line.add("aten::scaled_dot_product_attention",
               {L::v(t), L::v(t), L::v(t), L::c({}), L::c(0.0), L::c(true), L::c({}), L::c(false)});
  const int b = line.add("aten::transpose.int", {L::v(a), L::c(1), L::c(2)});
  const int r = line.add("aten::reshape", {L::v(b), L::c(ints({2, -1, kWidth}))});
  const int o = line.add("aten::linear", {L::v(r), L::c(numbers({kWidth, kWidth}, 3)), L::c({})});
  const int s = line.add("aten::add.Tensor", {L::v(o), L::v(0), L::c(1)});
  const int n =
      line.add("aten::layer_norm", {L::v(s), L::c(ints({kWidth})), L::c(numbers({kWidth}, 4)),
                                    L::c(numbers({kWidth}, 5)), L::c(1e-5), L::c(true)});
  const int f =
      line.add("aten::linear", {L::v(n), L::c(numbers({50, kWidth}, 6)), L::c(numbers({50}, 7))});
  const int e = line.add("aten::gelu", {L::v(f), L::c("none")});
  const auto object = line.make({e, n});
  expect_same_thrice(*object, numbers({2, 7, kWidth}, 8));
  expect_same_thrice(*object, numbers({2, 1, kWidth}, 8));
}

// Scores of attention written out, with what may stand between them and the weights.
struct Scores {
  bool is_scaled, is_capped, is_masked;
};
Ref<NeuralNet> attention_written_out(const Scores& scores) {
  using L = Line;
  Line line;
  const auto heads = [&](uint32_t seed) {
    const int y =
        line.add("aten::linear", {L::v(0), L::c(numbers({24, 24}, seed)), L::c(numbers({24}, 2))});
    const int h = line.add("aten::view", {L::v(y), L::c(ints({2, -1, 4, 6}))});
    return line.add("aten::transpose.int", {L::v(h), L::c(1), L::c(2)});
  };
  const int q = heads(1);
  const int k = heads(5);
  const int t = line.add("aten::transpose.int", {L::v(k), L::c(2), L::c(3)});
  int s = line.add("aten::matmul", {L::v(q), L::v(t)});
  if (scores.is_scaled) s = line.add("aten::div.Tensor", {L::v(s), L::c(Tensor::scalar(2.4))});
  if (scores.is_capped) {
    s = line.add("aten::tanh", {L::v(s)});
    s = line.add("aten::mul.Tensor", {L::v(s), L::c(3.0)});
  }
  if (scores.is_masked)
    s = line.add("aten::add.Tensor", {L::v(s), L::c(numbers({2, 1, 7, 7}, 6)), L::c(1)});
  const int w = line.add("aten::softmax.int", {L::v(s), L::c(-1), L::c({})});
  const int m = line.add("aten::matmul", {L::v(w), L::v(heads(7))});
  const int back = line.add("aten::transpose.int", {L::v(m), L::c(1), L::c(2)});
  return line.make({line.add("aten::reshape", {L::v(back), L::c(ints({2, -1, 24}))})});
}

TEST(NeuralNet, attention_written_out_in_many_ways) {
  for (const Scores& scores :
       {Scores{false, false, false}, Scores{true, false, false}, Scores{false, false, true},
        Scores{true, false, true}, Scores{true, true, false}, Scores{true, true, true}}) {
    SCOPED_TRACE(::testing::Message() << scores.is_scaled << scores.is_capped << scores.is_masked);
    expect_same_thrice(*attention_written_out(scores), numbers({2, 7, 24}, 8));
  }
}

TEST(NeuralNet, what_background_work_throws_is_not_the_calls_failure) {
  class WithoutMemory final : public BackgroundWork {
   public:
    void push(std::function<void()> /*work*/) override { throw std::bad_alloc(); }
  };
  const auto object = block(3, 8, 3, 1, 1, 1, 1);
  WithoutMemory background;
  RunContext context;
  std::vector<IValue> inputs{numbers({1, 3, 9, 9}, 9)};
  const std::vector<IValue> first = object->run(inputs, context);
  context.background = &background;
  for (int i = 0; i < 3; ++i) expect_close(first[0], object->run(inputs, context)[0]);
  EXPECT_EQ(object->net_count(), 0U);
  EXPECT_EQ(object->twin_calls(), 4);
  ASSERT_EQ(object->refusals().size(), 1U) << "it is tried once, and told";
  EXPECT_EQ(object->refusals()[0].reason, net::NetRefusal::kFailed);
}

TEST(NeuralNet, parts_are_shuffled_and_joined) {
  using L = Line;
  Line line;
  const int y = line.convolution(0, numbers({16, 8, 1, 1}, 1), numbers({16}, 2), 1, 0, 1, 1);
  const int a = line.add("aten::chunk", {L::v(y), L::c(2), L::c(1)}, 2);
  const int b = a + 1;
  const int r = line.add("aten::leaky_relu", {L::v(b), L::c(0.2)});
  const int e = line.add("aten::elu", {L::v(a), L::c(0.7), L::c(1), L::c(1)});
  const int z = line.convolution(r, numbers({5, 8, 3, 3}, 3), Tensor(), 1, 1, 1, 1);
  const int j = line.add("aten::cat", {L::v(line.list({z, e, 0})), L::c(-3)});
  const int d = line.add("aten::sub.Tensor", {L::v(j), L::c(0.25), L::c(1)});
  const int c = line.add("aten::clamp", {L::v(d), L::c(-0.5), L::c({})});
  const int f = line.convolution(c, numbers({21, 21, 1, 1}, 4), Tensor(), 1, 0, 1, 1);
  const int g = line.add("aten::sub.Tensor", {L::v(c), L::v(f), L::c(1)});
  const auto object = line.make({g, line.add("aten::div.Tensor", {L::v(j), L::c(3)})});
  expect_same_thrice(*object, numbers({2, 8, 6, 5}, 8));
}

// As tracing writes it: numbers are tensors of float64 without dimensions.
TEST(NeuralNet, gelu_written_out) {
  using L = Line;
  Line line;
  const auto number = [](double x) { return L::c(Tensor::scalar(x)); };
  const int x = line.add("aten::addmm", {L::c(numbers({20}, 1)), L::v(0), L::c(numbers({8, 20}, 2)),
                                         L::c(1), L::c(1)});
  const int h = line.add("aten::mul.Tensor", {L::v(x), number(0.5)});
  const int p = line.add("aten::pow.Tensor_Scalar", {L::v(x), L::c(3.0)});
  const int q = line.add("aten::mul.Tensor", {L::v(p), number(0.044715)});
  const int s = line.add("aten::add.Tensor", {L::v(x), L::v(q), L::c(1)});
  const int t = line.add("aten::mul.Tensor", {L::v(s), number(0.7978845608028654)});
  const int u = line.add("aten::tanh", {L::v(t)});
  const int w = line.add("aten::add.Tensor", {L::v(u), number(1), L::c(1)});
  const int z = line.add("aten::mul.Tensor", {L::v(h), L::v(w)});
  const auto object = line.make({z});
  expect_same_thrice(*object, numbers({5, 8}, 8));
}

// x * rsqrt(mean(x^2) + eps), and a factor per column from either side; one layer of the net.
TEST(NeuralNet, rms_norm_written_out) {
  using L = Line;
  for (const bool has_factors : {false, true}) {
    Line line;
    const int x =
        line.add("aten::to.dtype", {L::v(0), L::c(6), L::c(false), L::c(false), L::c({})});
    const int square = line.add("aten::pow.Tensor_Scalar", {L::v(x), L::c(2)});
    const int mean =
        line.add("aten::mean.dim", {L::v(square), L::c(ints({-1})), L::c(true), L::c({})});
    const int sum = line.add("aten::add.Tensor", {L::v(mean), L::c(Tensor::scalar(1e-6)), L::c(1)});
    const int root = line.add("aten::rsqrt", {L::v(sum)});
    int y = line.add("aten::mul.Tensor", {L::v(x), L::v(root)});
    if (has_factors) y = line.add("aten::mul.Tensor", {L::c(numbers({24}, 3)), L::v(y)});
    const int z = line.add("aten::linear", {L::v(y), L::c(numbers({9, 24}, 1)), L::c({})});
    expect_same_thrice(*line.make({z, y}), numbers({2, 7, 24}, 8));
  }
}

// Halves are turned and joined (rotary embedding), heads are repeated (grouped queries).
TEST(NeuralNet, parts_are_cut_turned_and_repeated) {
  using L = Line;
  Line line;
  const auto part = [&](int value, IValue first, IValue end) {
    return line.add("aten::slice.Tensor", {L::v(value), L::c(3), L::c(first), L::c(end), L::c(1)});
  };
  const int y = line.add("aten::linear", {L::v(0), L::c(numbers({24, 10}, 1)), L::c({})});
  const int heads = line.add("aten::view", {L::v(y), L::c(ints({2, 7, 3, 8}))});
  const int turned = line.add("aten::neg", {L::v(part(heads, 4, int64_t{1} << 62))});
  const int joined =
      line.add("aten::cat", {L::v(line.list({turned, part(heads, {}, -4)})), L::c(-1)});
  const int tall = line.add("aten::unsqueeze", {L::v(joined), L::c(3)});
  const int many =
      line.add("aten::expand", {L::v(tall), L::c(ints({-1, 7, 3, 2, 8})), L::c(false)});
  const int flat = line.add("aten::reshape", {L::v(many), L::c(ints({2, 7, 48}))});
  const int z = line.add("aten::linear", {L::v(flat), L::c(numbers({5, 48}, 2)), L::c({})});
  expect_same_thrice(*line.make({z}), numbers({2, 7, 10}, 8));
}

// An activation before a sum is nothing that oneDNN has fast code for on every processor: a trial
// with what it has instead took seconds.
TEST(NeuralNet, reference_code_is_not_tried) {
  using L = Line;
  Line line;
  const int wide = line.add("aten::linear", {L::v(0), L::c(numbers({128, 64}, 1)), L::c({})});
  const int y = line.add("aten::linear", {L::v(wide), L::c(numbers({64, 128}, 2)), L::c({})});
  const int rectified = line.add("aten::relu", {L::v(y)});
  const int sum = line.add("aten::add.Tensor", {L::v(rectified), L::v(0), L::c(1)});
  const auto object = line.make({sum});
  std::vector<IValue> one{numbers({3000, 64}, 3)};
  ASSERT_TRUE(object->prepare(one, 1)) << ::testing::PrintToString(object->notes());
  if (kernels::instruction_set() == kernels::InstructionSet::kAvx512)
    GTEST_SKIP() << "oneDNN has vectors for it";
  int products = 0;
  for (const std::string& note : object->notes()) {
    if (note.find("128x64") == std::string::npos) continue;
    ++products;
    EXPECT_EQ(note.find("oneDNN"), std::string::npos) << note;
  }
  EXPECT_EQ(products, 1) << ::testing::PrintToString(object->notes());
}

TEST(NeuralNet, prepared_sizes_run_compiled_at_once) {
  const auto object = block(16, 16, 3, 1, 1, 1, 1);
  const ThreadCountScope threads(2);
  std::vector<IValue> one{numbers({1, 16, 12, 12}, 3)};
  EXPECT_TRUE(object->prepare(one, 2)) << ::testing::PrintToString(object->notes());
  RunContext context;
  object->run(one, context);
  EXPECT_EQ(object->twin_calls(), 0);
  EXPECT_FALSE(object->notes().empty());
}

}  // namespace
}  // namespace tierup::ops
