#include "tierup/kernels/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/recurrent/recurrent_weights.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

TEST(Recurrent, RefusesMoreLayersThanParametersMake) {
  const std::vector<Tensor> params = {counted({2, 3}), counted({2, 2}), counted({2}), counted({2})};
  // The last one's four parameters for each are four in 64 bits.
  for (const int64_t layers : {int64_t{0}, INT64_MIN, INT64_MAX, (int64_t{1} << 62) + 1}) {
    for (const bool bidirectional : {false, true}) {
      RecurrentOptions options{.kind = RecurrentKind::kTanh};
      options.num_layers = layers;
      options.bidirectional = bidirectional;
      EXPECT_EQ(
          message_of([&] {
            run_recurrent(counted({1, 1, 3}), counted({1, 1, 2}), Tensor(), params, options, true);
          }),
          "rnn: 4 parameters do not make " + std::to_string(layers) + " layers");
    }
  }
}

Tensor numbers(const IntVector& sizes, int64_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data<float>()[i] = static_cast<float>((i * 7919 + seed * 31) % 1001) / 4000.0F - 0.125F;
  return result;
}

Tensor as_doubles(const Tensor& t) { return t.defined() ? to_dtype(t, ScalarType::kDouble) : t; }

void expect_near(const Tensor& floats, const Tensor& doubles) {
  ASSERT_EQ(floats.defined(), doubles.defined());
  if (!floats.defined()) return;
  const Tensor left = contiguous(floats);
  const Tensor right = contiguous(doubles);
  ASSERT_EQ(left.numel(), right.numel());
  for (int64_t i = 0; i < left.numel(); ++i)
    ASSERT_NEAR(left.data<float>()[i], right.data<double>()[i],
                1e-5 * std::max(1.0, std::abs(right.data<double>()[i])))
        << i;
}

struct Sizes {
  int64_t steps, batch, input, size, layers;
  bool bidirectional;
};

// f32 against f64, which runs plain loops.
void expect_as_in_doubles(RecurrentKind kind, int64_t gates, const Sizes& s,
                          RecurrentWeights* packed) {
  RecurrentOptions options{.kind = kind};
  options.num_layers = s.layers;
  options.bidirectional = s.bidirectional;
  const int64_t directions = s.bidirectional ? 2 : 1;
  std::vector<Tensor> params;
  for (int64_t i = 0; i < s.layers * directions; ++i) {
    const int64_t in = i < directions ? s.input : directions * s.size;
    params.push_back(numbers({gates * s.size, in}, 4 * i));
    params.push_back(numbers({gates * s.size, s.size}, 4 * i + 1));
    params.push_back(numbers({gates * s.size}, 4 * i + 2));
    params.push_back(numbers({gates * s.size}, 4 * i + 3));
  }
  std::vector<Tensor> wide;
  for (const Tensor& t : params) wide.push_back(as_doubles(t));
  const Tensor x = numbers({s.steps, s.batch, s.input}, 50);
  const IntVector states{s.layers * directions, s.batch, s.size};
  const Tensor hidden = numbers(states, 51);
  const Tensor cell = kind == RecurrentKind::kLstm ? numbers(states, 52) : Tensor();
  options.packed = packed;
  const RecurrentResult floats = run_recurrent(x, hidden, cell, params, options, false);
  options.packed = nullptr;
  const RecurrentResult doubles =
      run_recurrent(as_doubles(x), as_doubles(hidden), as_doubles(cell), wide, options, false);
  expect_near(floats.output, doubles.output);
  expect_near(floats.hidden, doubles.hidden);
  expect_near(floats.cell, doubles.cell);
}

