// Tape: what records the calls of a run for a backward pass; implemented in `autodiff`.
//
// The interpreter, and everything else that calls rows in a run that may be differentiated, calls
// `call` instead of the kernel where the run's context has a tape. Rows that read gradients reach
// them through GradRecord and Tape.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tierup/ir/graph.h"
#include "tierup/ops/table/op.h"

namespace tierup::ops {

// What a backward pass is asked for; see the facts C1 to C13 of the training design.
// Told of every operator of a backward pass that has run: what came to it and what it gave, by its
// results and its differentiated arguments; undefined ones included.
class BackwardWatch {
 public:
  virtual ~BackwardWatch() = default;
  // `name`: the forward operator's; `place`: where it was called, if that is known.
  virtual void after(const std::string& name, const ir::SourceRange& place,
                     std::span<const Tensor> cotangents, std::span<const Tensor> gradients) = 0;
};

struct BackwardRequest {
  std::vector<Tensor> outputs;
  std::vector<Tensor> cotangents;    // Undefined, or left away: implicit ones.
  std::vector<Tensor> inputs;        // Of `grad`, or the only leaves that accumulate.
  std::optional<bool> retain_graph;  // Unset: as create_graph.
  bool create_graph = false;
  bool allow_unused = false;
  BackwardWatch* watch = nullptr;  // Null but when something is looked for; outlives the pass.
};

// The record of a tensor, as rows see it.
class GradRecord : public AutogradRecord {
 public:
  virtual bool is_leaf() const = 0;
  // The accumulated gradient; undefined if there is none.
  virtual Tensor grad() const = 0;
  virtual bool retains_grad() const = 0;
  virtual int64_t output_number() const = 0;
};

// Thread rule: any number of runs may share one tape.
class Tape {
 public:
  virtual ~Tape() = default;
  // Runs the kernel of `op` and records the call as the policy of the call's context wants.
  // `origin`, where the program makes the call, may be null.
  virtual void call(const Op& op, OpCall& call, const ir::Node* origin) = 0;

  // Accumulates into leaves. Throws kInvalidArgument with PyTorch's words.
  virtual void backward(RunContext& context, const BackwardRequest& request) = 0;
  // The gradients of `inputs`; touches no leaf.
  virtual std::vector<Tensor> grad(RunContext& context, const BackwardRequest& request) = 0;

  virtual void retain_grad(const Tensor& tensor) = 0;
  virtual void detach_in_place(const Tensor& tensor) = 0;
  virtual void set_requires_grad(const Tensor& tensor, bool value) = 0;
};

}  // namespace tierup::ops
