// Which regions nets leave to fusion groups.
#include "tierup/passes/fuse/region_members.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/pipeline.h"

namespace tierup::passes {
namespace {

// A graph that computes %y of rows of 16, with a weight of `columns` x 16.
std::string graph_of(const std::string& body, int64_t rows, int64_t columns = 8) {
  std::string weight = "1.";
  for (int64_t i = 1; i < 16 * columns; ++i) weight += ", 0.5";
  return fmt::format(R"(graph @f(%x : Float({}, 16)) {{
  %w : Tensor = prim::Constant[value=tensor(Float, [{}, 16], [{}])]()
  %none : NoneType = prim::Constant[value=None]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %last : int = prim::Constant[value=-1]()
  %p : Float({}, {}) = aten::linear(%x, %w, %none)
{}  return (%y)
}})",
                     rows, columns, weight, rows, columns, body);
}

// A counter of the pass: how many regions become nets, if it is not another one.
int64_t nets_in_graph(const std::string& text, bool has_groups = true,
                      const char* counter = "regions") {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  const auto graph = ir::parse_graph(text, context);
  PassOptions options;
  options.target.has_groups = [=] { return has_groups; };
  const Pass passes[] = {*find_pass("neural_regions")};
  const PipelineReport report = run_passes(*graph, passes, options);
  const auto& counters = report.at(0).counters;
  const auto found = counters.find(counter);
  return found == counters.end() ? 0 : found->second;
}

int64_t nets_in(const std::string& body, int64_t rows, bool has_groups = true,
                const char* counter = "regions") {
  return nets_in_graph(graph_of(body, rows), has_groups, counter);
}

constexpr const char* kPointwise = "  %y : Tensor = aten::relu(%p)\n";
constexpr const char* kSoftmax = "  %y : Tensor = aten::softmax.int(%p, %last, %none)\n";

TEST(RegionMembers, SmallProductsAreLeftToGroupsThatHaveKernels) {
  EXPECT_EQ(nets_in(kPointwise, 4), 0);
  EXPECT_EQ(nets_in(kPointwise, 4, true, "refused:left_to_group"), 1);
  EXPECT_EQ(nets_in(kPointwise, 4, false), 1);
  EXPECT_EQ(nets_in(kPointwise, 4, false, "refused:left_to_group"), 0);
}

TEST(RegionMembers, LargeProductsStayInNets) { EXPECT_EQ(nets_in(kPointwise, 600), 1); }

// Beyond what tier 0 does as it lies; among many rows the copy of a weight is lost in the work.
TEST(RegionMembers, AProductOfFewRowsIsANetAlone) {
  constexpr const char* kOutside = "  %y : Tensor = aten::digamma(%p)\n";
  EXPECT_EQ(nets_in_graph(graph_of(kOutside, 100, 64)), 1);
  EXPECT_EQ(nets_in_graph(graph_of(kOutside, 100, 64), true, "refused:alone"), 0);
  EXPECT_EQ(nets_in_graph(graph_of(kOutside, 600, 64)), 0);
  EXPECT_EQ(nets_in_graph(graph_of(kOutside, 600, 64), true, "refused:alone"), 1);
  EXPECT_EQ(nets_in_graph(graph_of(kOutside, 2, 64)), 0);
}

TEST(RegionMembers, RowsOfOneStayInNets) {
  EXPECT_EQ(nets_in(kSoftmax, 4), 0);
  EXPECT_EQ(nets_in(kSoftmax, 1), 1);
}

TEST(RegionMembers, ViewsThatMayCopyStayInNets) {
  EXPECT_EQ(nets_in("  %sizes : List[int] = prim::ListConstruct(%two, %last)\n"
                    "  %y : Tensor = aten::view(%p, %sizes)\n"
                    "  %q : Tensor = aten::relu(%y)\n",
                    4),
            1);
}

// What stands around a stencil over `channels` planes.
int64_t nets_around_stencil(int64_t channels) {
  std::string weight = "1.";
  for (int64_t i = 1; i < channels * 9; ++i) weight += ", 0.5";
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  const auto graph = ir::parse_graph(fmt::format(R"(graph @f(%x : Float(1, {0}, 9, 9)) {{
  %w : Tensor = prim::Constant[value=tensor(Float, [{0}, 1, 3, 3], [{1}])]()
  %none : NoneType = prim::Constant[value=None]()
  %one : int = prim::Constant[value=1]()
  %ones : List[int] = prim::Constant[value=list[int](1, 1)]()
  %groups : int = prim::Constant[value={0}]()
  %c : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %groups)
  %s : Tensor = aten::add.Tensor(%c, %x, %one)
  %y : Tensor = aten::relu(%s)
  return (%y)
}})",
                                                 channels, weight),
                                     context);
  const Pass passes[] = {*find_pass("neural_regions")};
  const PipelineReport report = run_passes(*graph, passes, {});
  const auto& counters = report.at(0).counters;
  const auto found = counters.find("regions");
  return found == counters.end() ? 0 : found->second;
}

TEST(RegionMembers, StencilsOverAFewPlanesAreLeftToGroups) {
  EXPECT_EQ(nets_around_stencil(1), 0);
  EXPECT_EQ(nets_around_stencil(2), 0);
  EXPECT_EQ(nets_around_stencil(15), 0);
  EXPECT_EQ(nets_around_stencil(16), 1);
}

// A whole region was refused for them when it was compiled.
TEST(RegionMembers, NumbersThatARunComputesStayOutside) {
  EXPECT_EQ(nets_in("  %r : Tensor = aten::relu(%p)\n"
                    "  %n : Float() = aten::sum(%r, %none)\n"
                    "  %y : Tensor = aten::mul.Tensor(%r, %n)\n",
                    600, true, "operators"),
            2);
}

TEST(RegionMembers, GatesAreLeftToGroups) {
  const char* const gates =
      "  %s : Float(1, 8) = aten::add.Tensor(%p, %p, %one)\n"
      "  %l : List[Tensor] = aten::chunk(%s, %two, %one)\n"
      "  %a : Float(1, 4), %b : Float(1, 4) = prim::ListUnpack(%l)\n"
      "  %t : Float(1, 4) = aten::sigmoid(%a)\n"
      "  %y : Float(1, 4) = aten::mul.Tensor(%t, %b)\n";
  EXPECT_EQ(nets_in(gates, 1), 0);
  EXPECT_EQ(nets_in(gates, 1, false), 1);
}

}  // namespace
}  // namespace tierup::passes
