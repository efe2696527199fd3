// Suppression of boxes by vectors against its definition, box by box.
#include "tierup/kernels/vision/box_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/kernels/vision/regions.h"

namespace tierup::kernels {
namespace {

class BoxesOn : public OnInstructionSet {};

// Corners up to 60 apart, some of them where another box has its own.
template <typename T>
Tensor boxes_of(int64_t count, ScalarType dtype) {
  const Tensor boxes = Tensor::empty(IntVector{count, 4}, dtype);
  for (int64_t i = 0; i < count; ++i) {
    T* const box = boxes.data<T>() + 4 * i;
    for (int64_t k = 0; k < 2; ++k) {
      box[k] = static_cast<T>((i * 7919 + k * 31) % 101);
      box[k + 2] = box[k] + static_cast<T>((i * 104729 + k * 17) % 61);
    }
  }
  return boxes;
}

// Distinct, in no order.
template <typename T>
Tensor scores_of(int64_t count, ScalarType dtype) {
  const Tensor scores = Tensor::empty(IntVector{count}, dtype);
  for (int64_t i = 0; i < count; ++i)
    scores.data<T>()[i] = static_cast<T>(i * 7907 % 10007) / static_cast<T>(10007);
  return scores;
}

template <typename T>
bool overlaps_more(const T* a, const T* b, double threshold) {
  const T w = std::max(T{0}, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const T h = std::max(T{0}, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const T both = w * h;
  const T either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  return static_cast<double>(both / either) > threshold;
}

template <typename T>
std::vector<int64_t> kept_by_definition(const Tensor& boxes, const Tensor& scores,
                                        double threshold) {
  std::vector<int64_t> order(static_cast<size_t>(scores.numel()));
  std::iota(order.begin(), order.end(), 0);
  const T* const score = scores.data<T>();
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
  const T* const box = boxes.data<T>();
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (std::none_of(kept.begin(), kept.end(), [&](int64_t better) {
          return overlaps_more(box + 4 * better, box + 4 * i, threshold);
        }))
      kept.push_back(i);
  }
  return kept;
}

template <typename T>
void expect_the_definitions(ScalarType dtype) {
  for (const int64_t count : {0, 1, 2, 15, 16, 17, 33, 301}) {
    const Tensor boxes = boxes_of<T>(count, dtype);
    const Tensor scores = scores_of<T>(count, dtype);
    if (count > 20) boxes.data<T>()[4 * 20] = std::numeric_limits<T>::quiet_NaN();
    for (const double threshold : {0.0, 0.1, 0.5, 1.0}) {
      EXPECT_EQ(values_of<int64_t>(nms(boxes, scores, threshold)),
                kept_by_definition<T>(boxes, scores, threshold))
          << count << " boxes, threshold " << threshold;
    }
  }
}

TEST_P(BoxesOn, SuppressionOfFloatsIsTheDefinitions) {
  expect_the_definitions<float>(ScalarType::kFloat);
}

TEST_P(BoxesOn, SuppressionOfDoublesIsTheDefinitions) {
  expect_the_definitions<double>(ScalarType::kDouble);
}

// Of floats .3 is above the double.
TEST_P(BoxesOn, AnOverlapIsComparedWithTheThresholdInDouble) {
  const Tensor boxes = boxes_of<float>(2, ScalarType::kFloat);
  const float corners[] = {0, 0, 10, 1, 0, 0, 3, 1};
  std::copy(std::begin(corners), std::end(corners), boxes.data<float>());
  const Tensor scores = scores_of<float>(2, ScalarType::kFloat);
  EXPECT_EQ(nms(boxes, scores, 0.3).numel(), 1);
  EXPECT_EQ(nms(boxes, scores, static_cast<double>(0.3F)).numel(), 2);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, BoxesOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels
