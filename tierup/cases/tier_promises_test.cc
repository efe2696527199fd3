// What must not happen when plans are made, guards fail and weights change: effects done twice or
// lost, and plans that answer with weights of before. Tier 0 is the truth throughout.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tierup/api/model/model.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"
#include "tierup/cases/model_cases.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/tensor/comparison.h"

namespace tierup::api {
namespace {

using archive::testing::PickleBuilder;
using archive::testing::ZipBuilder;

constexpr const char* kEveryEffect =
    "class M(Module):\n  __parameters__ = []\n  __buffers__ = [\"total\", ]\n"
    "  total : Tensor\n  lengths : List[int]\n  count : int\n  training : bool\n"
    "  def forward(self: __torch__.M,\n    x: Tensor,\n    fails: bool) -> Tensor:\n"
    "    count = self.count\n"
    "    self.count = torch.add(count, 1)\n"
    "    lengths = self.lengths\n"
    "    _0 = torch.append(lengths, torch.len(x))\n"
    "    total = self.total\n"
    "    _1 = torch.add_(total, 1)\n"
    "    noise = torch.rand([torch.len(x)], dtype=6, layout=0, device=torch.device(\"cpu\"))\n"
    "    if fails:\n"
    "      ops.prim.RaiseException(\"as told\", \"builtins.ValueError\")\n"
    "    else:\n      pass\n"
    "    y = torch.mul(torch.add(x, noise), total)\n"
    "    z = torch.relu(torch.mul(y, x))\n"
    "    return torch.add(z, y)\n";

// The entry guard does not look into the list: what the group of point-wise operators was made for
// is checked by the group, behind the effects.
constexpr const char* kEffectsBeforeAGroup =
    "class M(Module):\n  __parameters__ = []\n  __buffers__ = [\"total\", ]\n"
    "  total : Tensor\n  lengths : List[int]\n  count : int\n  training : bool\n"
    "  def forward(self: __torch__.M,\n    xs: List[Tensor]) -> Tensor:\n"
    "    print(\"called\")\n"
    "    total = self.total\n"
    "    _1 = torch.add_(total, 1)\n"
    "    x = xs[0]\n"
    "    y = torch.mul(torch.add(x, 1), x)\n"
    "    z = torch.relu(torch.mul(y, x))\n"
    "    return torch.add(z, torch.mul(y, total))\n";

constexpr const char* kListThatAnotherMethodWrites =
    "class M(Module):\n  __parameters__ = []\n  __buffers__ = [\"total\", ]\n"
    "  total : Tensor\n  lengths : List[int]\n  count : int\n  training : bool\n"
    "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
    "    y = torch.mul(torch.add(x, 1), torch.len(self.lengths))\n"
    "    return torch.relu(torch.mul(y, x))\n"
    "  def grow(self: __torch__.M,\n    k: int) -> int:\n"
    "    _0 = torch.append(self.lengths, k)\n"
    "    return k\n";

// Has an attribute, a list and a buffer to write to.
std::string model_with_state(const char* code) {
  PickleBuilder pickle;
  pickle.global("__torch__", "M").op(")\x81}(");
  pickle.str("total").tensor("FloatStorage", "0", 1, 0, {}, {});
  pickle.str("lengths").global("torch.jit._pickle", "build_intlist").op("]\x85R");
  pickle.str("count").integer(0).str("training").op("\x89ub");
  return ZipBuilder()
      .add("m/data.pkl", pickle.finish())
      .add("m/data/0", std::string(4, '\0'))
      .add("m/code/__torch__.py", code)
      .add("m/constants.pkl", "\x80\x02).")
      .add("m/version", "3\n")
      .finish();
}

// A module without attributes of its own, with this method.
std::string stateless_model(const std::string& method) {
  PickleBuilder pickle;
  pickle.global("__torch__", "M").op(")\x81}(").str("training").op("\x89ub");
  const std::string head =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n";
  return ZipBuilder()
      .add("m/data.pkl", pickle.finish())
      .add("m/code/__torch__.py", head + method)
      .add("m/constants.pkl", "\x80\x02).")
      .add("m/version", "3\n")
      .finish();
}

ModelOptions with_tiering(const std::string& text) {
  ModelOptions options;
  options.tiering = {};
  options.tiering.apply(text);
  return options;
}

uint32_t plans_made(const Model& model) {
  model.tiers().wait_for_jobs();
  uint32_t count = 0;
  for (const tier::GraphReport& graph : model.tiers().report().graphs) count += graph.plans_made;
  return count;
}

IValue ramp(IntVector sizes, float step) {
  const Tensor tensor = Tensor::empty(std::move(sizes), ScalarType::kFloat);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<float>()[i] = step * static_cast<float>(i + 1);
  }
  return tensor;
}

// The answer, or the error's words, and the whole state behind it.
std::string outcome(const Model& model, int64_t length, bool fails) {
  std::string text;
  try {
    text = to_text(model.call({ramp({length}, 0.25F), fails}));
  } catch (const Error& error) {
    text = error.message();
  }
  for (const char* name : {"count", "lengths", "total"}) {
    text += " | " + to_text(model.attribute(name));
  }
  return text;
}

class TierPromises : public testing::TestWithParam<const char*> {};

TEST_P(TierPromises, every_effect_happens_once_in_every_call) {
  const std::string bytes = model_with_state(kEveryEffect);
  const auto load = [&](const std::string& tiering) {
    return Model::load(archive::own_bytes(bytes), with_tiering(tiering));
  };
  const Ref<Model> truth = load("compile=off");
  const Ref<Model> model = load(GetParam());
  const std::vector<int64_t> lengths = {4, 4, 4, 5, 4, 1, 6, 7, 0, 4, 5, 33};
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < lengths.size(); ++i) {
      const bool fails = i % 5 == static_cast<size_t>(round);
      ASSERT_EQ(outcome(*model, lengths[i], fails), outcome(*truth, lengths[i], fails))
          << "round " << round << " call " << i;
      if (i == 4) model->tiers().wait_for_jobs();
    }
  }
  EXPECT_EQ(model->attribute("count").to_int(), 4 * static_cast<int64_t>(lengths.size()));
  EXPECT_GE(plans_made(*model), 1U);
  // Its own writes void no plan.
  for (const tier::GraphReport& graph : model->tiers().report().graphs) {
    EXPECT_EQ(graph.invalidations, 0U);
  }
}