TEST(Recurrent, OddSizesGiveInFloatsWhatTheyGiveInDoublesOnAllInstructionSets) {
  constexpr std::pair<RecurrentKind, int64_t> kKinds[] = {{RecurrentKind::kLstm, 4},
                                                          {RecurrentKind::kGru, 3},
                                                          {RecurrentKind::kTanh, 1},
                                                          {RecurrentKind::kRelu, 1}};
  for (const InstructionSet most :
       {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (const auto& [kind, gates] : kKinds) {
      for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, false}, Sizes{3, 3, 5, 7, 2, true},
                             Sizes{4, 17, 33, 20, 1, true}, Sizes{2, 1, 70, 67, 2, false},
                             Sizes{2, 7, 81, 67, 1, false}, Sizes{3, 2, 41, 40, 1, true}}) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(most) << ": " << gates << " gates of " << s.size);
        RecurrentWeights packed;
        for (RecurrentWeights* kept : {static_cast<RecurrentWeights*>(nullptr), &packed, &packed})
          expect_as_in_doubles(kind, gates, s, kept);
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

// The longer sequences come first; what one thread gives, several give.
TEST(Recurrent, ThreadsThatTakeRowsThroughAllStepsGiveTheBitsOfOne) {
  constexpr int64_t kSize = 64;
  const std::vector<Tensor> params{numbers({4 * kSize, 9}, 1), numbers({4 * kSize, kSize}, 2),
                                   numbers({4 * kSize}, 3),    numbers({4 * kSize}, 4),
                                   numbers({4 * kSize, 9}, 5), numbers({4 * kSize, kSize}, 6),
                                   numbers({4 * kSize}, 7),    numbers({4 * kSize}, 8)};
  Tensor lengths = Tensor::empty(IntVector{40}, ScalarType::kLong);
  int64_t rows = 0;
  for (int64_t i = 0; i < 40; ++i) rows += lengths.data<int64_t>()[i] = 13 - i / 4;
  const Tensor data = numbers({rows, 9}, 9);
  RecurrentOptions options{.kind = RecurrentKind::kLstm};
  options.bidirectional = true;
  RecurrentWeights packed;  // The library's products depend on how many threads there are.
  options.packed = &packed;
  const auto run = [&](int threads) {
    const ThreadCountScope scope(threads);
    start_workers();
    const IntVector states{2, 13, kSize};
    return run_recurrent_packed(data, lengths, numbers(states, 10), numbers(states, 11), params,
                                options);
  };
  const RecurrentResult one = run(1);
  const RecurrentResult several = run(3);
  EXPECT_EQ(values_of<float>(contiguous(one.output)), values_of<float>(contiguous(several.output)));
  EXPECT_EQ(values_of<float>(contiguous(one.hidden)), values_of<float>(contiguous(several.hidden)));
  EXPECT_EQ(values_of<float>(contiguous(one.cell)), values_of<float>(contiguous(several.cell)));
}

TEST(Recurrent, KeptMatricesArePackedAnewWhenTheyAreWritten) {
  RecurrentWeights packed;
  const Tensor weight = numbers({8, 4}, 1);
  const auto before = packed.panels_of(weight);
  EXPECT_EQ(packed.panels_of(weight), before);
  const size_t bytes = packed.bytes();
  fill(weight, 2);
  weight.storage()->bump_version();
  const auto after = packed.panels_of(weight);
  EXPECT_EQ(after[0], 2);
  EXPECT_NE(before[0], 2);
  EXPECT_EQ(packed.bytes(), bytes);
}

TEST(Recurrent, ACellThatKeepsItsMatricesIsAStepOfTheLayer) {
  RecurrentWeights packed;
  const std::array<Tensor, 4> weights{numbers({12, 3}, 1), numbers({12, 4}, 2), numbers({12}, 3),
                                      numbers({12}, 4)};
  const Tensor x = numbers({2, 3}, 5);
  const Tensor h = numbers({2, 4}, 6);
  const Tensor kept =
      std::get<0>(run_recurrent_cell(RecurrentKind::kGru, x, h, Tensor(), weights, &packed));
  const Tensor plain = gru_cell(x, h, weights[0], weights[1], weights[2], weights[3]);
  expect_near(kept, as_doubles(plain));
  EXPECT_GT(packed.bytes(), 0);
}

}  // namespace
}  // namespace tierup::kernels
