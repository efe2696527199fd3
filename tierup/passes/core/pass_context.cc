// PassContext: cached analyses and counters.
#include "tierup/passes/core/pass.h"

namespace tierup::passes {

template <typename T>
const T& PassContext::cached(Cached<T>& slot) {
  if (slot.analysis == nullptr || slot.edit_count != editor_.edit_count()) {
    slot.analysis = std::make_unique<T>(editor_.graph());
    slot.edit_count = editor_.edit_count();
  }
  return *slot.analysis;
}

const analysis::AliasAnalysis& PassContext::alias() { return cached(alias_); }
const analysis::Liveness& PassContext::liveness() { return cached(liveness_); }

void PassContext::count(std::string_view name, int64_t amount) {
  const auto found = counters_.find(name);
  if (found != counters_.end()) {
    found->second += amount;
  } else {
    counters_.emplace(name, amount);
  }
}

void PassContext::refuse(ops::RefusedOperator refused) {
  count("refused");
  count("refused:" + refused.reason);
  refused_.push_back(std::move(refused));
}

}  // namespace tierup::passes
