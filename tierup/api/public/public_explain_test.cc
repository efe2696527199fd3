// What a module tells of itself through the public API: explanations, signatures, texts.
#include <gtest/gtest.h>

#include <algorithm>

#include "tierup/archive/zip_builder.h"
#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

const char* const kPointwise =
    "  def forward(self: __torch__.M,\n    x: Tensor,\n    by: int=3) -> Tensor:\n"
    "    y = torch.relu(torch.mul(x, self.scale))\n"
    "    return torch.add(y, by)\n";

std::string make_archive(const std::string& body) {
  tierup::archive::testing::PickleBuilder pickle;
  pickle.global("__torch__", "M").op(")\x81}(").str("scale").floating(2.5).str("training");
  pickle.op("\x88ub");
  tierup::archive::testing::ZipBuilder zip;
  zip.add("m/data.pkl", pickle.finish());
  zip.add("m/code/__torch__.py",
          "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
          "  scale : float\n  training : bool\n" +
              body);
  zip.add("m/constants.pkl", "\x80\x02).");
  zip.add("m/version", "3\n");
  return zip.finish();
}

Module load(const std::string& tiering) {
  Options options;
  options.tiering = tiering;
  const std::string archive = make_archive(kPointwise);
  return Module::load(std::as_bytes(std::span(archive.data(), archive.size())), options);
}

Tensor filled(std::vector<int64_t> shape, DType dtype = DType::kFloat32) {
  const Tensor zeros = Tensor::zeros(shape, dtype);
  return zeros;
}

GraphInfo only_graph(const Module& module) {
  Explanation explanation = module.explain();
  EXPECT_EQ(explanation.graphs.size(), 1U);
  return explanation.graphs.empty() ? GraphInfo() : std::move(explanation.graphs.front());
}

template <typename Items, typename Name>
bool contains(const Items& items, const Name& name) {
  return std::find(items.begin(), items.end(), name) != items.end();
}

TEST(PublicExplain, counts_calls_and_shows_plans_with_guard_hits_and_profile) {
  const Module module = load("compile=blocking,policy=reference,profiled_runs=2");
  EXPECT_TRUE(module.explain().graphs.empty());  // Nothing was called.
  for (int i = 0; i < 5; ++i) module({filled({4, 3})});
  const GraphInfo graph = only_graph(module);
  EXPECT_EQ(graph.method, "forward");
  EXPECT_EQ(graph.name, "__torch__.M.forward");
  EXPECT_EQ(graph.calls, 5U);
  EXPECT_EQ(graph.tier0_calls, 2U);
  EXPECT_EQ(graph.state, GraphState::kSpecialized);
  EXPECT_TRUE(graph.misses.empty());
  ASSERT_EQ(graph.plans.size(), 1U);
  const PlanInfo& plan = graph.plans[0];
  EXPECT_EQ(plan.serial, 1U);
  EXPECT_EQ(plan.hits, 3U);
  EXPECT_TRUE(plan.is_static);
  ASSERT_EQ(plan.guard.arguments.size(), 1U);
  const ArgumentGuard& x = plan.guard.arguments[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DType::kFloat32);
  EXPECT_EQ(x.rank, 2U);
  EXPECT_EQ(x.order, MemoryOrder::kContiguous);
  EXPECT_EQ(x.sizes, (std::vector<std::optional<int64_t>>{4, 3}));
  EXPECT_EQ(plan.guard.observed, 1U);  // The module, whose `scale` is folded.
  EXPECT_EQ(plan.profile.runs, 2U);
  ASSERT_EQ(plan.profile.arguments.size(), 2U);
  EXPECT_EQ(plan.profile.arguments[0].kind, "tensor");
  EXPECT_EQ(plan.profile.arguments[0].sizes.at(1).value, 3);
  EXPECT_EQ(plan.profile.arguments[1].name, "by");
  EXPECT_EQ(plan.profile.arguments[1].kind, "other");
  EXPECT_NE(plan.graph_text.find("return ("), std::string::npos);
  EXPECT_FALSE(plan.plan_text.empty());
  EXPECT_FALSE(plan.steps.empty());
}

