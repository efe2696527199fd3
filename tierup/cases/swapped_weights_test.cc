// Plans that are made for other weights from the plans of older ones answer as tier 0 does with
// these weights, whatever of the older plan followed from its own.
#include <gtest/gtest.h>

#include <filesystem>

#include "tierup/api/model/model.h"
#include "tierup/base/error.h"
#include "tierup/base/mixed_numbers.h"
#include "tierup/cases/model_cases.h"
#include "tierup/tensor/comparison.h"

namespace tierup::api {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 5;

Ref<Model> load(const fs::path& archive, const char* tiering) {
  ModelOptions options;
  options.threads = 1;
  options.tiering.apply(tiering);
  options.print = [](const std::string&) {};
  return Model::load(archive::map_file(archive.string()), std::move(options));
}

// Each number a little larger or smaller, so that none changes its sign.
archive::NamedTensors moved(const archive::NamedTensors& state, uint32_t seed) {
  archive::NamedTensors result;
  for (const auto& [name, tensor] : state) {
    const Tensor copy = deep_copy(IValue(tensor)).to_tensor();
    if (copy.dtype() == ScalarType::kFloat && copy.is_contiguous()) {
      MixedNumbers mixed(seed++);
      for (int64_t i = 0; i < copy.numel(); ++i) copy.data<float>()[i] *= 1 + 0.125F * mixed.next();
    }
    result.emplace_back(name, copy);
  }
  return result;
}

IValue answer(const executor::Servable& servable, const CaseCall& call) {
  static_cast<const Model&>(servable).set_seed(kSeed);
  return servable.serve(deep_copy(make_tuple(call.args)).to_tuple().items, {}, {});
}

// Plans made from older ones, and others.
struct Made {
  int by_successors = 0;
  int from_the_beginning = 0;
};

Made plans_of(const Model& model) {
  Made made;
  for (const tier::GraphReport& graph : model.tiers().report().graphs) {
    for (const tier::PlanReport& plan : graph.plans) {
      const bool is_successor = !plan.steps.empty() && plan.steps[0].name == "other_weights";
      ++(is_successor ? made.by_successors : made.from_the_beginning);
    }
  }
  return made;
}

// Two swaps in a row. Both models are called alike, since some keep count.
void expect_answers_of_new_weights(const fs::path& archive, const CaseCall& call, Made& all) {
  const Ref<Model> model = load(archive, "compile=blocking,profiled_runs=1");
  const Ref<Model> plain = load(archive, "compile=off");
  for (int i = 0; i < 3; ++i) {
    answer(*plain, call);
    answer(*model, call);
  }
  Ref<executor::Servable> older(model.get());
  for (uint32_t swap = 1; swap < 3; ++swap) {
    // Each has them for itself: some write to them.
    const archive::NamedTensors weights = plain->state();
    const Ref<executor::Servable> expected = plain->with_weights(moved(weights, swap), true);
    const Ref<executor::Servable> next = model->with_weights(moved(weights, swap), true);
    next->prepare_like(*older);
    const IValue wanted = answer(*expected, call);
    EXPECT_LT(relative_deviation(answer(*next, call), wanted), 1e-4) << archive << " " << swap;
    const Made made = plans_of(static_cast<const Model&>(*next));
    all.by_successors += made.by_successors;
    all.from_the_beginning += made.from_the_beginning;
    older = next;
  }
}

fs::path first_case_of(const fs::path& archive) {
  const fs::path stem = archive.parent_path() / archive.stem();
  for (const char* end : {".case0.safetensors", ".inputs.safetensors", ".safetensors"}) {
    if (fs::exists(stem.string() + end)) return stem.string() + end;
  }
  return {};
}

TEST(SwappedWeights, answer_for_themselves_in_every_model_of_the_zoo) {
  Made all;
  for (const auto& entry : fs::directory_iterator("tests/data/zoo")) {
    const fs::path& archive = entry.path();
    const fs::path inputs = first_case_of(archive);
    if ((archive.extension() != ".pt" && archive.extension() != ".pt2") || inputs.empty()) continue;
    const ModelCase model_case = read_model_case(inputs.string());
    if (model_case.calls.empty()) continue;
    try {
      // An exported one may be for other sizes than the first call's.
      answer(*load(archive, "compile=off"), model_case.calls[0]);
    } catch (const Error&) {
      continue;
    }
    try {
      expect_answers_of_new_weights(archive, model_case.calls[0], all);
    } catch (const Error& error) {
      ADD_FAILURE() << archive << ": " << error.what();
    }
  }
  EXPECT_GT(all.by_successors, all.from_the_beginning);
  EXPECT_GT(all.from_the_beginning, 0);
}

}  // namespace
}  // namespace tierup::api
