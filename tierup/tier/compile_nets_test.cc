// What the compile job makes of the regions that neural_regions formed.
#include "tierup/tier/compile_nets.h"

#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ir/verifier.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/neural_regions.h"
#include "tierup/passes/fuse/region_bodies.h"

namespace tierup::tier {
namespace {

// A product, what is done with it, and a part of that: a view with gaps, which no net gives.
constexpr const char* kLine = R"(
  %y{0} : Float(2, 4) = aten::linear({1}, %w, %none)
  %r{0} : Float(2, 4) = aten::relu(%y{0})
  %s{0} : Float(2, 4) = aten::sigmoid(%r{0})
  %t{0} : Float(2) = aten::select.int(%s{0}, %one, %zero))";

class Compiled : public ::testing::Test {
 protected:
  void compile(const std::string& lines, const std::string& results,
               NetComparison comparison = NetComparison::kNow) {
    ir::TextContext text_context;
    text_context.operators = &ops::OpTable::instance();
    graph_ = ir::parse_graph(
        "graph @main(%x : Float(2, 4)) {\n"
        "  %w : Tensor = prim::Constant[value=tensor(Float, [4, 4], [1., 0., 0., 1., 2., 0., 1., "
        "0., 0., 0., 1., 3., 1., 1., 1., 1.])]()\n"
        "  %none : NoneType = prim::Constant[value=None]()\n"
        "  %zero : int = prim::Constant[value=0]()\n"
        "  %one : int = prim::Constant[value=1]()" +
            lines + "\n  return (" + results + ")\n}",
        text_context);
    passes::PassContext context(*graph_, ops::OpTable::instance());
    context.set_target({.threads = 1});
    for (const ir::Node* node : graph_->block().nodes()) {
      if (node->outputs().empty() || node->output(0)->name() != hinted_) continue;
      context.hints().set(node->output(0), node->output(0)->type()->facts());
    }
    passes::neural_regions(context);
    formed_ = regions().size();
    context.take_counters();
    unconfirmed_ = compile_nets(context, cancelled_, comparison);
    counters_ = context.take_counters();
    refused_ = context.take_refused();
    ir::verify_graph(*graph_, "compile_nets");
  }
  std::vector<const ir::Node*> regions() const {
    std::vector<const ir::Node*> found;
    for (const ir::Node* node : graph_->block().nodes()) {
      if (passes::net_of(*node) != nullptr) found.push_back(node);
    }
    return found;
  }
  // "aten::relu" and the like, in order, regions as "net".
  std::string steps() const {
    std::string text;
    for (const ir::Node* node : graph_->block().nodes()) {
      if (node->is(ir::NodeKind::kConstant)) continue;
      text += (text.empty() ? "" : " ") +
              (passes::net_of(*node) != nullptr ? std::string("net") : node->display_name());
    }
    return text;
  }
  static std::string line(const std::string& number, const std::string& input) {
    std::string text = kLine;
    for (const auto& [from, to] : {std::pair(std::string("{0}"), number), {"{1}", input}}) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
        text.replace(at, from.size(), to);
    }
    return text;
  }

  std::shared_ptr<ir::Graph> graph_;
  std::atomic<bool> cancelled_{false};
  std::string hinted_;  // A value whose profile says what its type says.
  std::vector<Ref<ops::NeuralNet>> unconfirmed_;
  size_t formed_ = 0;
  passes::Counters counters_;
  std::vector<ops::RefusedOperator> refused_;
};

TEST_F(Compiled, a_region_comes_apart_where_one_operator_is_refused) {
  compile(line("0", "%x"), "%t0");
  EXPECT_EQ(formed_, 1U);
  EXPECT_EQ(steps(), "net aten::select.int");
  ASSERT_EQ(regions().size(), 1U);
  EXPECT_EQ(passes::net_of(*regions()[0])->net_count(), 1U);
  EXPECT_EQ(regions()[0]->output()->name(), "s0");
  EXPECT_EQ(counters_["taken_apart"], 1);
  ASSERT_EQ(refused_.size(), 1U);
  EXPECT_EQ(refused_[0].operation, "aten::select.int");
  EXPECT_EQ(refused_[0].reason, refusal_name(kernels::net::NetRefusal::kLeavesGaps));
}

