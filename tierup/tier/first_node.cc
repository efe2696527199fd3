#include "tierup/tier/first_node.h"

#include <fmt/format.h>

#include <exception>
#include <unordered_map>

#include "tierup/tier/live_check.h"

namespace tierup::tier {
namespace {

// Copies of what each operator of one plan made, by the values' numbers; of a loop, the first
// trip's.
class Recorder final : public runtime::StepObserver {
 public:
  explicit Recorder(const runtime::Plan& plan) : plan_(plan) {}

  void before(const runtime::Plan&, const runtime::Step&, std::span<const IValue>) override {}
  void after(const runtime::Plan& plan, const runtime::Step& step,
             std::span<const IValue> results) override {
    if (&plan != &plan_) return;
    const ir::Node* node = plan.origin(static_cast<size_t>(&step - plan.steps().data()));
    if (node == nullptr || node->outputs().size() != results.size()) return;
    for (size_t i = 0; i < results.size(); ++i) {
      // A list that is only unpacked stands for its items.
      const ir::Value* output = node->output(i);
      const bool is_unpacked = results[i].is_list() && output->uses().size() == 1 &&
                               output->uses()[0].user != nullptr &&
                               output->uses()[0].user->is(ir::NodeKind::kListUnpack);
      if (!is_unpacked) {
        keep(output, results[i]);
        continue;
      }
      const auto items = output->uses()[0].user->outputs();
      const auto& values = results[i].to_list().items;
      for (size_t k = 0; k < items.size() && k < values.size(); ++k) keep(items[k], values[k]);
    }
  }

  struct Made {
    const ir::Value* value;
    IValue copy;
  };
  const std::vector<Made>& made() const { return made_; }
  const IValue* find(int id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : &made_[found->second].copy;
  }

 private:
  void keep(const ir::Value* value, const IValue& result) {
    if (!result.is_tensor() && !result.is_int() && !result.is_float() && !result.is_bool()) return;
    if (places_.emplace(value->id(), made_.size()).second)
      made_.push_back({value, deep_copy(result)});
  }

  const runtime::Plan& plan_;
  std::vector<Made> made_;
  std::unordered_map<int, size_t> places_;
};

std::string describe(const ir::Value& value) {
  const ir::Node& node = *value.node();
  std::string text = node.display_name();
  if (!value.name().empty()) text += fmt::format(" (%{})", value.name());
  if (!node.range().empty()) text += " at " + node.range().location();
  return text;
}

}  // namespace

std::optional<std::string> first_differing_node(const runtime::Plan& expected,
                                                const runtime::Plan& got, const ObservedRun& run) {
  Recorder wanted(expected);
  Recorder found(got);
  try {
    run(expected, wanted);
    run(got, found);
  } catch (const std::exception&) {
    // What was made until then is compared.
  }
  for (const Recorder::Made& made : wanted.made()) {
    const IValue* other = found.find(made.value->id());
    if (other == nullptr) continue;
    if (const auto difference = first_difference(made.copy, *other))
      return fmt::format("{}: {}", describe(*made.value), *difference);
  }
  return std::nullopt;
}

}  // namespace tierup::tier
