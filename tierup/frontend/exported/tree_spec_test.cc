#include "tierup/frontend/exported/tree_spec.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

const char* const kLeaf = R"({"type":null,"context":null,"children_spec":[]})";

std::string spec_text(const std::string& args, const std::string& keys, const std::string& kwargs) {
  return R"([1,{"type":"builtins.tuple","context":"null","children_spec":[{"type":"builtins.tuple","context":"null","children_spec":[)" +
         args + R"(]},{"type":"builtins.dict","context":")" + keys + R"(","children_spec":[)" +
         kwargs + "]}]}]";
}

std::vector<std::string> paths_of(const TreeSpec& spec, const std::vector<std::string>& names,
                                  const std::vector<IValue>& args,
                                  const std::vector<std::pair<std::string, IValue>>& kwargs) {
  std::vector<std::string> paths;
  flatten_call(spec, names, args, kwargs,
               [&](const std::string& path, const std::optional<IValue>& value) {
                 paths.push_back(path + "=" + (value ? to_text(*value) : "?"));
               });
  return paths;
}

TEST(TreeSpec, BindsDictionariesByKeyNotByPosition) {
  const std::string dict =
      R"({"type":"builtins.dict","context":"[\"z\", \"a\"]","children_spec":[)" +
      std::string(kLeaf) + "," + kLeaf + "]}";
  const TreeSpec spec = parse_tree_spec(spec_text(dict, "[]", ""), {});
  auto value = make_ref<DictValue>(Type::str(), Type::integer());
  value->set("a", 1);
  value->set("z", 26);
  EXPECT_EQ(paths_of(spec, {"d"}, {IValue(value)}, {}),
            (std::vector<std::string>{"d['z']=26", "d['a']=1"}));
}

TEST(TreeSpec, AcceptsKeywordsForPositionalsAndTheReverse) {
  const TreeSpec spec = parse_tree_spec(spec_text(kLeaf, R"([\"n\"])", kLeaf), {});
  EXPECT_EQ(paths_of(spec, {"x", "n"}, {IValue(1), IValue(2)}, {}),
            (std::vector<std::string>{"x=1", "n=2"}));
  EXPECT_EQ(paths_of(spec, {"x", "n"}, {}, {{"n", 2}, {"x", 1}}),
            (std::vector<std::string>{"x=1", "n=2"}));
  EXPECT_EQ(paths_of(spec, {"x", "n"}, {IValue(1)}, {}), (std::vector<std::string>{"x=1", "n=?"}));
}

TEST(TreeSpec, NamesUnknownAndDoubledArguments) {
  const TreeSpec spec = parse_tree_spec(spec_text(kLeaf, "[]", ""), {});
  EXPECT_THROW(paths_of(spec, {"x"}, {IValue(1)}, {{"x", 2}}), Error);
  try {
    paths_of(spec, {"x"}, {}, {{"y", 2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unknown argument 'y'; the exported signature is forward(x)");
  }
}

TEST(TreeSpec, SaysWhatAContainerShouldBe) {
  const std::string list =
      R"({"type":"builtins.list","context":"null","children_spec":[)" + std::string(kLeaf) + "]}";
  const TreeSpec spec = parse_tree_spec(spec_text(list, "[]", ""), {});
  try {
    paths_of(spec, {"items"}, {make_tuple({1, 2})}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "argument items: expected a list of 1, got tuple of 2");
  }
}

TEST(TreeSpec, ReadsDefaultdictContextsThatAreObjects) {
  const std::string dict =
      R"({"type":"collections.defaultdict","context":{"default_factory_module":"builtins","default_factory_name":"list","dict_context":[1]},"children_spec":[)" +
      std::string(kLeaf) + "]}";
  const TreeSpec spec = parse_tree_spec("[1," + dict + "]", {});
  EXPECT_EQ(spec.keys[0].to_int(), 1);
  size_t next = 0;
  EXPECT_EQ(to_text(unflatten(spec, {IValue(7)}, next)), "{1: 7}");
}

TEST(TreeSpec, RefusesOtherProtocolsArityAndDepth) {
  EXPECT_THROW(parse_tree_spec(R"([2,{"type":null,"context":null,"children_spec":[]}])", {}),
               Error);
  EXPECT_THROW(
      parse_tree_spec(R"([1,{"type":"builtins.dict","context":"[\"a\"]","children_spec":[]}])", {}),
      Error);
  std::string deep;
  for (int i = 0; i < 400; ++i)
    deep += R"({"type":"builtins.list","context":"null","children_spec":[)";
  deep += kLeaf;
  for (int i = 0; i < 400; ++i) deep += "]}";
  EXPECT_THROW(parse_tree_spec("[1," + deep + "]", {}), Error);
}

}  // namespace
}  // namespace tierup::frontend::exported
