// Operators and delegates of a plugin under TorchScript and exported models.
#include <gtest/gtest.h>

#include "plugin_fixture.h"
#include "tierup/archive/model_archive.h"

namespace {

using namespace tierup::v1;
using namespace tierup::fixture;

Module load(const std::string& body, const std::vector<std::string>& plugins) {
  Options options;
  options.plugins = plugins;
  return load_methods(body, options);
}

std::vector<float> values(const Value& value) {
  const Tensor tensor = value.to_tensor().contiguous();
  return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
}

const char* const kScaleTwice =
    "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
    "    return ops.my.scale(ops.my.scale(x), 0.25)\n";

TEST(PluginOperators, run_with_defaults_and_without) {
  const Module module = load(kScaleTwice, {TEST_OPERATORS});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(values(module({floats({1, -2, 3})})), (std::vector<float>{0.5F, -1, 1.5F}));
  }
}

TEST(PluginOperators, take_and_give_numbers_and_lists) {
  const Module module = load(
      "  def forward(self: __torch__.M,\n    x: Tensor) -> Tuple[float, int]:\n"
      "    a, b = ops.my.sum_and_count(x, [1, 10])\n    return (a, b)\n",
      {TEST_OPERATORS});
  const std::vector<Value> result = module({floats({1, 2, 3})}).items();
  EXPECT_EQ(result[0].to_float(), 1 + 20 + 3);
  EXPECT_EQ(result[1].to_int(), 3);
}

TEST(PluginOperators, that_write_their_argument_are_kept_in_order) {
  const Module module = load(
      "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
      "    y = torch.clone(x)\n    z = torch.add(y, 1)\n    _0 = ops.my.fill_(y, 5.)\n"
      "    return torch.add(z, y)\n",
      {TEST_OPERATORS});
  EXPECT_EQ(values(module({floats({1, 2})})), (std::vector<float>{7, 8}));
}

TEST(PluginOperators, failures_carry_the_plugins_words) {
  const Module module = load(kScaleTwice, {TEST_OPERATORS});
  const std::string failure = failure_of([&] { module({floats({1}).to(DType::kFloat64)}); });
  EXPECT_TRUE(has(failure, "my::scale: x must be float32")) << failure;
}

TEST(PluginOperators, that_are_absent_are_listed_at_load) {
  const std::string failure = failure_of([] {
    load(
        "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
        "    y = ops.my.scale(x)\n    z = ops.other.thing(x)\n    return torch.add(y, z)\n",
        {});
  });
  EXPECT_TRUE(has(failure, "unsupported")) << failure;
  EXPECT_TRUE(has(failure, "my::scale")) << failure;
  EXPECT_TRUE(has(failure, "other::thing")) << failure;
}

TEST(PluginLibraries, that_are_none_are_refused) {
  EXPECT_TRUE(has(failure_of([] { load(kScaleTwice, {"/no/such/plugin.so"}); }),
                  "not_found: cannot load the plugin /no/such/plugin.so"));
  EXPECT_TRUE(has(failure_of([] { load(kScaleTwice, {TEST_OTHER_ABI}); }),
                  "follows ABI 99, this build has 1"));
  EXPECT_TRUE(has(failure_of([] {
                    load(kScaleTwice, {TEST_OPERATORS, TEST_OPERATORS});
                  }),
                  "the operator my::scale is there already"));
}

TEST(PluginLibraries, that_are_absent_are_all_named_in_one_error) {
  const std::string failure = failure_of([] {
    load(kScaleTwice, {"/no/such/first.so", TEST_OPERATORS, TEST_OTHER_ABI, "/no/such/second.so"});
  });
  EXPECT_TRUE(has(failure, "not_found: 3 plugins cannot be used")) << failure;
  EXPECT_TRUE(has(failure, "cannot load the plugin /no/such/first.so: ")) << failure;
  EXPECT_TRUE(has(failure, "follows ABI 99, this build has 1")) << failure;
  EXPECT_TRUE(has(failure, "cannot load the plugin /no/such/second.so: ")) << failure;
  EXPECT_FALSE(has(failure, TEST_OPERATORS)) << failure;
}

