// Edits keep uses and places right, and source places read as errors print them.
#include <gtest/gtest.h>

#include <bit>

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/graph_hash.h"
#include "tierup/ir/text.h"
#include "tierup/ir/verifier.h"

namespace tierup::ir {
namespace {

TEST(GraphEditor, KeepsPlacesWhenReturnsAndInputsMove) {
  Graph graph;
  GraphEditor editor(graph);
  Value* a = editor.add_param(&graph.block(), Type::integer(), "a");
  Value* b = editor.add_param(&graph.block(), Type::integer(), "b");
  Node* tuple = editor.create(NodeKind::kTupleConstruct, {a, a, b});
  Value* t = editor.add_output(tuple, Type::tuple({Type::integer(), Type::integer()}));
  editor.remove_input(tuple, 0);
  editor.add_return(&graph.block(), a);
  editor.insert_return(&graph.block(), 0, t);
  editor.insert_return(&graph.block(), 1, b);
  EXPECT_TRUE(find_issues(graph).empty());
  editor.remove_return(&graph.block(), 0);
  EXPECT_TRUE(t->uses().empty());
  editor.remove(tuple);
  EXPECT_EQ(a->uses().size(), 1u);
  editor.replace_uses(a, b);
  EXPECT_TRUE(a->uses().empty());
  EXPECT_EQ(b->uses().size(), 2u);
  EXPECT_EQ(graph.to_string(), "graph @graph(%a : int, %b : int) {\n  return (%b, %b)\n}\n");
}

TEST(GraphEditor, RemovesNodesWithTheirBlocks) {
  const auto graph = parse_graph(R"(graph @f(%c : bool, %a : int) {
    %r : int = prim::If(%c)
      block0():
        %t : Tuple[int] = prim::TupleConstruct(%a)
        %x : int = prim::TupleIndex[index=0](%t)
        -> (%x)
      block1():
        -> (%a)
    return (%a)
  })");
  GraphEditor editor(*graph);
  editor.remove(graph->block().first());
  EXPECT_TRUE(find_issues(*graph).empty());
  EXPECT_EQ(graph->inputs()[1]->uses().size(), 1u);
  EXPECT_EQ(graph->block().first(), nullptr);
}

TEST(GraphEditor, RefusesToRemoveWhatIsUsed) {
  Graph graph;
  GraphEditor editor(graph);
  Value* one = editor.constant(1);
  editor.add_return(&graph.block(), one);
  EXPECT_THROW(editor.remove(one->node()), Error);
}

TEST(GraphEditor, CountsEdits) {
  Graph graph;
  GraphEditor editor(graph);
  const uint64_t before = editor.edit_count();
  editor.constant(1);
  EXPECT_GT(editor.edit_count(), before);
}

TEST(GraphText, KeepsRangesAndLargeConstantsOnRequest) {
  Graph graph("f");
  GraphEditor editor(graph);
  const auto source = std::make_shared<Source>("model.py", "a = 1\nb = 2\n", 10);
  editor.set_range({source, 6, 11, nullptr});
  Value* value = editor.constant(Tensor::empty(IntVector{100}, ScalarType::kFloat));
  editor.add_return(&graph.block(), value);
  std::vector<IValue> constants;
  const TextOptions options{.ranges = true, .constants = &constants};
  const std::string text = print_graph(graph, options);
  EXPECT_NE(text.find("value=<Tensor $0>]()  # at model.py:11\n"), std::string::npos) << text;
  TextContext context;
  context.ranges = true;
  context.constants = &constants;
  const auto again = parse_graph(text, context);
  std::vector<IValue> same_constants;
  EXPECT_EQ(print_graph(*again, {.ranges = true, .constants = &same_constants}), text);
  EXPECT_TRUE(same_constants.at(0).is_same(constants.at(0)));
  context.constants = nullptr;
  EXPECT_THROW(parse_graph(text, context), Error);
}

TEST(GraphText, RefusesEndlessNesting) {
  std::string text = "graph @f(%c : bool) {\n";
  for (int i = 0; i < 5000; ++i) text += "prim::If(%c) block0(): ";
  EXPECT_THROW(parse_graph(text), Error);
  std::string type(100000, '[');
  EXPECT_THROW(parse_graph("graph @f(%a : List" + type + ") {}"), Error);
  std::string lists;
  for (int i = 0; i < 5000; ++i) lists += "List[";
  EXPECT_THROW(parse_graph("graph @f(%a : " + lists + ") {}"), Error);
}

TEST(GraphHash, HoldsEveryNaNForTheSameNumber) {
  const auto hash = [](uint64_t bits) {
    Graph graph("f");
    GraphEditor editor(graph);
    editor.add_return(&graph.block(), editor.constant(std::bit_cast<double>(bits)));
    return graph_hash(graph);
  };
  EXPECT_EQ(hash(0x7ff8000000000000), hash(0x7ff80000deadbeef));
  EXPECT_EQ(hash(0x7ff8000000000000), hash(0xfff8000000000000));
  EXPECT_NE(hash(0x7ff8000000000000), hash(0x7ff0000000000000));
}

TEST(SourceRange, ShowsThePlaceWithACaret) {
  const auto source = std::make_shared<Source>("code/m.py", "def f():\n  return x + y\n");
  const SourceRange range{source, 18, 23, nullptr};
  EXPECT_EQ(range.location(), "code/m.py:2");
  EXPECT_EQ(range.highlight(), "code/m.py:2\n    return x + y\n           ~~~~~");
  const SourceRange outer{source, 0, 3, std::make_shared<SourceRange>(range)};
  EXPECT_EQ(outer.location(), "code/m.py:2");
  EXPECT_EQ(SourceRange{}.highlight(), "");
}

TEST(Verifier, NoticesUsesThatTheListsDoNotHold) {
  Graph graph;
  GraphEditor editor(graph);
  Value* a = editor.add_param(&graph.block(), Type::integer(), "a");
  Graph other;
  GraphEditor other_editor(other);
  other_editor.add_return(&other.block(), a);
  EXPECT_EQ(find_issues(other).size(), 1u);
  EXPECT_FALSE(find_issues(graph).empty());
  EXPECT_THROW(verify_graph(graph, "this test"), Error);
}

}  // namespace
}  // namespace tierup::ir
