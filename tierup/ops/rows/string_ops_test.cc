// Strings: expected values were computed by PyTorch's own interpreter.
#include <gtest/gtest.h>

#include <limits>

#include "tierup/ops/table/called_operator.h"

namespace tierup::ops {
namespace {

TEST(StringOps, Searching) {
  EXPECT_EQ(called("aten::find", {"hello", "l"}), "2");
  EXPECT_EQ(called("aten::find", {"hello", "l", 3}), "3");
  EXPECT_EQ(called("aten::find", {"hello", "l", 0, 2}), "-1");
  EXPECT_EQ(called("aten::find", {"hello", "l", -2}), "3");
  EXPECT_EQ(called("aten::find", {"hello", "o", 0, -1}), "4");
  EXPECT_EQ(called("aten::find", {"hello", "o", 0, -2}), "-1");
  EXPECT_EQ(called("aten::find", {"hello", "", 10}), "10");
  EXPECT_EQ(called("aten::find", {"abc", "b", 0, 100}), "1");
  EXPECT_EQ(called("aten::find", {"abc", "b", -100}), "1");
  EXPECT_EQ(called("aten::find", {"abc", "b", 0, -100}), "-1");
  EXPECT_EQ(called("aten::rfind", {"hello", "l"}), "3");
  EXPECT_EQ(called("aten::rfind", {"hello", ""}), "5");
  EXPECT_EQ(called("aten::rfind", {"abc", "", 1, 2}), "2");
  EXPECT_EQ(called("aten::index.str", {"hello", "z"}), "! ValueError: substring not found");
  EXPECT_EQ(called("aten::rindex", {"hello", "l"}), "3");
  EXPECT_EQ(called("aten::count", {"aaa", "aa"}), "1");
  EXPECT_EQ(called("aten::count", {"aaa", "a", 0, -2}), "2");
  EXPECT_EQ(called("aten::count", {"abc", ""}), "4");
  EXPECT_EQ(called("aten::startswith", {"hello", "l", 2}), "True");
  EXPECT_EQ(called("aten::startswith", {"abc", "", 100}), "False");
  EXPECT_EQ(called("aten::endswith", {"hello", "l", 0, -2}), "True");
}

TEST(StringOps, Replacing) {
  EXPECT_EQ(called("aten::replace", {"abab", "a", "x", 1}), "xbab");
  EXPECT_EQ(called("aten::replace", {"a", "a", "aa"}), "aa");
  EXPECT_EQ(called("aten::replace", {"aaa", "a", "b", 0}), "aaa");
  EXPECT_EQ(called("aten::replace", {"ab", "", "-"}), "-a-b-");
}

TEST(StringOps, Splitting) {
  EXPECT_EQ(called("aten::split.str", {" a\tb  c "}), "[a, b, c]");
  EXPECT_EQ(called("aten::split.str", {"a b c", IValue(), 1}), "[a, b, c]");
  EXPECT_EQ(called("aten::split.str", {"a,b,,c", ","}), "[a, b, , c]");
  EXPECT_EQ(called("aten::split.str", {"aXXbXXc", "XX", 1}), "[a, bXXc]");
  EXPECT_EQ(called("aten::split.str", {"abc", ""}), "! ValueError: empty separator");
  EXPECT_EQ(called("aten::rsplit", {"aXXbXXc", "XX", 1}), "[aXXb, c]");
  EXPECT_EQ(called("aten::rsplit", {" a b "}), "[, a, b, ]");
  EXPECT_EQ(called("aten::rsplit", {"abc", ""}), "! ValueError: empty separator");
  EXPECT_EQ(called("aten::splitlines", {"a\n\nb\n"}), "[a, , b]");
  EXPECT_EQ(called("aten::splitlines", {"a\nb", true}), "[a, \n, b]");
  EXPECT_EQ(called("aten::splitlines", {""}), "[]");
  EXPECT_EQ(called("aten::partition", {"a-b-c", "-"}), "(a, -, b-c)");
  EXPECT_EQ(called("aten::rpartition", {"a-b-c", "-"}), "(a-b, -, c)");
  EXPECT_EQ(called("aten::rpartition", {"abc", "x"}), "(, , abc)");
}

TEST(StringOps, Stripping) {
  EXPECT_EQ(called("aten::strip", {"\t a\r \n"}), "a\r") << "a carriage return is not in the set";
  EXPECT_EQ(called("aten::lstrip", {" a "}), "a ");
  EXPECT_EQ(called("aten::rstrip", {"xax", "x"}), "xa");
  EXPECT_EQ(called("aten::strip", {"   "}), "");
}

TEST(StringOps, Bytes) {
  EXPECT_EQ(called("aten::len.str", {"h\xC3\xA9"}), "3");
  EXPECT_EQ(called("aten::__getitem__.str", {"abc", -1}), "c");
  EXPECT_EQ(called("prim::StringIndex", {"abc", 3}), "! string index out of range");
  EXPECT_EQ(called("aten::slice.str", {"abc", IValue(), IValue(), -1}), "cba");
  EXPECT_EQ(called("aten::list", {"abc"}), "[a, b, c]");
  EXPECT_EQ(called("aten::ord", {"\xC3"}), "195");
  EXPECT_EQ(called("aten::ord", {"ab"}), "! String for ord() must be 1 character, found 2");
  EXPECT_EQ(called("aten::chr", {300}), ",");
  EXPECT_EQ(called("aten::chr", {-1}), "! chr() arg not in range(0x110000), found -1");
  EXPECT_EQ(called("aten::hex", {-255}), "-0xff");
  EXPECT_EQ(called("aten::oct", {8}), "0o10");
  EXPECT_EQ(called("aten::bin", {std::numeric_limits<int64_t>::min()}),
            "-0b1" + std::string(63, '0'));
}

TEST(StringText, CaseAndPadding) {
  EXPECT_EQ(called("aten::title", {"they're x1y"}), "They'Re X1Y");
  EXPECT_EQ(called("aten::capitalize", {"hELLO w"}), "Hello w");
  EXPECT_EQ(called("aten::swapcase", {"aBc"}), "AbC");
  EXPECT_EQ(called("aten::center", {"ab", 5, "*"}), "**ab*");
  EXPECT_EQ(called("aten::center", {"a", 4, "*"}), "*a**");
  EXPECT_EQ(called("aten::ljust", {"a", 5, "**"}),
            "! TypeError: The fill character must be exactly one character long");
  EXPECT_EQ(called("aten::zfill", {"-5", 5}), "000-5");
  EXPECT_EQ(called("aten::expandtabs", {"a\n\tb", 4}), "a\n  b");
  EXPECT_EQ(called("aten::expandtabs", {"\tx", -1}), "x");
  EXPECT_TRUE(called("aten::rjust", {"a", int64_t{1} << 60}).starts_with("!"));
}

TEST(StringText, Classes) {
  EXPECT_EQ(called("aten::isupper", {"A1"}), "True");
  EXPECT_EQ(called("aten::isupper", {"1"}), "False");
  EXPECT_EQ(called("aten::istitle", {"A1B"}), "True");
  EXPECT_EQ(called("aten::istitle", {"AB"}), "False");
  EXPECT_EQ(called("aten::isidentifier", {"a1"}), "True");
  EXPECT_EQ(called("aten::isidentifier", {"a_1"}), "False");
  EXPECT_EQ(called("aten::isprintable", {""}), "True");
  EXPECT_EQ(called("aten::isspace", {""}), "False");
}

TEST(StringText, FormatReplacesBracesOnly) {
  EXPECT_EQ(called("aten::format", {"{} {}", 1, "x"}), "1 x");
  EXPECT_EQ(called("aten::format", {"{0} {:.2f} {{}}", 5}), "{0} {:.2f} {5}");
  EXPECT_EQ(called("aten::format", {"{}", 1, 2}), "1");
  EXPECT_EQ(called("aten::format", {"{} {}", 1}), "! Too few arguments for format string: {} {}");
}

TEST(StringText, PercentFormat) {
  const auto percent = [](const char* text, std::vector<IValue> values) {
    return called("aten::percentFormat", {text, make_tuple(std::move(values))});
  };
  EXPECT_EQ(percent("%s %d %i %f", {"a", 3, 4.7, 2.5}), "a 3 4 2.500000");
  EXPECT_EQ(percent("%e %E", {1.5, 2.5}), "1.500000e+00 2.500000E+00");
  EXPECT_EQ(percent("100%%", {}), "100%");
  EXPECT_EQ(percent("%c%c", {65, "z"}), "Az");
  EXPECT_EQ(percent("%f", {123456789.0}), "123456792.000000");
  EXPECT_EQ(called("aten::percentFormat", {"%s", true}), "True");
  EXPECT_EQ(percent("%s %s", {"a"}), "! Too few arguments for format string");
  EXPECT_EQ(percent("%s", {"a", "b"}), "! Too many arguments for format string");
  EXPECT_EQ(percent("%x", {5}),
            "! The specifier %x is not supported in TorchScript format strings");
  EXPECT_EQ(percent("%d", {"a"}), "! %d requires a number for formatting, but got String");
  EXPECT_EQ(percent("a%", {}), "! Incomplete format specifier");
}

TEST(Environment, FlagsWarningsAndDevices) {
  RunContext context;
  std::string warned;
  context.warn = [&](const std::string& message) { warned = message; };
  call_operator("aten::set_grad_enabled", {true}, &context);
  EXPECT_TRUE(call_operator("aten::is_grad_enabled", {}, &context)[0].to_bool());
  call_operator("aten::warn", {"careful"}, &context);
  EXPECT_EQ(warned, "careful");
  EXPECT_EQ(called("aten::is_scripting", {}), "True");
  EXPECT_EQ(called("aten::device.with_index", {"cuda", 2}), "cuda:2");
  EXPECT_EQ(called("prim::index", {Device::parse("cpu")}), "None");
  EXPECT_EQ(called("prim::type", {Device::parse("cuda:1")}), "cuda");
  EXPECT_TRUE(called("aten::save", {1, "x"}).starts_with("!"));
  EXPECT_EQ(called("aten::hash.generic", {"a"}), called("aten::hash.generic", {"a"}));
}

TEST(Environment, Sizes) {
  const IValue a = make_int_list(IntVector{3, 1});
  EXPECT_EQ(called("aten::_infer_size", {a, make_int_list(IntVector{2})}), "[3, 2]");
  EXPECT_EQ(called("aten::_size_if_not_equal", {a, a}), "None");
  EXPECT_EQ(called("aten::_list_to_tensor", {a}), " 3\n 1\n[ CPULongType{2} ]");
}

TEST(Environment, Generators) {
  const IValue generator = call_operator("aten::Generator", {IValue(), 7})[0];
  EXPECT_EQ(called("aten::initial_seed", {generator}), "7");
  call_operator("aten::manual_seed.generator", {generator, 9});
  EXPECT_EQ(called("aten::initial_seed", {generator}), "9");
  EXPECT_EQ(called("aten::initial_seed", {1}), "! expected a Generator but got int");
}

TEST(OpTable, EverySchemaParses) {
  for (const Op* op : OpTable::instance().all()) {
    EXPECT_FALSE(op->schema().name.empty());
    EXPECT_NE(op->kernel(), nullptr) << op->schema().qualified_name();
  }
}

}  // namespace
}  // namespace tierup::ops
