// Lists and dicts: expected values were computed by PyTorch's own interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/ops/table/called_operator.h"

namespace tierup::ops {
namespace {

IValue ints(std::initializer_list<int64_t> values) {
  return make_int_list(IntSpan(values.begin(), values.size()));
}
IValue strings(std::initializer_list<const char*> values) {
  auto list = make_ref<ListValue>(Type::str());
  for (const char* value : values) list->items.emplace_back(value);
  return list;
}
IValue floats(std::initializer_list<double> values) {
  auto list = make_ref<ListValue>(Type::floating());
  for (const double value : values) list->items.emplace_back(value);
  return list;
}
// {"a": 1, "b": 2}
IValue letters() {
  auto dict = make_ref<DictValue>(Type::str(), Type::integer());
  dict->set("a", 1);
  dict->set("b", 2);
  return dict;
}
// Runs an operator that writes its first argument, and shows that afterwards.
std::string changed(std::string_view name, std::vector<IValue> args) {
  const IValue self = args[0];
  const std::string result = called(name, std::move(args));
  return result.starts_with("!") ? result : to_text(self);
}

TEST(ListOps, ItemsByPosition) {
  EXPECT_EQ(called("aten::__getitem__.t", {ints({1, 2}), -1}), "2");
  EXPECT_EQ(called("aten::__getitem__.t", {ints({1, 2}), 2}), "! list index out of range");
  EXPECT_EQ(called("aten::__getitem__.t", {ints({1, 2}), -3}), "! list index out of range");
  EXPECT_EQ(changed("aten::_set_item.t", {ints({1, 2}), -2, 9}), "[9, 2]");
  EXPECT_EQ(changed("aten::_set_item.t", {ints({1, 2}), 5, 9}), "! list index out of range");
  EXPECT_EQ(changed("aten::Delete.t", {ints({1, 2}), 0}), "[2]");
  EXPECT_EQ(changed("aten::Delete.t", {ints({1, 2}), 7}), "! list index out of range");
}

TEST(ListOps, Growing) {
  EXPECT_EQ(called("aten::append.t", {ints({1}), 2}), "[1, 2]");
  const IValue self = ints({1, 2});
  EXPECT_EQ(changed("aten::extend.t", {self, self}), "[1, 2, 1, 2]");
  EXPECT_EQ(changed("aten::insert.t", {ints({1, 2}), 10, 3}), "[1, 2, 3]");
  EXPECT_EQ(changed("aten::insert.t", {ints({1, 2}), -10, 0}), "[0, 1, 2]");
  EXPECT_EQ(changed("aten::insert.t", {ints({1, 2}), -1, 9}), "[1, 9, 2]");
  EXPECT_EQ(called("aten::add.t", {ints({1}), ints({2})}), "[1, 2]");
  EXPECT_EQ(called("aten::mul.left_t", {ints({1, 2}), 2}), "[1, 2, 1, 2]");
  EXPECT_EQ(called("aten::mul.right_", {-1, ints({1, 2})}), "[]");
  EXPECT_EQ(called("aten::mul_.t", {ints({1, 2}), 2}), "[1, 2, 1, 2]");
  EXPECT_EQ(called("aten::add_.t", {ints({1}), ints({2})}), "[1, 2]");
  EXPECT_TRUE(called("aten::mul.left_t", {ints({1}), std::numeric_limits<int64_t>::max()})
                  .starts_with("!"));
}

TEST(ListOps, Shrinking) {
  EXPECT_EQ(called("aten::pop.t", {ints({1, 2})}), "2");
  EXPECT_EQ(called("aten::pop.t", {ints({1, 2}), 5}), "! list index out of range");
  EXPECT_EQ(called("aten::pop.t", {ints({})}), "! pop from empty list");
  EXPECT_EQ(changed("aten::remove.int", {ints({1, 2, 1}), 1}), "[2, 1]");
  EXPECT_EQ(changed("aten::remove.str", {strings({"a"}), "b"}), "! list.remove(x): x not in list");
  EXPECT_EQ(changed("aten::clear.t", {ints({1})}), "[]");
  EXPECT_EQ(changed("aten::reverse.t", {ints({1, 2})}), "[2, 1]");
}

TEST(ListOps, SlicesFollowPython) {
  const IValue none;
  const IValue list = ints({1, 2, 3, 4});
  EXPECT_EQ(called("aten::slice.t", {list, none, none, -1}), "[4, 3, 2, 1]");
  EXPECT_EQ(called("aten::slice.t", {list, 1}), "[2, 3, 4]");
  EXPECT_EQ(called("aten::slice.t", {list, -2}), "[3, 4]");
  EXPECT_EQ(called("aten::slice.t", {list, 10}), "[]");
  EXPECT_EQ(called("aten::slice.t", {list, 3, 1}), "[]");
  EXPECT_EQ(called("aten::slice.t", {list, none, none, 2}), "[1, 3]");
  EXPECT_EQ(called("aten::slice.t", {list, 3, 0, -2}), "[4, 2]");
  EXPECT_EQ(called("aten::slice.t", {list, 0, std::numeric_limits<int64_t>::max(), 1}),
            "[1, 2, 3, 4]");
  EXPECT_EQ(called("aten::slice.t", {list, none, none, std::numeric_limits<int64_t>::min()}),
            "[4]");
  EXPECT_EQ(called("aten::slice.t", {list, none, none, std::numeric_limits<int64_t>::max()}),
            "[1]");
  EXPECT_EQ(called("aten::slice.t", {list, none, none, 0}),
            "! List slice should have non-zero step");
}

TEST(ListOps, Searching) {
  EXPECT_EQ(called("aten::index.list_int", {ints({1, 1, 2}), 2}), "2");
  EXPECT_EQ(called("aten::index.list_float", {floats({1.5}), 2.5}), "! '2.5' is not in list");
  EXPECT_EQ(called("aten::count.int", {ints({1, 1, 2}), 1}), "2");
  EXPECT_EQ(called("aten::__contains__.str_list", {strings({"b"}), "a"}), "False");
  EXPECT_EQ(called("aten::__contains__.float_list", {floats({1.0}), 1.0}), "True");
  EXPECT_EQ(called("aten::len.t", {ints({1, 2})}), "2");
}

TEST(ListOps, Sorting) {
  EXPECT_EQ(changed("aten::sort.int", {ints({3, 1, 2})}), "[1, 2, 3]");
  EXPECT_EQ(changed("aten::sort.int", {ints({3, 1, 2}), true}), "[3, 2, 1]");
  EXPECT_EQ(called("aten::sorted.str", {strings({"b", "a"})}), "[a, b]");
  EXPECT_EQ(called("aten::sorted.float", {floats({2.5, std::nan(""), 1.0})}), "[1., 2.5, nan]");
  const IValue original = ints({2, 1});
  EXPECT_EQ(called("aten::sorted.int", {original}), "[1, 2]");
  EXPECT_EQ(to_text(original), "[2, 1]");
}

TEST(ListOps, Folding) {
  EXPECT_EQ(called("aten::sum.int", {ints({1, 2})}), "3");
  EXPECT_EQ(called("aten::sum.float", {floats({1.5})}), "1.5");
  EXPECT_EQ(called("aten::any.int", {ints({0, 1})}), "True");
  EXPECT_EQ(called("aten::all.int", {ints({1, 0})}), "False");
  EXPECT_EQ(called("aten::any.str", {strings({""})}), "False");
}

TEST(ListOps, Ranges) {
  EXPECT_EQ(called("aten::__range_length", {0, 10, 3}), "4");
  EXPECT_EQ(called("aten::__range_length", {5, 0, -2}), "3");
  EXPECT_EQ(called("aten::__range_length", {0, 10, -1}), "0");
  EXPECT_EQ(called("aten::__range_length", {0, 3, 0}), "! range() arg 3 must not be zero");
  EXPECT_EQ(called("aten::__range_length",
                   {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                    std::numeric_limits<int64_t>::max()}),
            "3");
  EXPECT_EQ(called("aten::__derive_index", {2, 5, -2}), "1");
  EXPECT_EQ(called("prim::rangelist", {3}), "[0, 1, 2]");
  EXPECT_EQ(called("prim::rangelist", {-3}), "[]");
}

TEST(DictOps, Reading) {
  EXPECT_EQ(called("aten::__getitem__.Dict_str", {letters(), "b"}), "2");
  EXPECT_EQ(called("aten::__getitem__.Dict_str", {letters(), "z"}), "! KeyError: z");
  EXPECT_EQ(called("aten::get.str", {letters(), "z"}), "None");
  EXPECT_EQ(called("aten::get.default_str", {letters(), "z", 5}), "5");
  EXPECT_EQ(called("aten::__contains__.str", {letters(), "a"}), "True");
  EXPECT_EQ(called("aten::len.Dict_str", {letters()}), "2");
  EXPECT_EQ(called("aten::keys.str", {letters()}), "[a, b]");
  EXPECT_EQ(called("aten::values.str", {letters()}), "[1, 2]");
  EXPECT_EQ(called("aten::items.str", {letters()}), "[(a, 1), (b, 2)]");
}

TEST(DictOps, OtherKeyTypes) {
  auto dict = make_ref<DictValue>(Type::boolean(), Type::integer());
  dict->set(true, 1);
  EXPECT_EQ(called("aten::__getitem__.Dict_bool", {dict, false}), "! KeyError: False");
  auto by_float = make_ref<DictValue>(Type::floating(), Type::integer());
  by_float->set(1.5, 1);
  EXPECT_EQ(called("aten::__getitem__.Dict_float", {by_float, 1.5}), "1");
  const Tensor key = Tensor::scalar(1);
  auto by_tensor = make_ref<DictValue>(Type::tensor(), Type::integer());
  by_tensor->set(key, 7);
  EXPECT_EQ(called("aten::__getitem__.Dict_Tensor", {by_tensor, key}), "7");
  EXPECT_EQ(called("aten::__contains__.Tensor", {by_tensor, Tensor::scalar(1)}), "False");
}

TEST(DictOps, Writing) {
  EXPECT_EQ(changed("aten::_set_item.str", {letters(), "a", 9}), "{a: 9, b: 2}");
  EXPECT_EQ(changed("aten::Delete.Dict_str", {letters(), "a"}), "{b: 2}");
  EXPECT_EQ(changed("aten::Delete.Dict_str", {letters(), "z"}), "! KeyError: z");
  EXPECT_EQ(called("aten::pop.Dict_str", {letters(), "z"}), "! KeyError: z");
  EXPECT_EQ(called("aten::pop.Dict_default_str", {letters(), "z", 4}), "4");
  EXPECT_EQ(changed("aten::pop.Dict_default_str", {letters(), "b", 4}), "{a: 1}");
  EXPECT_EQ(called("aten::popitem.str", {letters()}), "(a, 1)") << "the first, unlike Python";
  EXPECT_EQ(changed("aten::setdefault.str", {letters(), "z", 9}), "{a: 1, b: 2, z: 9}");
  EXPECT_EQ(changed("aten::clear.str", {letters()}), "{}");
  auto empty = make_ref<DictValue>(Type::str(), Type::integer());
  EXPECT_EQ(called("aten::popitem.str", {empty}), "! popitem(): dictionary is empty");
  auto more = make_ref<DictValue>(Type::str(), Type::integer());
  more->set("c", 2);
  more->set("a", 3);
  EXPECT_EQ(changed("aten::update.str", {letters(), more}), "{a: 3, b: 2, c: 2}");
}

TEST(DictOps, Making) {
  auto pairs = make_ref<ListValue>(Type::tuple({Type::str(), Type::integer()}));
  pairs->items.push_back(make_tuple({"a", 1}));
  const IValue dict = call_operator("aten::dict.str", {pairs})[0];
  EXPECT_EQ(to_text(dict), "{a: 1}");
  EXPECT_EQ(dict.type()->to_string(), "Dict[str, int]");
  const IValue original = letters();
  const IValue copy = call_operator("aten::dict.Dict_str", {original})[0];
  EXPECT_FALSE(copy.is_same(original));
  EXPECT_EQ(to_text(copy), "{a: 1, b: 2}");
}

}  // namespace
}  // namespace tierup::ops
