// Resampling of floats by vectors against that of doubles, which goes number by number.
#include "tierup/kernels/vision/resample_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/guarded_fixture.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/kernels/vision/upsample.h"

namespace tierup::kernels {
namespace {

class ResampleOn : public OnInstructionSet {};

float number(int64_t i) { return static_cast<float>(i * 7919 % 1009) / 100 - 5; }

void expect_near_doubles(const Tensor& x, const IntVector& sizes, const ResampleOptions& options) {
  const Scales scales(sizes.size());
  const auto found = values_of<float>(resample(x, sizes, scales, options));
  const auto wanted =
      values_of<double>(resample(to_dtype(x, ScalarType::kDouble), sizes, scales, options));
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 2e-4) << i;
}

TEST_P(ResampleOn, FloatsComeNearDoubles) {
  for (const IntVector& in : {IntVector{2, 3, 7, 5}, IntVector{1, 2, 40, 37},
                              IntVector{1, 1, 1, 16}, IntVector{2, 1, 9, 17}}) {
    const Tensor x = Tensor::empty(in, ScalarType::kFloat);
    for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = number(i);
    for (const IntVector& out :
         {IntVector{31, 29}, IntVector{3, 4}, IntVector{5, 70}, IntVector{1, 1}}) {
      SCOPED_TRACE(::testing::PrintToString(in) + ::testing::PrintToString(out));
      for (const bool corners : {false, true}) {
        expect_near_doubles(x, out, {ResampleMode::kCubic, std::nullopt, corners});
        expect_near_doubles(x, out, {ResampleMode::kLinear, std::nullopt, corners});
      }
      expect_near_doubles(x, out, {ResampleMode::kCubic, FilterKind::kCubic});
      expect_near_doubles(x, out, {ResampleMode::kLinear, FilterKind::kTriangle});
    }
  }
}

// Of many depths, rows and columns few are read.
TEST_P(ResampleOn, VolumesThatShrink) {
  const Tensor x = Tensor::empty(IntVector{2, 2, 11, 13, 19}, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = number(i);
  for (const IntVector& out : {IntVector{2, 3, 4}, IntVector{3, 20, 5}, IntVector{20, 3, 19}})
    expect_near_doubles(x, out, {ResampleMode::kLinear, std::nullopt});
}

TEST_P(ResampleOn, LoopsTouchNothingBehindLines) {
  GuardedFloats source;
  GuardedFloats target;
  for (const int64_t in : {1, 5, 8, 16, 17, 33}) {
    for (const int64_t out : {1, 7, 16, 29}) {
      ResampleTaps taps;
      taps.count = 3;
      for (int64_t i = 0; i < out * taps.count; ++i) {
        taps.index.push_back(in - 1 - i % in);
        taps.weight.push_back(number(i));
      }
      float* from = source.last(in);
      for (int64_t i = 0; i < in; ++i) from[i] = number(i + 3);
      float* to = target.last(out);
      resample_loops().along(from, LineTaps(taps, in, out), to);
      for (int64_t i = 0; i < out; ++i) {
        double sum = 0;
        for (int64_t k = 3 * i; k < 3 * i + 3; ++k)
          sum += from[in - 1 - k % in] * static_cast<double>(number(k));
        EXPECT_NEAR(to[i], sum, 1e-4) << in << " to " << out;
      }
    }
    const int64_t index[] = {1, 0, 0};
    const float weight[] = {0.5F, 2, 0};
    float* lines = source.last(2 * in);
    for (int64_t i = 0; i < 2 * in; ++i) lines[i] = number(i);
    float* to = target.last(in);
    resample_loops().across(lines, index, weight, 3, in, to);
    for (int64_t i = 0; i < in; ++i) EXPECT_NEAR(to[i], lines[in + i] * 0.5 + lines[i] * 2, 1e-5);
    resample_loops().across_two(lines, lines + in, weight, in, to);
    for (int64_t i = 0; i < in; ++i) EXPECT_NEAR(to[i], lines[i] * 0.5 + lines[in + i] * 2, 1e-5);
  }
}

TEST_P(ResampleOn, AWeightOfZeroLeavesItsLineOut) {
  const float lines[] = {1, 2, std::numeric_limits<float>::quiet_NaN(), 3};
  const int64_t index[] = {0, 1, 0};
  const float weight[] = {1, 0, 2};
  float target[2];
  resample_loops().across(lines, index, weight, 3, 2, target);
  EXPECT_EQ(target[0], 3);
  EXPECT_EQ(target[1], 6);
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, ResampleOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels
