// InputProfile: what the arguments of a graph looked like over the profiled runs, merged.
//
// A dimension is static while it never varied; dimensions that always had equal sizes carry one
// shape symbol. Merging keeps a running hash of each dimension's history instead of the runs
// themselves, so that a profile has a fixed size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tierup/tensor/ivalue.h"

namespace tierup::profile {

// How a tensor lies in memory, as far as plans care.
enum class MemoryOrder : uint8_t { kContiguous, kChannelsLast, kStrided };
MemoryOrder memory_order_of(const TensorImpl& tensor);

struct DimHistory {
  int64_t last = 0;
  bool varied = false;
  uint64_t history = 0;  // Equal for dimensions that had equal sizes in every run.
};

// One argument.
struct ArgumentProfile {
  enum class Kind : uint8_t { kUnseen, kTensor, kNone, kOther, kMixed };
  Kind kind = Kind::kUnseen;
  // Of tensors; empty once two runs differed.
  std::optional<ScalarType> dtype;
  std::optional<size_t> rank;
  std::optional<MemoryOrder> order;
  std::optional<bool> requires_grad;
  std::vector<DimHistory> dims;  // While the rank is known.
  // Of a bool argument: its value while it never varied (the branches it decides can be dropped).
  std::optional<bool> truth;
};

// Thread rule: none; the owner locks.
class InputProfile {
 public:
  void record(std::span<const IValue> arguments);
  uint32_t run_count() const { return run_count_; }
  const std::vector<ArgumentProfile>& arguments() const { return arguments_; }
  // The tensor type of an argument: exact sizes if `is_static`, else the rank alone; null if it is
  // no tensor. That two dimensions were equal so far is no part of it: nothing guards that.
  TypePtr type_of(size_t argument, bool is_static) const;
  // Sizes that never varied, and one symbol for all dimensions that always had equal sizes.
  std::vector<Dim> symbols_of(size_t argument) const;
  // One line per argument: "0: float32[s0, 3] contiguous".
  std::string to_string() const;

 private:
  void record_tensor(ArgumentProfile& profile, const TensorImpl& tensor);

  uint32_t run_count_ = 0;
  std::vector<ArgumentProfile> arguments_;
};

}  // namespace tierup::profile