// Where there is no code generator, the same region says why it has no kernel.
TEST(PublicExplain, tells_what_was_fused_and_why_not) {
  const Module module = load("compile=blocking");
  for (int i = 0; i < 4; ++i) module({filled({40, 30})});
  const PlanInfo plan = only_graph(module).plans.at(0);
  ASSERT_EQ(plan.regions.size(), 1U);
  const FusedRegion& region = plan.regions[0];
  EXPECT_EQ(region.kind, FusedRegion::Kind::kFusionGroup);
  EXPECT_TRUE(contains(region.operators, "aten::mul.Scalar")) << region.text;
  EXPECT_TRUE(contains(region.operators, "aten::relu"));
  EXPECT_EQ(region.compiled == 0, !region.notes.empty());
  if (region.compiled > 0) {
    EXPECT_EQ(region.twin_calls, 0U);
  } else {
    EXPECT_GT(region.twin_calls, 0U);
  }

  const Module alone = load("compile=blocking,fusion_group_min=10");
  for (int i = 0; i < 4; ++i) alone({filled({40, 30})});
  const PlanInfo unfused = only_graph(alone).plans.at(0);
  EXPECT_TRUE(unfused.regions.empty());
  ASSERT_FALSE(unfused.unfused.empty());
  EXPECT_NE(unfused.unfused[0].reason.find("not fused"), std::string::npos);
}

TEST(PublicExplain, misses_are_counted_by_reason) {
  const Module module = load("compile=blocking,profiled_runs=2");
  for (int i = 0; i < 3; ++i) module({filled({4, 3})});
  module({filled({4, 3}, DType::kFloat64)});
  const GraphInfo graph = only_graph(module);
  ASSERT_EQ(graph.misses.size(), 1U);
  EXPECT_EQ(graph.misses[0].reason, MissReason::kDtype);
  EXPECT_EQ(graph.misses[0].count, 1U);
  EXPECT_EQ(miss_text(MissReason::kDtype), "an argument has another dtype");
  module.set_attribute("scale", 3.0);
  module({filled({4, 3})});
  const GraphInfo after = only_graph(module);
  EXPECT_EQ(after.invalidations, 1U);
  EXPECT_TRUE(std::any_of(after.misses.begin(), after.misses.end(),
                          [](const MissCount& miss) { return miss.reason == MissReason::kDtype; }));
}

TEST(PublicExplain, nets_count_the_calls_that_their_twin_answered) {
  Options options;
  options.tiering = "compile=blocking,disable_passes=fuse_products";
  const Module module = Module::load("tests/data/zoo/mlp3.pt", options);
  for (int i = 0; i < 4; ++i) module({filled({3, 20})});
  const auto net_of = [&] {
    const PlanInfo plan = only_graph(module).plans.at(0);
    for (const FusedRegion& region : plan.regions) {
      if (region.kind == FusedRegion::Kind::kNet) return region;
    }
    ADD_FAILURE() << "no net";
    return FusedRegion();
  };
  const FusedRegion before = net_of();
  EXPECT_TRUE(contains(before.operators, "aten::linear"));
  EXPECT_EQ(before.twin_calls, 0U);
  EXPECT_GT(before.held_bytes, 0U);
  module({filled({5, 20})});  // A size that the net has not been compiled for.
  EXPECT_EQ(net_of().twin_calls, 1U);
}

TEST(PublicExplain, flush_drops_plans_and_the_module_answers_on) {
  const Module module = load("compile=blocking");
  for (int i = 0; i < 4; ++i) module({filled({2})});
  EXPECT_EQ(only_graph(module).plans.size(), 1U);
  module.flush();
  GraphInfo graph = only_graph(module);
  EXPECT_TRUE(graph.plans.empty());
  EXPECT_EQ(graph.state, GraphState::kProfiling);
  EXPECT_EQ(graph.plans_made, 0U);
  EXPECT_EQ(module({filled({2})}).to_tensor().data<float>()[1], 3.0F);
  for (int i = 0; i < 3; ++i) module({filled({2})});
  EXPECT_EQ(only_graph(module).plans.size(), 1U);
}