TEST(PluginOperators, serve_an_exported_program) {
  Options options;
  options.plugins = {TEST_OPERATORS};
  const Executor executor("tests/data/plugin/custom_op.pt2", {}, options);
  EXPECT_EQ(values(executor.run_flat({floats({1, 2, 3})})[0]), (std::vector<float>{6, 12, 18}));
  EXPECT_TRUE(has(failure_of([] { Executor("tests/data/plugin/custom_op.pt2"); }), "my::scale"));
}

// After run_decompositions, PyTorch hands writing operators over as auto_functionalized_v2.
TEST(PluginOperators, that_write_serve_a_functionalized_program) {
  Options options;
  options.plugins = {TEST_OPERATORS};
  const Module module = Module::load("tests/data/plugin/functionalized.pt2", options);
  EXPECT_EQ(values(module({floats({1, 2, 3})})), (std::vector<float>{4, 5, 6}));
  EXPECT_TRUE(has(failure_of([] { Module::load("tests/data/plugin/functionalized.pt2"); }),
                  "auto_functionalized_v2"));
}

const char* const kChain =
    "  def forward(self: __torch__.M,\n    x: Tensor,\n    y: Tensor) -> Tuple[Tensor, int]:\n"
    "    a = torch.add(x, y)\n    b = torch.relu(a)\n    c = torch.add(b, x)\n"
    "    return (c, ops.my.delegated())\n";

TEST(PluginDelegates, run_a_subgraph_or_decline_it) {
  const Module module = load(kChain, {TEST_DELEGATE});
  const auto runs = [](const Value& result) { return result.items()[1].to_int(); };
  const Value first = module({floats({1, -5, 2}), floats({1, 1, -3})});
  EXPECT_EQ(values(first.items()[0]), (std::vector<float>{3, -5, 2}));
  const Value second = module({floats({1, -5, 2}), floats({1, 1, -3})});
  EXPECT_EQ(runs(second), runs(first) + 1);
  // Broadcasting is beyond it: the host computes the same nodes.
  const Value third = module({floats({1, -5, 2}), floats({1})});
  EXPECT_EQ(values(third.items()[0]), (std::vector<float>{3, -5, 5}));
  EXPECT_EQ(runs(third), runs(second));
}

// An archive with a compiled model alone.
std::string make_package(const std::string& program) {
  tierup::archive::testing::ZipBuilder zip;
  zip.add("m/archive_format", "pt2");
  zip.add("m/archive_version", "0");
  zip.add("m/data/aotinductor/model/program.so", program);
  zip.add("m/data/aotinductor/model/program_metadata.json", R"({"AOTI_DEVICE_KEY": "cpu"})");
  return zip.finish();
}

Module load_package(const std::string& program, const std::vector<std::string>& plugins) {
  const std::string archive = make_package(program);
  Options options;
  options.plugins = plugins;
  options.warn = [](const std::string&) {};
  return Module::load(std::as_bytes(std::span(archive.data(), archive.size())), options);
}

TEST(PluginPackages, compiled_models_run_in_the_delegate_that_takes_them) {
  const Module module = load_package("negate", {TEST_DELEGATE});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(values(module({floats({1, -2, 3})})), (std::vector<float>{-1, 2, -3}));
  }
  Executor executor(module);
  EXPECT_EQ(values(executor.run_flat({floats({4})})[0]), (std::vector<float>{-4}));
}

TEST(PluginPackages, without_a_delegate_the_error_says_what_would_take_them) {
  const std::string failure = failure_of([] { load_package("negate", {}); });
  EXPECT_TRUE(has(failure, "unsupported: ")) << failure;
  EXPECT_TRUE(has(failure, "only an AOTInductor library for cpu")) << failure;
  EXPECT_TRUE(has(failure, "name a delegate that runs such libraries")) << failure;
}