// T83 of the design: a guard inside of a plan fails, at random, a thousand times.
TEST_P(TierPromises, effects_before_an_inner_guard_that_fails_happen_once) {
  const std::string bytes = model_with_state(kEffectsBeforeAGroup);
  int prints[2] = {0, 0};
  const auto load = [&](const std::string& tiering, int& printed) {
    ModelOptions options = with_tiering(tiering);
    options.print = [&printed](const std::string&) { ++printed; };
    return Model::load(archive::own_bytes(bytes), options);
  };
  const Ref<Model> truth = load("compile=off", prints[0]);
  // Plans serve whether they are faster or not.
  const Ref<Model> model = load(std::string(GetParam()) + ",plan_trial=off", prints[1]);
  std::minstd_rand random(5);
  constexpr ScalarType kDtypes[] = {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kLong,
                                    ScalarType::kHalf};
  int calls = 0;
  for (; calls < 1000; ++calls) {
    // Begins as it will be compiled for; a third of the calls stays so.
    const bool is_usual = calls < 8 || random() % 3 == 0;
    IntVector sizes{4, is_usual ? 4 : static_cast<int64_t>(random() % 4)};
    if (!is_usual && random() % 3 == 0) sizes.push_back(2);
    Tensor input = kernels::to_dtype(ramp(sizes, 0.25F).to_tensor(),
                                     is_usual ? ScalarType::kFloat : kDtypes[random() % 4]);
    if (!is_usual && random() % 2 == 0) {
      IntVector strides(input.strides().begin(), input.strides().end());
      std::swap(sizes[0], sizes[1]);
      std::swap(strides[0], strides[1]);
      input = input.as_view(sizes, strides, 0);
    }
    const IValue list = make_tensor_list({input});
    ASSERT_EQ(to_text(model->call({list})), to_text(truth->call({list}))) << "call " << calls;
    if (calls < 8) model->tiers().wait_for_jobs();
  }
  EXPECT_EQ(model->attribute("total").to_tensor().data<float>()[0], static_cast<float>(calls));
  EXPECT_EQ(prints[0], calls);
  EXPECT_EQ(prints[1], calls);
  const tier::GraphReport graph = model->tiers().report().graphs.at(0);
  if (graph.tier0_calls == static_cast<uint64_t>(calls)) return;  // guards_fail=on.
  EXPECT_EQ(plans_made(*model), 1U);
  EXPECT_GT(graph.plans.at(0).hits, 900U);
  EXPECT_NE(graph.plans.at(0).graph.find("tierup::fusion_group"), std::string::npos);
}

