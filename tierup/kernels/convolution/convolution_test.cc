#include "tierup/kernels/convolution/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/convolution_backward.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes, ScalarType dtype, int64_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kLong);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<int64_t>()[i] = (i * 7 + seed) % 5 - 2;
  return to_dtype(result, dtype);
}

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(shape_string(a.sizes()), shape_string(b.sizes()));
  const Tensor left = contiguous(to_dtype(a, ScalarType::kDouble));
  const Tensor right = contiguous(to_dtype(b, ScalarType::kDouble));
  for (int64_t i = 0; i < left.numel(); ++i)
    ASSERT_EQ(left.data<double>()[i], right.data<double>()[i]) << i;
}

TEST(Convolution, AnInputSmallerThanTheKernelIsNamedByAllItsSizes) {
  const Tensor input = Tensor::empty(IntVector{1, 1, 2, 4}, ScalarType::kFloat);
  const Tensor weight = Tensor::empty(IntVector{1, 1, 3, 2}, ScalarType::kFloat);
  fill(input, 0);
  fill(weight, 0);
  try {
    convolution(input, weight, Tensor(), {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("(2 x 4). Kernel size: (3 x 2)"), std::string::npos);
  }
}

// f32 goes through oneDNN, f64 through patches and the own matrix product.
TEST(Convolution, BothEnginesAgree) {
  for (const int64_t groups : {1, 2, 4}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t dilation : {1, 2}) {
        const IntVector sizes{2, 4, 9, 8};
        const IntVector kernel{8, 4 / groups, 3, 2};
        const auto run = [&](ScalarType dtype) {
          return convolution(numbers(sizes, dtype, 0), numbers(kernel, dtype, 1),
                             numbers({8}, dtype, 2), {stride}, {1, 1}, {dilation}, false, {0},
                             groups);
        };
        expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
        const auto run_transposed = [&](ScalarType dtype) {
          return convolution(numbers({2, 8, 5, 4}, dtype, 0),
                             numbers({8, 4 / groups, 3, 2}, dtype, 1), numbers({4}, dtype, 2),
                             {stride}, {1}, {dilation}, true, {stride - 1}, groups);
        };
        expect_same(run_transposed(ScalarType::kFloat), run_transposed(ScalarType::kDouble));
      }
    }
  }
}

// Without steps between its points a transposed one is done as a plain one, where points are many.
TEST(Convolution, TransposedOnesWithoutStepsAgreeInBothWidths) {
  for (const int64_t groups : {1, 3}) {
    for (const IntVector& padding : {IntVector{0, 0}, IntVector{1, 3}, IntVector{2, 5}}) {
      for (const int64_t dilation : {1, 2}) {
        const auto run = [&](ScalarType dtype) {
          return convolution(numbers({2, 3, 25, 31}, dtype, 0),
                             numbers({3, 6 / groups, 3, 4}, dtype, 1), numbers({6}, dtype, 2), {1},
                             padding, {dilation}, true, {dilation - 1}, groups);
        };
        expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
      }
    }
  }
}

// What oneDNN has no code of its own for goes through the own product, whatever the layout.
TEST(Convolution, TransposedOnesOfFewChannelsAgreeInBothWidthsAndLayouts) {
  for (const int64_t out : {1, 3}) {
    for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
      const auto run = [&](ScalarType dtype) {
        const Tensor input = contiguous(numbers({2, 6, 5, 4}, dtype, 0), format);
        return convolution(input, contiguous(numbers({6, out, 4, 4}, dtype, 1), format),
                           numbers({out}, dtype, 2), {2}, {1}, {1}, true, {0}, 1);
      };
      const auto run_along_rows = [&](ScalarType dtype) {
        const Tensor input = contiguous(numbers({1, 32, 3, 4}, dtype, 0), format);
        return convolution(input, contiguous(numbers({32, out, 1, 16}, dtype, 1), format),
                           numbers({out}, dtype, 2), {1, 8}, {0}, {1}, true, {0}, 1);
      };
      expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
      expect_same(run_along_rows(ScalarType::kFloat), run_along_rows(ScalarType::kDouble));
      EXPECT_TRUE(run(ScalarType::kFloat).is_contiguous(format)) << out;
    }
    const auto run = [&](ScalarType dtype) {
      return convolution(numbers({1, 32, 4}, dtype, 0), numbers({32, out, 16}, dtype, 1),
                         numbers({out}, dtype, 2), {8}, {0}, {1}, true, {0}, 1);
    };
    expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
  }
}

