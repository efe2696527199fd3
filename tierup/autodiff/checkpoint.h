// Activation checkpointing: a recorded part of a program of which only the inputs are kept. A
// backward pass runs the part again, recorded, and differentiates that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tierup/autodiff/node.h"

namespace tierup::autodiff {

struct CheckpointedPart {
  std::string name;  // For errors.
  // What the part reads: its results' gradients go to those that require one.
  std::vector<Tensor> inputs;
  // Leaves that it reads besides (weights).
  std::vector<Tensor> leaves;
  // Runs it again, recorded, with these in the place of `inputs`; gives the results in the order of
  // the first run.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> rerun;
};

// Stand-ins for the results of a run without gradients, over the same memory, with records through
// which gradients reach the part's inputs and leaves. Results that are not floating or complex, and
// all of a part that nothing requires gradients of, stay plain. A backward pass throws if an input
// was written meanwhile, if the part was freed by a pass before, or if it gives other results.
std::vector<Tensor> record_checkpoint(CheckpointedPart part, const std::vector<Tensor>& results);

}  // namespace tierup::autodiff
