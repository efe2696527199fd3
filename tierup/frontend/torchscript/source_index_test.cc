#include "tierup/frontend/torchscript/source_index.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/debug_ranges.h"

namespace tierup::frontend::torchscript {
namespace {

TEST(SourceIndex, RecordNameFollowsTheQualifier) {
  EXPECT_EQ(SourceIndex::record_name("__torch__"), "code/__torch__.py");
  EXPECT_EQ(SourceIndex::record_name("__torch__.torch.nn.___torch_mangle_0"),
            "code/__torch__/torch/nn/___torch_mangle_0.py");
}

TEST(SourceIndex, FilesAreReadOnceAndOnlyWhenAskedFor) {
  int reads = 0;
  SourceIndex index([&](const std::string& record) -> std::optional<std::string> {
    ++reads;
    if (record == "code/__torch__.py")
      return "class A(Module):\n  pass\ndef A(x):\n  pass\ndef f(x):\n  pass\n";
    if (record == "code/__torch__/A.py") return "def hook(x):\n  pass\n";
    if (record == "code/__torch__/empty.py") return "";
    return std::nullopt;
  });
  EXPECT_EQ(reads, 0);
  const auto a = index.find("__torch__.A");
  ASSERT_TRUE(a);
  EXPECT_NE(a.class_def, nullptr) << "a class goes before a function of the same name";
  EXPECT_EQ(a.function, nullptr);
  EXPECT_NE(index.find("__torch__.f").function, nullptr);
  EXPECT_EQ(reads, 1);
  EXPECT_NE(index.find("__torch__.A.hook").function, nullptr);
  EXPECT_FALSE(index.find("__torch__.nothing.x"));
  EXPECT_FALSE(index.find("__torch__.empty.x"));
  EXPECT_FALSE(index.find("plain"));
  EXPECT_FALSE(index.find("__torch__.nothing.y"));
  EXPECT_EQ(reads, 4);
}

TEST(SourceIndex, DemangledNamesAreForDisplay) {
  EXPECT_EQ(demangled("__torch__.a.___torch_mangle_12.C"), "__torch__.a.C");
  EXPECT_EQ(demangled("__torch__.C"), "__torch__.C");
}

IValue line_table() {
  // Text "def f(x):\n  return x\n" of the user's m.py, from line 5 on.
  const IValue strings =
      make_tuple({IValue(""), IValue("def f(x):\n"), IValue("  return x\n"), IValue("m.py")});
  const auto lines = [](IntSpan indices) { return make_tuple({IValue(make_int_list(indices))}); };
  const int64_t both[] = {1, 2};
  const IValue source = make_tuple({lines(both), IValue(3), IValue(5)});
  const IValue nowhere = make_tuple({lines({}), IValue(0), IValue(0)});
  const IValue ranges = make_tuple({
      make_tuple({IValue(0), make_tuple({nowhere, IValue(0), IValue(0)}), IValue(0)}),
      make_tuple({IValue(20), make_tuple({source, IValue(12), IValue(20)}), IValue(1)}),
      make_tuple({IValue(30), make_tuple({source, IValue(12), IValue(9000)}), IValue(1)}),
      make_tuple({IValue("bad")}),
  });
  return make_tuple({IValue("FORMAT_WITH_STRING_TABLE"), strings, ranges});
}

TEST(DebugRanges, FindsTheLastEntryAtOrBeforeAnOffset) {
  const auto ranges = DebugRanges::from_table(line_table());
  EXPECT_EQ(ranges->find(10), nullptr);
  const auto found = ranges->find(25);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->location(), "m.py:6");
  EXPECT_EQ(ranges->find(31), nullptr) << "a range outside of its text is dropped";
}

TEST(DebugRanges, AcceptsInlineTextOfOldFiles) {
  const IValue source = make_tuple({IValue("a\nb\n"), IValue("old.py"), IValue(1)});
  const IValue table =
      make_tuple({make_tuple({IValue(7), make_tuple({source, IValue(2), IValue(3)})})});
  const auto found = DebugRanges::from_table(table)->find(8);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->location(), "old.py:2");
}

TEST(DebugRanges, OddTablesAreIgnored) {
  for (const IValue& table :
       {IValue(), IValue(3), IValue("x"), make_tuple({}), make_tuple({IValue(1), IValue(2)})}) {
    EXPECT_EQ(DebugRanges::from_table(table)->size(), 0u);
  }
}

}  // namespace
}  // namespace tierup::frontend::torchscript
