// Places in a text: their lines are right, and cheap to ask for.
#include "tierup/ir/text_cursor.h"

#include <gtest/gtest.h>

#include <ctime>

namespace tierup::ir {
namespace {

TEST(TextCursor, CountsLinesFromTheFirstOne) {
  TextCursor cursor("a b # c\n\n\"d\n\" e", 5);
  EXPECT_EQ(cursor.line(), 5);
  cursor.expect("a");
  cursor.expect("b");
  EXPECT_EQ(cursor.line(), 5);
  cursor.skip_space();
  EXPECT_EQ(cursor.line(), 7);
  EXPECT_EQ(cursor.expect_string(), "d\n");
  EXPECT_EQ(cursor.line(), 8);
  EXPECT_EQ(cursor.line(), 8);
  cursor.expect("e");
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.line(), 8);
}

TEST(TextCursor, ErrorsSayLineAndColumn) {
  TextCursor cursor("one\n  two");
  cursor.expect("one");
  EXPECT_EQ(cursor.line(), 1);
  try {
    cursor.expect("three");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2, column 3: expected 'three'"),
              std::string::npos)
        << error.what();
  }
}

// Counting from the text's beginning each time took 10 s and more.
TEST(TextCursor, EveryLineOfALongTextIsAskedForInASecondOrTwo) {
  constexpr int kLines = 200'000;
  std::string text;
  for (int i = 0; i < kLines; ++i) text += "a_name_in_a_line\n";
  TextCursor cursor(text);
  const std::clock_t before = std::clock();
  for (int i = 0; i < kLines; ++i) {
    cursor.expect("a_name_in_a_line");
    ASSERT_EQ(cursor.line(), i + 1);
  }
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 3);
}

}  // namespace
}  // namespace tierup::ir