// f32 volumes go through planes, and those that grow through patches.
TEST(Convolution, VolumesAgreeInBothWidths) {
  const ThreadCountScope threads(2);
  for (const int64_t groups : {1, 2, 6}) {
    for (const IntVector& step : {IntVector{1, 1, 1}, IntVector{2, 1, 2}}) {
      for (const IntVector& spread : {IntVector{1, 1, 1}, IntVector{3, 2, 1}}) {
        const auto run = [&](ScalarType dtype) {
          return convolution(numbers({2, 6, 7, 9, 8}, dtype, 0),
                             numbers({12, 6 / groups, 3, 2, 3}, dtype, 1), numbers({12}, dtype, 2),
                             step, {2, 1, 0}, spread, false, {0}, groups);
        };
        expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
        const auto grow = [&](ScalarType dtype) {
          return convolution(numbers({2, 6, 3, 4, 5}, dtype, 0),
                             numbers({6, 12 / groups, 2, 3, 2}, dtype, 1), numbers({12}, dtype, 2),
                             step, {1, 0, 1}, spread, true, {0}, groups);
        };
        expect_same(grow(ScalarType::kFloat), grow(ScalarType::kDouble));
      }
    }
  }
}

// Padding alone is read.
TEST(Convolution, VolumesOfEmptyPlanesGiveTheBias) {
  const auto run = [](ScalarType dtype) {
    return convolution(numbers({4, 3, 5, 0, 4}, dtype, 0), numbers({2, 3, 2, 2, 2}, dtype, 1),
                       numbers({2}, dtype, 2), {1}, {1}, {1}, false, {0}, 1);
  };
  expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
}

TEST(Convolution, SamePaddingKeepsTheSizeWithAnEvenKernel) {
  const auto run = [](ScalarType dtype) {
    return conv_mode(numbers({3, 7, 6}, dtype, 0), numbers({2, 3, 4, 3}, dtype, 1), Tensor(), {1},
                     "same", {1}, 1);
  };
  const Tensor out = run(ScalarType::kFloat);
  EXPECT_EQ(shape_string(out.sizes()), "[2, 7, 6]");
  expect_same(out, run(ScalarType::kDouble));
}

TEST(Convolution, ChannelsLastInGivesChannelsLastOut) {
  const Tensor input =
      contiguous(numbers({2, 3, 5, 6}, ScalarType::kFloat, 0), MemoryFormat::kChannelsLast);
  const Tensor weight = numbers({4, 3, 3, 3}, ScalarType::kFloat, 1);
  const Tensor out = conv(input, weight, Tensor(), {1}, {1}, {1}, 1);
  EXPECT_TRUE(out.is_contiguous(MemoryFormat::kChannelsLast));
  expect_same(out, conv(contiguous(input), weight, Tensor(), {1}, {1}, {1}, 1));
}