// Nothing tells of the write: plans that take the list for constant look at it in each call.
TEST_P(TierPromises, a_list_that_another_method_writes_is_read_anew) {
  const std::string bytes = model_with_state(kListThatAnotherMethodWrites);
  const Ref<Model> truth = Model::load(archive::own_bytes(bytes), with_tiering("compile=off"));
  const Ref<Model> model = Model::load(archive::own_bytes(bytes),
                                       with_tiering(std::string(GetParam()) + ",plan_trial=off"));
  for (int64_t round = 0; round < 3; ++round) {
    for (int call = 0; call < 6; ++call) {
      const IValue x = ramp({4}, 0.25F);
      ASSERT_EQ(to_text(model->call({x})), to_text(truth->call({x}))) << round << " " << call;
      model->tiers().wait_for_jobs();
    }
    const tier::GraphReport graph = model->tiers().report().graphs.at(0);
    if (round == 0 && !graph.plans.empty()) {
      EXPECT_EQ(graph.plans.at(0).graph.find("GetAttr"), std::string::npos);
    }
    for (const auto& each : {model, truth}) each->run("grow", {IValue(round)});
  }
}

// A specialised plan knows the sizes: the dropped numbers themselves have no use there.
TEST_P(TierPromises, numbers_drawn_for_their_sizes_alone_are_drawn) {
  const std::string bytes = stateless_model(
      "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
      "    dropped = torch.dropout(x, 0.5, True)\n"
      "    noise = torch.rand_like(x)\n"
      "    n = torch.add(torch.size(dropped, 0), torch.len(noise))\n"
      "    drawn = torch.rand([3], dtype=6, layout=0, device=torch.device(\"cpu\"))\n"
      "    return torch.mul(drawn, n)\n");
  const Ref<Model> truth = Model::load(archive::own_bytes(bytes), with_tiering("compile=off"));
  const Ref<Model> model = Model::load(archive::own_bytes(bytes), with_tiering(GetParam()));
  for (int call = 0; call < 6; ++call) {
    const IValue input = ramp({call < 4 ? 4 : 6}, 0.25F);
    ASSERT_EQ(to_text(model->call({input})), to_text(truth->call({input}))) << "call " << call;
    model->tiers().wait_for_jobs();
  }
  EXPECT_GE(plans_made(*model), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Tiering, TierPromises,
    testing::Values("compile=blocking,profiled_runs=1", "compile=background,profiled_runs=1",
                    "compile=blocking,profiled_runs=1,guards_fail=on",
                    "policy=reference,compile=blocking,profiled_runs=1",
                    "policy=reference,compile=blocking,profiled_runs=1,fusion_strategy=static:1",
                    "compile=blocking,profiled_runs=1,verify_rate=1",
                    "compile=blocking,profiled_runs=1,poison=on,verify_passes=on"),
    [](const auto& info) { return "tiering_" + std::to_string(info.index); });

// Calls that ran branches at the same time, as the reports tell.
int branched_calls(const Model& model) {
  std::string text;
  for (const tier::GraphReport& graph : model.tiers().report().graphs) {
    text += graph.detail;
    for (const tier::PlanReport& plan : graph.plans) {
      for (const std::string& note : plan.notes) text += note;
    }
  }
  const std::string words = "branches at the same time: in ";
  const size_t at = text.find(words);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + words.size());
}

// Timed for two calls, then each independent branch is handed over: of a net that has some. A
// script has them once it is frozen.
TEST(Branches, of_a_net_run_at_the_same_time_and_give_what_tier_0_gives) {
  const std::pair<const char*, const char*> kWays[] = {
      {"googlenet.pt2", "compile=off"}, {"googlenet.pt", "compile=blocking,profiled_runs=2"}};
  const ModelCase recorded = read_model_case("tests/data/zoo/googlenet.case0.safetensors");
  for (const auto& [name, compile] : kWays) {
    const auto load = [name = name](const std::string& tiering) {
      return Model::load(archive::map_file(std::string("tests/data/zoo/") + name),
                         with_tiering(tiering));
    };
    const IValue expected = load("compile=off")->call(recorded.calls[0].args);
    const Ref<Model> model = load(std::string("inter_op_threads=3,inter_op_grain_us=0,") + compile);
    for (int i = 0; i < 5; ++i) {
      const IValue result = model->call(recorded.calls[0].args);
      EXPECT_LT(relative_deviation(result, expected), 1e-5) << name << ", call " << i;
    }
    EXPECT_GE(branched_calls(*model), 3) << name;
  }
}

