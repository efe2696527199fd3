// RegionTrace: one part of a program, run and run backwards on stand-ins, and the two graphs that
// come out.
//
//   forward:   inputs                 -> outputs, captures
//   backward:  cotangents, captures   -> gradients of the inputs that want one
//
// Captures are what the backward calls read of the forward: inputs of the part, or values of its
// calls, as the tape would have saved them.
#pragma once

#include <functional>

#include "tierup/autodiff/call_trace.h"
#include "tierup/ir/graph.h"

namespace tierup::autodiff {

// One thread; everything throws kUnsupported, with the reason, for what cannot be traced.
class RegionTrace {
 public:
  // `inputs`: leaves with the flags that the part's inputs have. `constants`: tensors of the
  // program itself.
  RegionTrace(std::vector<Tensor> inputs, std::span<const Tensor> constants);

  // `run` runs the part on the inputs in the context that it is given, and gives its outputs.
  using RunPart = std::function<std::vector<IValue>(ops::RunContext& context)>;
  void run_forward(const RunPart& run, ops::RunContext& context);
  // The backward pass for cotangents of the outputs `roots`, each of which requires gradients.
  // Once.
  void run_backward(const std::vector<size_t>& roots, ops::RunContext& context);

  size_t output_count() const { return outputs_.size(); }
  const Tensor& output(size_t i) const { return trace_.tensors()[outputs_[i]]; }
  bool requires_grad(size_t output) const { return records_[output]; }
  // By output, before run_backward(): those (bit by bit; the first 64) whose backward passes read a
  // saved value of a call that this one's reads, too. A second pass by any of them is an error.
  std::vector<uint64_t> outputs_that_share() const;
  // The outputs that require gradients.
  std::vector<size_t> recorded_outputs() const;
  // Whether the part writes an input, as norms in training do their statistics.
  bool is_written(size_t input) const { return written_[input]; }

  // A value that the backward graph reads: an input, or one more result of the forward graph.
  struct Capture {
    bool is_input = false;
    size_t index = 0;       // Of the inputs, or of the further results.
    std::string title;      // "output 0 of Exp": for errors; empty for inputs.
    ir::SourceRange place;  // Of the call that made it; empty for inputs.
  };
  const std::vector<Capture>& captures() const { return captures_; }
  // The values' numbers, which hang on the part and its inputs alone, not on the roots.
  const std::vector<TraceId>& capture_ids() const { return capture_ids_; }
  // By input: which result of the backward graph is its gradient; -1 if it has none.
  const std::vector<int64_t>& gradient_of() const { return gradient_of_; }
  // What captures that are not inputs take.
  size_t captured_bytes() const;

  std::shared_ptr<ir::Graph> forward_graph() const;
  std::shared_ptr<ir::Graph> backward_graph() const;
  size_t forward_calls() const { return trace_.forward().size(); }
  size_t backward_calls() const { return backward_.size(); }

 private:
  void keep_needed_calls();
  void find_captures();
  void name_capture(Capture& capture, TraceId id) const;

  CallTrace trace_;
  std::vector<Tensor> inputs_;
  std::vector<TraceId> constants_;
  std::vector<TraceId> input_ids_;
  std::vector<bool> written_;
  std::vector<IValue> results_;  // With their records.
  std::vector<TraceId> outputs_;
  std::vector<bool> records_;
  std::vector<TraceId> cotangents_;
  std::vector<TraceId> gradients_;
  std::vector<TracedCall> backward_;  // Those that gradients need.
  std::vector<int64_t> gradient_of_;
  std::vector<Capture> captures_;
  std::vector<TraceId> capture_ids_;
};

}  // namespace tierup::autodiff