// Few and many weights, groups, one image and several: each is cut in its own way.
TEST(Convolution, TheWeightsGradientDoesNotDependOnTheNumberOfThreads) {
  struct Case {
    IntVector input;
    IntVector weight;
    int64_t groups;
  };
  const Case cases[] = {{{7, 16, 24, 24}, {16, 16, 3, 3}, 1},
                        {{3, 64, 7, 7}, {256, 64, 3, 3}, 1},
                        {{1, 24, 33, 31}, {24, 1, 5, 5}, 24},
                        {{1, 48, 40, 17}, {48, 48, 3, 3}, 1},
                        {{4, 8, 20, 20}, {12, 4, 3, 3}, 2}};
  for (const Case& c : cases) {
    const Tensor weight = numbers(c.weight, ScalarType::kFloat, 1);
    const auto run = [&](const Tensor& input, int threads) {
      const ThreadCountScope scope(threads);
      const Tensor w = to_dtype(weight, input.dtype());
      const Tensor grad = conv(input, w, Tensor(), {1}, {1}, {1}, c.groups);
      return std::get<1>(convolution_backward(grad, input, w, std::nullopt, {1}, {1}, {1}, false,
                                              {0}, c.groups, {false, true, false}));
    };
    // Small integers: every order of adding up gives the same.
    expect_same(run(numbers(c.input, ScalarType::kFloat, 0), 2),
                run(numbers(c.input, ScalarType::kDouble, 0), 2));
    const Tensor input = numbers(c.input, ScalarType::kFloat, 0);
    for (int64_t i = 0; i < input.numel(); ++i) {
      input.data<float>()[i] = std::sin(static_cast<float>(i));
    }
    const Tensor one = run(input, 1);
    for (const int threads : {2, 3}) {
      const Tensor several = run(input, threads);
      EXPECT_EQ(std::memcmp(one.raw(), several.raw(), one.bytes()), 0) << threads;
    }
  }
}

// Bands of rows, of which the first and the last lie partly in the padding, and windows over one
// channel, of every count of numbers that are summed at a time.
TEST(Convolution, TheWeightsGradientIsThatOfPatches) {
  struct Case {
    IntVector input, weight, stride, padding, dilation;
    int64_t groups;
  };
  const Case cases[] = {
      {{1, 16, 37, 9}, {24, 16, 3, 3}, {1}, {1}, {1}, 1},
      {{1, 16, 37, 9}, {24, 16, 3, 3}, {2}, {1}, {1}, 1},
      {{1, 8, 64, 5}, {8, 8, 5, 3}, {3, 2}, {8, 2}, {4, 1}, 1},
      {{1, 8, 40, 6}, {40, 8, 1, 1}, {1}, {4}, {1}, 1},
      {{2, 6, 300}, {8, 6, 7}, {2}, {3}, {1}, 1},
      {{2, 3, 9, 21}, {3, 1, 3, 3}, {1}, {1}, {1}, 3},
      {{2, 3, 9, 21}, {6, 1, 3, 3}, {2}, {1}, {1}, 3},
      {{1, 2, 30, 33}, {2, 1, 9, 9}, {1}, {4}, {1}, 2},
      {{1, 2, 300, 40}, {2, 1, 5, 5}, {1}, {2}, {1}, 2},
      {{1, 2, 11, 13}, {2, 1, 2, 5}, {3, 2}, {1, 6}, {2, 3}, 2},
      {{3, 4, 50}, {4, 1, 13}, {1}, {12}, {2}, 4},
      {{1, 2, 7, 1}, {2, 1, 4, 1}, {1}, {0}, {1}, 2},
  };
  for (const Case& c : cases) {
    const auto run = [&](ScalarType dtype) {
      const Tensor input = numbers(c.input, dtype, 0);
      const Tensor w = numbers(c.weight, dtype, 1);
      const Tensor y = conv(input, w, Tensor(), c.stride, c.padding, c.dilation, c.groups);
      const Tensor grad = numbers(IntVector(y.impl()->sizes), dtype, 3);
      return std::get<1>(convolution_backward(grad, input, w, std::nullopt, c.stride, c.padding,
                                              c.dilation, false, {0}, c.groups,
                                              {false, true, false}));
    };
    // Small integers: every order of adding up gives the same.
    expect_same(run(ScalarType::kFloat), run(ScalarType::kDouble));
  }
}