// It stays outside for those who need it there, and would join the region again for ever.
TEST_F(Compiled, a_refused_number_that_is_needed_outside_ends_the_region) {
  compile(R"(
  %minus : int = prim::Constant[value=-3]()
  %y : Float(2, 4) = aten::linear(%x, %w, %none)
  %n : int = aten::size.int(%y, %zero)
  %q : int = aten::floordiv.int(%n, %minus)
  %r : Float(2, 4) = aten::relu(%y))",
          "%r, %q");
  EXPECT_EQ(formed_, 1U);
  EXPECT_EQ(counters_["taken_apart"], 1);
  EXPECT_TRUE(regions().empty());
}

TEST_F(Compiled, sizes_times_a_tensor_of_no_whole_number_are_no_sizes) {
  compile(R"(
  %half : Tensor = prim::Constant[value=tensor(Float, [], [0.5])]()
  %y : Float(2, 4) = aten::linear(%x, %w, %none)
  %n : int = aten::size.int(%y, %zero)
  %t : Tensor = prim::NumToTensor.Scalar(%n)
  %h : Tensor = aten::mul.Tensor(%t, %half)
  %r : Float(2, 4) = aten::relu(%y))",
          "%r, %h");
  EXPECT_EQ(regions().size(), 1U);
  EXPECT_EQ(passes::net_of(*regions().at(0))->net_count(), 1U);
}

TEST_F(Compiled, equal_lines_are_compiled_and_refused_once) {
  compile(line("0", "%x") + "\n  prim::Print(%t0)" + line("1", "%x"), "%t0, %t1");
  EXPECT_EQ(formed_, 2U);
  EXPECT_EQ(steps(), "net aten::select.int prim::Print net aten::select.int");
  ASSERT_EQ(regions().size(), 2U);
  EXPECT_EQ(passes::net_of(*regions()[0]), passes::net_of(*regions()[1]));
  EXPECT_EQ(counters_["refused_nets"], 1);
  EXPECT_EQ(counters_["taken_apart"], 2);
  EXPECT_EQ(counters_["compiled"], 1);
}

TEST_F(Compiled, values_have_their_ids_again_behind_a_region_that_came_apart) {
  compile(line("0", "%x"), "%t0");
  passes::PassContext context(*graph_, ops::OpTable::instance());
  const ir::Node* region = regions().at(0);
  const int id = region->output()->id();
  const std::vector<ir::Node*> members =
      passes::dissolve_region(context, const_cast<ir::Node*>(region));
  ir::verify_graph(*graph_, "dissolve_region");
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[2]->output()->id(), id);
  EXPECT_EQ(steps(), "aten::linear aten::relu aten::sigmoid aten::select.int");
  passes::neural_regions(context);
  EXPECT_EQ(regions().size(), 1U);
}

// How its outputs lie has to be known for that.
TEST_F(Compiled, a_net_is_left_to_be_compared_later_where_the_profile_tells_of_its_outputs) {
  compile(line("0", "%x"), "%s0", NetComparison::kLater);
  EXPECT_TRUE(unconfirmed_.empty());
  hinted_ = "s0";
  compile(line("0", "%x"), "%s0", NetComparison::kLater);
  ASSERT_EQ(unconfirmed_.size(), 1U);
  EXPECT_EQ(unconfirmed_[0].get(), passes::net_of(*regions().at(0)));
  EXPECT_TRUE(unconfirmed_[0]->confirm(false));
}

TEST_F(Compiled, a_cancelled_job_compiles_nothing) {
  cancelled_ = true;
  compile(line("0", "%x"), "%t0");
  EXPECT_EQ(steps(), "net");
  EXPECT_EQ(counters_["compiled"], 0);
}

}  // namespace
}  // namespace tierup::tier
