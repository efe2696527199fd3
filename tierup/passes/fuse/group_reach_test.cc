// GroupReach against a search of the whole graph, and in graphs so long that only a search that
// stays near can be done.
#include "tierup/passes/fuse/group_reach.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tierup/ir/graph_editor.h"
#include "tierup/ir/text.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/fuse/fuse_pointwise.h"

namespace tierup::passes {
namespace {

std::shared_ptr<ir::Graph> parse(const std::string& text) {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  return ir::parse_graph(text, context);
}

// A graph of products of random earlier values, most of them near.
std::shared_ptr<ir::Graph> random_graph(uint32_t seed, int nodes) {
  std::mt19937 random(seed);
  std::string text = "graph @f(%v0 : Tensor) {\n";
  for (int i = 1; i <= nodes; ++i) {
    const auto earlier = [&] {
      const int back = random() % 4 == 0 ? nodes : 5;
      return std::max(0, i - 1 - static_cast<int>(random() % static_cast<uint32_t>(back)));
    };
    text +=
        fmt::format("  %v{} : Tensor = aten::mul.Tensor(%v{}, %v{})\n", i, earlier(), earlier());
  }
  return parse(text + fmt::format("  return (%v{})\n}}", nodes));
}

// What GroupReach knows, looked up in full each time.
struct Model {
  std::vector<const ir::Node*> nodes;
  std::map<const ir::Node*, uint32_t> group_of;

  bool reaches(const ir::Node* from, uint32_t group) const {
    if (group_of.contains(from) && group_of.at(from) == group) return false;
    std::set<const ir::Node*> seen;
    std::vector<const ir::Node*> open{from};
    while (!open.empty()) {
      const ir::Node* node = open.back();
      open.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      for (const ir::Value* input : node->inputs()) open.push_back(input->node());
      const auto own = group_of.find(node);
      if (own == group_of.end()) continue;
      if (own->second == group) return true;
      for (const auto& [other, its] : group_of) {
        if (its == own->second) open.push_back(other);
      }
    }
    return false;
  }
};

TEST(GroupReach, AgreesWithASearchOfTheWholeGraph) {
  int yes = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed + 1000);
    const auto graph = random_graph(seed, 60);
    GroupReach reach;
    Model model;
    uint32_t groups = 0;
    for (const ir::Node* node : graph->block().nodes()) {
      // Any group that the node may join without a circle.
      std::vector<uint32_t> fitting;
      for (uint32_t group = 0; group < groups; ++group) {
        bool fits = true;
        for (const ir::Value* input : node->inputs()) {
          if (input->node() == nullptr) continue;
          const bool expected = model.reaches(input->node(), group);
          ASSERT_EQ(reach.reaches(input, group), expected) << seed;
          yes += expected ? 1 : 0;
          fits = fits && !expected;
        }
        if (fits) fitting.push_back(group);
      }
      const uint32_t choice = random() % 4;
      if (choice == 0) {
        reach.add(*node);
        continue;
      }
      const bool is_new = choice == 1 || fitting.empty();
      const uint32_t group = is_new ? groups++ : fitting[random() % fitting.size()];
      reach.join(*node, group);
      model.group_of[node] = group;
    }
  }
  EXPECT_GT(yes, 500);
}

TEST(GroupReach, NamesWhatANodeDependsOnOnce) {
  const auto graph = parse(R"(graph @f(%x : Tensor) {
  %a : Tensor = aten::tanh(%x)
  %b : Tensor = aten::tanh(%a)
  %c : Tensor = aten::mm(%b, %b)
  %d : Tensor = aten::mm(%b, %c)
  return (%d)
})");
  std::vector<const ir::Node*> nodes;
  for (const ir::Node* node : graph->block().nodes()) nodes.push_back(node);
  GroupReach reach;
  reach.join(*nodes[0], 0);
  reach.join(*nodes[1], 1);
  reach.add(*nodes[2]);
  auto above = reach.take_above(*nodes[2]);
  std::sort(above.begin(), above.end());
  EXPECT_EQ(above, (std::vector<uint32_t>{0, 1}));
  reach.add(*nodes[3]);
  EXPECT_TRUE(reach.take_above(*nodes[3]).empty());
}