// A transposed convolution is linear in input and weight: <y, g> = <x, dx> = <w, dw>.
TEST(Convolution, TakesOutputPaddingOfAStrideOrMoreBackward) {
  const IntVector stride{3, 2};
  const IntVector padding{1, 2};
  const IntVector dilation{4, 4};
  const IntVector output_padding{2, 3};
  const auto product = [](const Tensor& a, const Tensor& b) {
    const Tensor left = contiguous(to_dtype(a, ScalarType::kDouble));
    const Tensor right = contiguous(to_dtype(b, ScalarType::kDouble));
    double sum = 0;
    for (int64_t i = 0; i < left.numel(); ++i)
      sum += left.data<double>()[i] * right.data<double>()[i];
    return sum;
  };
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble}) {
    const Tensor x = numbers({2, 2, 4, 4}, dtype, 0);
    const Tensor w = numbers({2, 2, 4, 5}, dtype, 1);
    const Tensor y = convolution(x, w, {}, stride, padding, dilation, true, output_padding, 2);
    const Tensor g = numbers(IntVector(y.impl()->sizes), dtype, 3);
    const auto [dx, dw, db] = convolution_backward(g, x, w, std::nullopt, stride, padding, dilation,
                                                   true, output_padding, 2, {true, true, false});
    ASSERT_EQ(shape_string(dx.sizes()), shape_string(x.sizes()));
    EXPECT_NE(product(y, g), 0);
    EXPECT_EQ(product(x, dx), product(y, g));
    EXPECT_EQ(product(w, dw), product(y, g));
  }
}

TEST(Convolution, RefusesKernelsWithoutPointsOrOutputs) {
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble}) {
    const Tensor input = numbers({1, 2, 5, 5}, dtype, 0);
    for (const IntVector& kernel : {IntVector{2, 3, 0, 1}, IntVector{2, 0, 1, 1}}) {
      const Tensor weight = numbers(kernel, dtype, 1);
      EXPECT_THROW(convolution(input, weight, Tensor(), {1}, {0}, {1}, true, {0}, 1), Error);
    }
    EXPECT_THROW(conv(input, numbers({3, 2, 0, 1}, dtype, 1), Tensor(), {1}, {0}, {1}, 1), Error);
  }
}

// Sizes of expanded and of empty tensors know no bound.
TEST(Convolution, RefusesNumbersWhoseProductsHaveNone) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLong = int64_t{1} << 40;
  const auto kFloat = ScalarType::kFloat;
  const Tensor input = numbers({1, 4, 5, 5}, kFloat, 0);
  const Tensor weight = numbers({4, 2, 3, 3}, kFloat, 1);
  for (const bool transposed : {false, true}) {
    const auto refuses = [&](const Tensor& x, const Tensor& w, int64_t step, int64_t groups) {
      EXPECT_THROW(convolution(x, w, Tensor(), {step}, {0}, {step}, transposed, {0}, groups), Error)
          << transposed << " " << groups;
    };
    refuses(input, weight, 1, kMost);
    refuses(input, weight, kMost, 1);
    const Tensor long_input = Tensor::from_storage(
        input.storage(), kFloat, IntVector{1, 4, kLong, 5}, IntVector{0, 0, 0, 1}, 0);
    const Tensor long_kernel = Tensor::from_storage(
        weight.storage(), kFloat, IntVector{4, 4, kLong, 3}, IntVector{0, 0, 0, 1}, 0);
    refuses(input, long_kernel, int64_t{1} << 30, 1);
    if (transposed) refuses(long_input, weight, int64_t{1} << 30, 2);
  }
  const Tensor empty = Tensor::empty(IntVector{4, 0, int64_t{1} << 61, 3}, kFloat);
  EXPECT_THROW(conv_mode(input, empty, Tensor(), {1}, "same", {int64_t{1} << 30}, 1), Error);
}

TEST(Convolution, RefusesChannelsThatDoNotFit) {
  const Tensor input = numbers({1, 3, 5, 5}, ScalarType::kFloat, 0);
  const Tensor weight = numbers({4, 2, 3, 3}, ScalarType::kFloat, 1);
  EXPECT_THROW(conv(input, weight, Tensor(), {1}, {0}, {1}, 1), Error);
  EXPECT_THROW(
      conv(input, numbers({4, 3, 9, 9}, ScalarType::kFloat, 1), Tensor(), {1}, {0}, {1}, 1), Error);
  EXPECT_THROW(
      conv(input, numbers({4, 3, 3, 3}, ScalarType::kFloat, 1), Tensor(), {0}, {0}, {1}, 1), Error);
}

}  // namespace
}  // namespace tierup::kernels
