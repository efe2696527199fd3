// AlgorithmChoices: what was measured to be fastest, by shape, for the whole process.
//
// A transformer has the same few products in each layer, a served model the same convolutions in
// each generation of weights: which algorithm does them best is a fact of the machine and the
// shape, and is measured once. Keys name numbers alone, so that a file may keep them one day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "tierup/kernels/net/weight_store.h"

namespace tierup::kernels::net {

// Thread rule: any thread. Two that measure the same at once both note their choice; the first
// stays.
class AlgorithmChoices {
 public:
  // The geometry, and whatever else the choice depends on.
  using Key = std::vector<int64_t>;

  // The process's own.
  static AlgorithmChoices& instance();

  // Forgets everything when there are more: whoever asks for ever new shapes measures anew.
  explicit AlgorithmChoices(size_t most) : most_(most) {}
  AlgorithmChoices(const AlgorithmChoices&) = delete;
  AlgorithmChoices& operator=(const AlgorithmChoices&) = delete;

  std::optional<Algorithm> find(const Key& key) const;
  void note(const Key& key, Algorithm algorithm);

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::map<Key, Algorithm> choices_;
};

}  // namespace tierup::kernels::net