// A search that did not end where a group begins would grow long, and refuse every group but the
// first ones.
TEST(GroupReach, FusesAllOfALongGraph) {
  constexpr int kRounds = 6000;
  ir::Graph graph;
  ir::GraphEditor editor(graph);
  const auto call = [&](const char* name, std::initializer_list<ir::Value*> inputs) {
    const ir::Operator* op = ops::OpTable::instance().find(name);
    return editor.create_op(*op, std::span(inputs.begin(), inputs.size()))->output();
  };
  ir::Value* value = editor.add_param(&graph.block(), Type::tensor());
  for (int i = 0; i < kRounds; ++i) {
    ir::Value* scaled = call("aten::mul.Tensor", {call("aten::tanh", {value}), value});
    value = call("aten::mm", {scaled, scaled});
  }
  editor.add_return(&graph.block(), value);
  const Pass passes[] = {{"fuse_pointwise", [](PassContext& context) { fuse_pointwise(context); }}};
  const PipelineReport report = run_passes(graph, passes, {});
  EXPECT_EQ(report.at(0).counters.at("groups"), kRounds);
}

// Siblings become one when all nodes are there.
TEST(GroupReach, AgreesWithASearchOfTheWholeGraphWhenGroupsMergeAfterwards) {
  int merged = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto graph = random_graph(seed, 40);
    GroupReach reach;
    Model model;
    std::vector<uint32_t> groups;
    for (const ir::Node* node : graph->block().nodes()) {
      model.group_of[node] = static_cast<uint32_t>(groups.size());
      reach.join(*node, static_cast<uint32_t>(groups.size()));
      groups.push_back(static_cast<uint32_t>(groups.size()));
    }
    const auto depends = [&](uint32_t from, uint32_t on) {
      bool result = false;
      for (const auto& [node, group] : model.group_of) {
        for (const ir::Value* input : node->inputs()) {
          if (group != from || input->node() == nullptr) continue;
          const bool expected = model.reaches(input->node(), on);
          EXPECT_EQ(reach.reaches(input, on), expected) << seed;
          result = result || expected;
        }
      }
      return result;
    };
    for (int attempt = 0; attempt < 200 && groups.size() > 2; ++attempt) {
      const uint32_t into = groups[random() % groups.size()];
      const uint32_t from = groups[random() % groups.size()];
      const bool circle = depends(into, from) || depends(from, into);
      if (into == from || circle) continue;
      reach.merge(into, from);
      for (auto& [node, group] : model.group_of) group = group == from ? into : group;
      std::erase(groups, from);
      ++merged;
    }
  }
  EXPECT_GT(merged, 100);
}

// A search that went all the way would say yes.
TEST(GroupReach, StaysNearInALongGraphAfterAMergeAtItsBegin) {
  std::string text =
      "graph @f(%v0 : Tensor) {\n  %v1 : Tensor = aten::mul.Tensor(%v0, %v0)\n"
      "  %v2 : Tensor = aten::mul.Tensor(%v0, %v0)\n"
      "  %v3 : Tensor = aten::mul.Tensor(%v1, %v2)\n";
  for (int i = 4; i <= 10000; ++i) {
    text += fmt::format("  %v{} : Tensor = aten::mul.Tensor(%v{}, %v{})\n", i, i - 1, i - 1);
  }
  const auto graph = parse(text + "  return (%v10000)\n}");
  GroupReach reach;
  uint32_t groups = 0;
  const ir::Node* last = nullptr;
  for (const ir::Node* node : graph->block().nodes()) reach.join(*(last = node), groups++);
  reach.merge(0, 1);
  EXPECT_FALSE(reach.reaches(last->input(0), groups - 1));
  EXPECT_TRUE(reach.reaches(last->input(0), groups - 3));
}

}  // namespace
}  // namespace tierup::passes
