// A recorded call of a model that keeps its arguments alone: backward passes make it again.
#pragma once

#include <string>
#include <vector>

#include "tierup/api/model/model.h"

namespace tierup::api {

struct CheckpointedCall {
  Ref<const Model> model;
  std::string method = "forward";
  std::vector<IValue> args;
  NamedValues kwargs;
  RunOptions options;
  // Draw the same random numbers when it is made again.
  bool keeps_random_stream = true;
};

// Makes the call, and keeps nothing for a backward pass.
IValue call_unrecorded(const CheckpointedCall& call);
// Makes the call without recording it. Its tensors have records through which gradients reach
// the tensors among the arguments and the model's parameters. Throws what the call throws.
IValue call_checkpointed(CheckpointedCall call);

}  // namespace tierup::api
