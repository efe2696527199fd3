#include "tierup/kernels/memory/short_rows.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

std::vector<int32_t> counted_words(int64_t count) {
  std::vector<int32_t> words(static_cast<size_t>(count));
  std::iota(words.begin(), words.end(), 1);
  return words;
}

// Rows that are dense, apart, one repeated, of one element repeated.
TEST(ShortRows, AreBroughtTogetherHoweverTheyLie) {
  const std::vector<int32_t> from = counted_words(4000);
  constexpr int64_t kWord = sizeof(int32_t);
  for (const int64_t count : {1, 2, 3, 7, 9, 31}) {
    for (const int64_t rows : {1, 2, 5, 100}) {
      for (const int64_t step : {0, 1, 3}) {
        for (const int64_t row_step : {int64_t{0}, int64_t{1}, count, count + 2}) {
          std::vector<int32_t> to(static_cast<size_t>(rows * count + 1), -1);
          copy_short_rows(reinterpret_cast<char*>(to.data()),
                          reinterpret_cast<const char*>(from.data()), kWord, count, step * kWord,
                          rows, row_step * kWord);
          for (int64_t i = 0; i < rows * count; ++i) {
            ASSERT_EQ(to[i], from[i / count * row_step + i % count * step])
                << count << " " << rows << " " << step << " " << row_step;
          }
          ASSERT_EQ(to.back(), -1);
        }
      }
    }
  }
}

void expect_woven(int64_t parts, int64_t count) {
  std::vector<std::vector<int32_t>> from;
  std::vector<const void*> pointers;
  for (int64_t p = 0; p < parts; ++p) {
    from.emplace_back(static_cast<size_t>(count));
    std::iota(from.back().begin(), from.back().end(), static_cast<int32_t>(1000 * p));
  }
  for (const auto& part : from) pointers.push_back(part.data());
  std::vector<int32_t> to(static_cast<size_t>(parts * count + 1), -1);
  weave(to.data(), pointers.data(), parts, count);
  for (int64_t i = 0; i < parts * count; ++i)
    ASSERT_EQ(to[static_cast<size_t>(i)], 1000 * (i % parts) + i / parts) << parts << " " << i;
  ASSERT_EQ(to.back(), -1);
}

TEST(Parts, AreWovenByTurns) {
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (const int64_t parts : {2, 3, 4}) {
      for (const int64_t count : {0, 1, 7, 16, 50, 129}) expect_woven(parts, count);
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

TEST(TurnedRows, AreTheColumnsAndReadNothingElse) {
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (int64_t columns = 1; columns <= 19; ++columns) {
      for (const int64_t rows : {1, 15, 16, 17, 33, 64}) {
        for (const int64_t step : {columns, columns + 5}) {
          const std::vector<int32_t> from = counted_words((rows - 1) * step + columns);
          std::vector<int32_t> to(static_cast<size_t>(columns * 64), -1);
          turn_rows(to.data(), 64, from.data(), step, rows, columns);
          for (int64_t i = 0; i < columns * 64; ++i) {
            const int64_t row = i % 64;
            ASSERT_EQ(to[i], row < rows ? from[row * step + i / 64] : -1)
                << columns << " " << rows << " " << step;
          }
        }
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

TEST(StridedNumbers, AreTakenInOrderAndNothingElseIsRead) {
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (const int64_t step : {-7, -2, -1, 1, 2, 3, 4, 5}) {
      for (int64_t count = 1; count <= 70; ++count) {
        // Exactly as many as are read lie in the memory, so that a sanitizer sees another.
        const std::vector<int32_t> from = counted_words((count - 1) * std::abs(step) + 1);
        const int32_t* first = step < 0 ? &from.back() : from.data();
        std::vector<int32_t> to(static_cast<size_t>(count + 1), -1);
        take_strided(to.data(), first, step, count);
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(to[i], first[i * step]) << step << " " << i;
        ASSERT_EQ(to.back(), -1);
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

}  // namespace
}  // namespace tierup::kernels