TEST(PublicExplain, waits_for_compilation_no_longer_than_asked) {
  const Module module = load("compile=background,compile_delay_ms=300,profiled_runs=1");
  EXPECT_TRUE(module.wait_for_compilation(std::chrono::milliseconds(0)));
  module({filled({2})});
  EXPECT_FALSE(module.wait_for_compilation(std::chrono::milliseconds(1)));
  EXPECT_EQ(only_graph(module).state, GraphState::kJobQueued);
  EXPECT_TRUE(module.wait_for_compilation());
  EXPECT_EQ(only_graph(module).state, GraphState::kSpecialized);
  EXPECT_TRUE(module.wait_for_compilation(std::chrono::milliseconds::max()));
}

TEST(PublicExplain, gives_a_methods_graph_and_plan_as_text) {
  const Module module = load("compile=off");
  EXPECT_NE(module.graph_text().find("aten::mul.Scalar(%x"), std::string::npos)
      << module.graph_text();
  EXPECT_NE(module.plan_text("forward").find("aten::relu"), std::string::npos);
  EXPECT_THROW(module.graph_text("backward"), Error);
  EXPECT_THROW(module.plan_text("backward"), Error);
  module({filled({2})});
  EXPECT_EQ(only_graph(module).state, GraphState::kCompileOff);
}

TEST(PublicSignature, of_a_script_has_names_types_and_defaults) {
  const Signature signature = load("compile=off").signature();
  EXPECT_EQ(signature.text, "forward(Tensor x, int by=3) -> Tensor");
  EXPECT_FALSE(signature.is_exported);
  ASSERT_EQ(signature.inputs.size(), 2U);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.inputs[0].type, "Tensor");
  EXPECT_FALSE(signature.inputs[0].default_value);
  EXPECT_EQ(signature.inputs[1].default_value.value().to_int(), 3);
  ASSERT_EQ(signature.outputs.size(), 1U);
  EXPECT_EQ(signature.outputs[0].type, "Tensor");
  EXPECT_THROW(load("compile=off").signature("backward"), Error);
}

TEST(PublicSignature, of_an_exported_program_has_dtypes_symbolic_sizes_and_ranges) {
  const Signature signature = Module::load("tests/data/zoo/bert_base.pt2").signature();
  EXPECT_TRUE(signature.is_exported);
  ASSERT_EQ(signature.inputs.size(), 3U);
  EXPECT_EQ(signature.inputs[0].name, "args_0");
  EXPECT_EQ(signature.inputs[0].dtype, DType::kInt64);
  const std::vector<SizeSpec>& sizes = signature.inputs[0].sizes.value();
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[1].text, "s50");
  EXPECT_FALSE(sizes[1].value);
  EXPECT_EQ(sizes[1].least, 0);
  EXPECT_EQ(sizes[1].most, 64);
  EXPECT_FALSE(sizes[0].most);
  EXPECT_EQ(signature.ranges.size(), 2U);
  ASSERT_FALSE(signature.outputs.empty());
  EXPECT_EQ(signature.outputs[0].dtype, DType::kFloat32);
  EXPECT_EQ(signature.outputs[0].sizes.value().at(1).text, "s50");
  EXPECT_EQ(signature.outputs[0].sizes.value().at(1).most, 64);
}

TEST(PublicSignature, of_an_exported_program_names_constants_and_static_sizes) {
  const Signature signature = Module::load("tests/data/zoo/dict_io.pt2").signature();
  ASSERT_GE(signature.inputs.size(), 2U);
  EXPECT_EQ(signature.inputs[0].sizes.value().at(1).value, 6);
  EXPECT_TRUE(signature.inputs[1].is_constant);
  EXPECT_EQ(signature.inputs[1].type, "float");
  EXPECT_EQ(signature.inputs[1].default_value.value().to_float(), 0.5);
}

}  // namespace
