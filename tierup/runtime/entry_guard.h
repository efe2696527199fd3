// EntryGuard: what a specialised plan assumes, checked before its first step.
//
// Cheapest checks first: policy, then dtype, rank, order and sizes of the arguments, then the
// versions of the weights and objects that the plan took for constant. A failed guard is an
// outcome with a reason, never an error; nothing has run yet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tierup/ops/table/run_context.h"
#include "tierup/profile/graph_profile.h"
#include "tierup/runtime/weight_successors.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

enum class GuardOutcome : uint8_t {
  kHolds,
  kPolicy,        // Grad mode or another policy bit differs.
  kArgumentKind,  // A tensor where none was, or the reverse; another bool.
  kDtype,
  kRank,
  kOrder,  // Strides of another kind.
  kSizes,
  kRequiresGrad,
  kWeightsChanged,  // A tensor or attribute that was constant has been written.
};
inline constexpr size_t kGuardOutcomeCount = 9;
// One sentence for reports.
std::string_view guard_outcome_text(GuardOutcome outcome);

struct ArgumentGuard {
  size_t argument;
  bool is_tensor = true;
  std::optional<bool> truth;  // Of a bool argument.
  std::optional<ScalarType> dtype;
  std::optional<size_t> rank;
  std::optional<profile::MemoryOrder> order;
  std::optional<bool> requires_grad;
  std::vector<std::optional<int64_t>> sizes;  // Per dimension; empty: any.
};

class EntryGuard {
 public:
  // From a profile: exact sizes if `is_static`. Only facts that the profile still holds are
  // assumed.
  static EntryGuard from_profile(const profile::GraphProfile& profile, bool is_static,
                                 const ops::Policy& policy);

  // The versions are read now; take them before the values are used, so that a write in between
  // is noticed.
  void observe(const Ref<Storage>& storage);
  // The attribute in this slot. Writes to the object's other attributes do not matter: a model may
  // keep its state beside its weights.
  void observe(const Ref<ObjectValue>& object, size_t slot);

  // The list's items. Nothing tells of writes to a list: they are compared each time.
  void observe(const Ref<ListValue>& list);

  // The same for the successors of what was observed, whose versions are read now. Nothing where an
  // observed attribute has become more than its successor.
  std::optional<EntryGuard> over(const WeightSuccessors& successors) const;
  bool observes(const Storage* storage) const;

  // Allocates nothing and takes no lock.
  GuardOutcome check(std::span<const IValue> arguments, const ops::Policy& policy) const;
  // Whether nothing observed has been written since.
  bool weights_hold() const;
  const std::vector<ArgumentGuard>& arguments() const { return arguments_; }
  size_t observed_count() const { return storages_.size() + objects_.size() + lists_.size(); }
  std::string to_string() const;

 private:
  struct ObservedObject {
    Ref<ObjectValue> object;
    uint32_t version;  // While it is this, nothing was written and no attribute need be compared.
    std::vector<std::pair<size_t, IValue>> attributes;  // By slot, as they were.
  };
  static bool holds(const ObservedObject& observed);
  GuardOutcome check_argument(const ArgumentGuard& guard, const IValue& value) const;

  ops::Policy policy_;
  std::vector<ArgumentGuard> arguments_;
  std::vector<std::pair<Ref<Storage>, uint32_t>> storages_;
  std::vector<ObservedObject> objects_;
  std::vector<std::pair<Ref<ListValue>, std::vector<IValue>>> lists_;  // And their items.
};

}  // namespace tierup::runtime
