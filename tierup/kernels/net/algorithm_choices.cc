#include "tierup/kernels/net/algorithm_choices.h"

namespace tierup::kernels::net {

AlgorithmChoices& AlgorithmChoices::instance() {
  constexpr size_t kMost = 4096;  // Half a megabyte.
  // Never destroyed: compile jobs of static objects may end after it.
  static auto* const choices = new AlgorithmChoices(kMost);
  return *choices;
}

std::optional<Algorithm> AlgorithmChoices::find(const Key& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = choices_.find(key);
  return found != choices_.end() ? std::optional(found->second) : std::nullopt;
}

void AlgorithmChoices::note(const Key& key, Algorithm algorithm) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (choices_.size() >= most_) choices_.clear();
  choices_.emplace(key, algorithm);
}

}  // namespace tierup::kernels::net
