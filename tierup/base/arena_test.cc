#include "tierup/base/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tierup {
namespace {

TEST(Arena, keeps_what_it_was_given) {
  Arena arena;
  std::vector<std::string_view> copies;
  for (int i = 0; i < 20000; ++i) copies.push_back(arena.copy(std::to_string(i)));
  for (int i = 0; i < 20000; ++i) EXPECT_EQ(copies[static_cast<size_t>(i)], std::to_string(i));
}

TEST(Arena, aligns_every_type) {
  Arena arena;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(*arena.make<char>('x'), 'x');
    const double* number = arena.make<double>(0.5 * i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(number) % alignof(double), 0U);
    EXPECT_EQ(*number, 0.5 * i);
  }
}

TEST(Arena, takes_pieces_larger_than_its_blocks) {
  Arena arena;
  const std::string large(100'000, 'a');
  const std::string_view first = arena.copy(large);
  const std::string_view second = arena.copy("b");
  EXPECT_EQ(first, large);
  EXPECT_EQ(second, "b");
  EXPECT_TRUE(arena.copy(std::string_view()).empty());
}

}  // namespace
}  // namespace tierup