TEST(PluginPackages, delegates_say_why_they_cannot_load_a_model) {
  const std::string failure = failure_of([] { load_package("double", {TEST_DELEGATE}); });
  EXPECT_TRUE(has(failure,
                  "the delegate negated cannot load the compiled model 'model': the "
                  "program is not 'negate'"))
      << failure;
}

// The exported program custom_op (6x by my::scale, three numbers) and a compiled library of the
// same model ("negate", so that it shows which of them ran) in one archive.
Module load_program_and_library(const std::vector<std::string>& plugins) {
  const auto program = tierup::archive::ModelArchive::open("tests/data/plugin/custom_op.pt2");
  tierup::archive::testing::ZipBuilder zip;
  for (const auto& entry : program->zip().entries()) {
    zip.add("m/" + entry.name.substr(entry.name.find('/') + 1), program->zip().read(entry));
  }
  zip.add("m/data/aotinductor/model/program.so", "negate");
  zip.add("m/data/aotinductor/model/program_metadata.json", R"({"AOTI_DEVICE_KEY": "cpu"})");
  const std::string archive = zip.finish();
  Options options;
  options.plugins = plugins;
  return Module::load(std::as_bytes(std::span(archive.data(), archive.size())), options);
}

TEST(PluginPackages, a_delegate_computes_a_program_by_the_library_beside_it) {
  for (const std::vector<std::string>& plugins :
       {std::vector<std::string>{TEST_DELEGATE}, {TEST_OPERATORS, TEST_DELEGATE}}) {
    const Module module = load_program_and_library(plugins);
    EXPECT_EQ(values(module({floats({1, -2, 3})})), (std::vector<float>{-1, 2, -3}));
    // The program's signature checks what the library would take.
    EXPECT_TRUE(has(failure_of([&] { module({floats({1, 2})}); }), "dimension 0 is 2"));
    EXPECT_TRUE(has(failure_of([&] { module({}); }), "'x'"));
    EXPECT_EQ(values(Executor(module).run_flat({floats({4, 5, 6})})[0]),
              (std::vector<float>{-4, -5, -6}));
  }
}

TEST(PluginPackages, without_a_delegate_the_program_runs_whatever_library_stands_beside_it) {
  const Module module = load_program_and_library({TEST_OPERATORS});
  EXPECT_EQ(values(module({floats({1, -2, 3})})), (std::vector<float>{6, -12, 18}));
  const std::string failure = failure_of([] { load_program_and_library({}); });
  EXPECT_TRUE(has(failure, "my::scale")) << failure;
}

TEST(PluginPackages, wrong_calls_are_errors) {
  const Module module = load_package("negate", {TEST_DELEGATE});
  EXPECT_TRUE(has(failure_of([&] { module({Value(3)}); }), "must be a tensor"));
  EXPECT_TRUE(has(failure_of([&] { module({}); }), "invalid_argument"));
  EXPECT_TRUE(has(failure_of([&] { module({floats({1}).to(DType::kFloat64)}); }),
                  "only float32 is negated"));
  const Executor executor(module);
  EXPECT_TRUE(has(failure_of([&] { executor.run_flat({}); }), "takes 1 flat inputs but got 0"));
  EXPECT_TRUE(has(failure_of([&] { executor.swap_weights({{"w", floats({1})}}); }), "unexpected"));
}

TEST(PluginDelegates, are_told_with_the_nodes_that_they_run) {
  const Module module = load(
      "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
      "    return torch.relu(torch.add(torch.relu(x), x))\n",
      {TEST_DELEGATE});
  const std::vector<DelegateInfo> delegates = module.delegates();
  ASSERT_EQ(delegates.size(), 2U);
  EXPECT_EQ(delegates[0].name, "chain");
  EXPECT_EQ(delegates[0].library, TEST_DELEGATE);
  EXPECT_EQ(delegates[0].nodes, 1U);
  EXPECT_FALSE(delegates[0].takes_packages);
  EXPECT_EQ(delegates[1].name, "negated");
  EXPECT_TRUE(delegates[1].takes_packages);
  EXPECT_EQ(delegates[1].nodes, 0U);
  EXPECT_EQ(Executor(module).delegates().size(), 2U);
}

}  // namespace
