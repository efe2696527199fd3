#include "tierup/kernels/reduce/float_folds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tierup/kernels/reduce/double_folds.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

using Floats = std::vector<float>;
const float kNan = std::nanf("");

constexpr auto kLevels = {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512};

// In any lane, and behind the last whole ones.
TEST(Extremum, OfARunIsFoundInEachPlace) {
  for (const auto most : kLevels) {
    limit_instruction_set(most);
    for (const int64_t count : {1, 31, 32, 33, 64, 95, 130}) {
      for (int64_t at = 0; at < count; ++at) {
        Floats x(static_cast<size_t>(count), 2.0F);
        x[static_cast<size_t>(at)] = 3;
        ASSERT_EQ(float_folds().max(x.data(), count), 3) << count << " " << at;
        x[static_cast<size_t>(at)] = 1;
        ASSERT_EQ(float_folds().min(x.data(), count), 1) << count << " " << at;
        x[static_cast<size_t>(at)] = kNan;
        ASSERT_TRUE(std::isnan(float_folds().max(x.data(), count))) << count << " " << at;
        ASSERT_TRUE(std::isnan(float_folds().min(x.data(), count))) << count << " " << at;
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

// NaN in any lane, and behind the last whole ones.
TEST(Numbers, AreAddedUpWithoutNan) {
  for (const auto most : kLevels) {
    limit_instruction_set(most);
    for (const int64_t count : {1, 3, 16, 33, 64}) {
      for (int64_t at = 0; at < count; ++at) {
        Floats x(static_cast<size_t>(count), 2.0F);
        x[static_cast<size_t>(at)] = kNan;
        const auto rest = static_cast<float>(2 * count - 2);
        ASSERT_EQ(float_folds().numbers(x.data(), count), rest) << count << " " << at;
        Floats sums(x.size(), 1.0F);
        float_folds().add_number_rows(x.data(), 1, count, count, sums.data());
        const std::vector<double> wide(x.begin(), x.end());
        std::vector<double> wide_sums(x.size(), 1.0);
        ASSERT_EQ(double_folds().numbers(wide.data(), count), rest) << count << " " << at;
        double_folds().add_number_rows(wide.data(), 1, count, count, wide_sums.data());
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(sums[static_cast<size_t>(i)], i == at ? 1 : 3) << count << " " << at;
          ASSERT_EQ(wide_sums[static_cast<size_t>(i)], i == at ? 1 : 3) << count << " " << at;
        }
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

TEST(FirstOutside, IsTheFirstNumberBeyondABoundOrNan) {
  for (const auto most : kLevels) {
    limit_instruction_set(most);
    for (int64_t count = 0; count <= 40; ++count) {
      for (int64_t at = 0; at <= count; ++at) {
        for (const float value : {3.0F, kNan, -3.0F, 2.0F}) {
          // One number more than are looked at, which is outside of both.
          std::vector<float> x(static_cast<size_t>(count + 1), 2.0F);
          x[static_cast<size_t>(count)] = kNan;
          if (at < count) x[static_cast<size_t>(at)] = value;
          const int64_t above = value > 2 || std::isnan(value) ? at : count;
          const int64_t below = value < 2 || std::isnan(value) ? at : count;
          ASSERT_EQ(float_folds().first_above(x.data(), count, 2.0F), above) << count << " " << at;
          ASSERT_EQ(float_folds().first_below(x.data(), count, 2.0F), below) << count << " " << at;
          ASSERT_EQ(float_folds().first_above(x.data(), count, kNan), 0);
        }
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

}  // namespace
}  // namespace tierup::kernels