class ChangedWeights : public testing::TestWithParam<const char*> {
 protected:
  static Ref<Model> load(const std::string& tiering) {
    return Model::load(archive::map_file(std::string("tests/data/zoo/") + GetParam()),
                       with_tiering(tiering));
  }
  // The same change on both, then the same answers, also of plans made since.
  template <typename Change>
  static void expect_followed(const Change& change) {
    const Ref<Model> model = load("compile=blocking,profiled_runs=1");
    const IValue input = ramp({2, 20}, 0.125F);
    for (int i = 0; i < 3; ++i) model->call({input});
    ASSERT_GE(plans_made(*model), 1U);
    const Ref<Model> truth = load("compile=off");
    const IValue before = truth->call({input});
    change(*model);
    change(*truth);
    const IValue expected = truth->call({input});
    ASSERT_GT(relative_deviation(before, expected), 0.1);
    for (int i = 0; i < 4; ++i) {
      EXPECT_LT(relative_deviation(model->call({input}), expected), 1e-5) << "call " << i;
    }
  }
};

TEST_P(ChangedWeights, of_a_state_dict_are_those_that_answer) {
  expect_followed([](const Model& model) {
    archive::NamedTensors state;
    for (const auto& [name, tensor] : model.state()) {
      const Tensor copy = Tensor::empty(tensor.sizes(), tensor.dtype());
      kernels::fill_(copy, Scalar(0.125));
      state.emplace_back(name, copy);
    }
    model.load_state(state, true);
  });
}

TEST_P(ChangedWeights, written_in_place_are_those_that_answer) {
  expect_followed([](const Model& model) {
    for (const auto& [name, tensor] : model.state()) kernels::fill_(tensor, Scalar(-0.25));
  });
}

// The callers' threads only tell a job of the queue, which frees what the plan packed; also once
// the budget of specialisations is spent.
TEST_P(ChangedWeights, take_the_outdated_plan_away_in_a_job) {
  const Ref<Model> model =
      load("profiled_runs=1,policy=reference,fusion_strategy=dynamic:1,plan_trial=off");
  const IValue input = ramp({2, 20}, 0.125F);
  for (int i = 0; i < 3; ++i) {
    model->call({input});
    model->tiers().wait_for_jobs();
  }
  ASSERT_EQ(plans_made(*model), 1U);
  for (const auto& [name, tensor] : model->state()) kernels::fill_(tensor, Scalar(-0.25));
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { model->call({input}); });
  for (std::thread& caller : callers) caller.join();
  model->tiers().wait_for_jobs();
  size_t invalidations = 0;
  for (const tier::GraphReport& graph : model->tiers().report().graphs) {
    EXPECT_TRUE(graph.plans.empty());
    invalidations += graph.invalidations;
  }
  EXPECT_EQ(invalidations, 1U);
}

// Kernels are made for a number of threads, and the thread that swaps has another one.
TEST_P(ChangedWeights, of_a_new_generation_are_compiled_before_its_first_call) {
  ModelOptions options = with_tiering("compile=background,profiled_runs=1");
  options.threads = 1;
  const Ref<Model> model =
      Model::load(archive::map_file(std::string("tests/data/zoo/") + GetParam()), options);
  const IValue input = ramp({2, 20}, 0.125F);
  for (int i = 0; i < 6; ++i) {
    model->call({input});
    model->tiers().wait_for_jobs();
  }
  const Ref<executor::Servable> next = model->with_weights(model->state(), true);
  next->prepare_like(*model);
  const std::shared_ptr<tier::CompileQueue>& queue = model->tiers().queue();
  const uint64_t before = queue->compilations();
  ASSERT_GE(before, 1U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_LT(relative_deviation(next->serve({input}, {}, {}), model->call({input})), 1e-6);
    queue->wait_idle();
  }
  EXPECT_EQ(queue->compilations(), before);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ChangedWeights, testing::Values("mlp3.pt", "mlp3.pt2"),
                         [](const auto& info) {
                           return std::string(info.param).ends_with("2") ? "exported"
                                                                         : "torchscript";
                         });

}  // namespace
}  // namespace tierup::api
