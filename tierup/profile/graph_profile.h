// GraphProfile: what the arguments and values of a graph looked like over the profiled runs,
// merged.
//
// A run is recorded by itself, by one thread, and merged into the graph's profile when it ended
// well. A dimension is static while it never varied; dimensions that had equal sizes in every run
// carry one shape symbol, wherever in the graph they stand. Merging keeps a running hash of each
// dimension's history instead of the runs themselves, so that a profile has a fixed size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tierup/ir/value_hints.h"
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

// An argument, or a value that a node makes.
struct ValueProfile {
  enum class Kind : uint8_t { kUnseen, kTensor, kNone, kOther, kMixed };
  Kind kind = Kind::kUnseen;
  // Of tensors; empty once two sightings differed.
  std::optional<ScalarType> dtype;
  std::optional<size_t> rank;
  std::optional<MemoryOrder> order;
  std::optional<bool> requires_grad;
  std::vector<DimHistory> dims;  // While the rank is known.
  // While sightings agree in them, of tensors that are not contiguous.
  std::optional<IntVector> strides;
  // Of a bool: its value while it never varied (the branches it decides can be dropped).
  std::optional<bool> truth;

  // One more sighting within a run.
  void record(const IValue& value);
  // A whole run's sightings.
  void merge(const ValueProfile& run);
  // What a guard over this profile checks, as a type: exact sizes if `is_static`, else the rank
  // alone; null if it was no tensor. That two dimensions were equal is no part of it.
  TypePtr type(bool is_static) const;
  // All that was seen of a tensor: sizes that never varied are static, strides are there where
  // they are not those of a contiguous tensor.
  TensorFacts facts() const;

 private:
  void record_tensor(const TensorImpl& tensor);
};

struct BranchProfile {
  uint64_t taken = 0;  // Times the condition was true.
  uint64_t left = 0;
};

struct TripProfile {
  int64_t least = 0;
  int64_t most = 0;
  uint64_t entries = 0;
};

// What the node that makes a value took, its kernel alone.
struct TimeProfile {
  double nanoseconds = 0;
  uint64_t executions = 0;

  double each() const {
    return executions == 0 ? 0 : nanoseconds / static_cast<double>(executions);
  }
};

// Thread rule: none; the owner locks.
class GraphProfile {
 public:
  GraphProfile() = default;
  GraphProfile(size_t arguments, size_t values, size_t branches, size_t loops)
      : arguments_(arguments),
        values_(values),
        times_(values),
        branches_(branches),
        loops_(loops) {}

  // A run of which only the arguments are known.
  void record(std::span<const IValue> arguments);
  // A run recorded by itself: its places as this one's.
  void merge(const GraphProfile& run);

  uint32_t run_count() const { return run_count_; }
  void set_run_count(uint32_t count) { run_count_ = count; }
  const std::vector<ValueProfile>& arguments() const { return arguments_; }
  std::vector<ValueProfile>& arguments() { return arguments_; }
  // By place in profiled_values(); empty if only arguments were recorded.
  const std::vector<ValueProfile>& values() const { return values_; }
  std::vector<ValueProfile>& values() { return values_; }
  // By the place of a node's first value; of the fastest run.
  const std::vector<TimeProfile>& times() const { return times_; }
  std::vector<TimeProfile>& times() { return times_; }
  // Of Ifs and Loops in program order.
  const std::vector<BranchProfile>& branches() const { return branches_; }
  std::vector<BranchProfile>& branches() { return branches_; }
  const std::vector<TripProfile>& loops() const { return loops_; }
  std::vector<TripProfile>& loops() { return loops_; }

  // Sizes that never varied, and one symbol for all dimensions that always had equal sizes.
  std::vector<Dim> symbols_of(size_t argument) const;
  // One line per argument, "0: float32[s0, 3] contiguous", then values, branches and loops.
  std::string to_string() const;

 private:
  uint32_t run_count_ = 0;
  std::vector<ValueProfile> arguments_;
  std::vector<ValueProfile> values_;
  std::vector<TimeProfile> times_;
  std::vector<BranchProfile> branches_;
  std::vector<TripProfile> loops_;
};

// The values that nodes make, but for constants, in program order; a clone of a graph has the
// same places.
std::vector<const ir::Value*> profiled_values(const ir::Graph& graph);
// What a profile saw of each value of the graph, and of outputs and parameters of Ifs and Loops
// what all their sources have in common.
ir::ValueHints hints_of(const ir::Graph& graph, const GraphProfile& profile);
// Nanoseconds of one execution of each node that makes values; of Ifs and Loops, of all that ran
// inside them.
std::unordered_map<const ir::Node*, double> costs_of(const ir::Graph& graph,
                                                     const GraphProfile& profile);

}  // namespace tierup::profile
