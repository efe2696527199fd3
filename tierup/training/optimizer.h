// Optimizer: parameters in groups with settings, a state for each, and steps.
//
// A step is one pass over the memory of all parameters, cut into pieces for the threads of the
// team: clipping's factor, weight decay, the state and the parameter itself at once. The arithmetic
// is that of PyTorch's loop (kernels/optimizer/optimizer_step.h); the number of threads changes no
// bit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tierup/tensor/tensor.h"
#include "tierup/training/settings.h"

namespace tierup::training {

struct ParameterGroup {
  std::vector<std::pair<std::string, Tensor>> parameters;  // The names are for errors.
  Settings settings;
};

// Thread rule: used by one thread at a time, while nothing else reads or writes the parameters.
class Optimizer {
 public:
  // Throws kInvalidArgument for no parameters at all, one in two places, one that is no floating
  // tensor (kUnsupported for float16 and bfloat16), and for settings out of range.
  Optimizer(OptimizerKind kind, std::vector<ParameterGroup> groups);

  OptimizerKind kind() const { return facts_.kind; }
  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  // All parameters, in the order of the groups.
  std::vector<Tensor> parameters() const;

  // One step by gradients in the order of parameters(); an undefined one skips its parameter, whose
  // state does not move either. Each gradient is multiplied by `gradient_factor` first, which
  // leaves the gradient itself as it is. Throws kInvalidArgument, before anything moves, for a
  // gradient of another shape or dtype.
  void step(std::span<const Tensor> gradients, double gradient_factor = 1);

  // In PyTorch's layout: {"state": {index: {...}}, "param_groups": [{settings, "params": [...]}]}.
  // Tensors are shared with the optimiser.
  IValue state_dict() const;
  // Takes over a state that this or PyTorch's optimiser of the same kind wrote; tensors are copied
  // and cast to the parameters' dtypes. Throws kInvalidArgument with every difference listed,
  // before anything changes.
  void load_state_dict(const IValue& state);

 private:
  struct State {
    std::array<Tensor, 3> tensors;
    double steps = 0;
    double mu_product = 1;  // NAdam; a float32 number.
    bool exists = false;
  };
  struct Entry {
    Tensor parameter;
    std::string name;
    size_t group;
    State state;
  };

  void check_parameters() const;
  void check_gradients(std::span<const Tensor> gradients) const;
  std::array<bool, 3> has_tensors(const Settings& settings) const;
  void make_state(Entry& entry) const;
  kernels::StepNumbers numbers(Entry& entry, double gradient_factor) const;
  IValue group_dict(const ParameterGroup& group, size_t first) const;
  std::string state_problems(const IValue& state) const;
  void load_entry(Entry& entry, const DictValue& values);

  const OptimizerFacts& facts_;
  std::vector<ParameterGroup> groups_;
  std::vector<Entry> entries_;
};

}  // namespace tierup::training
