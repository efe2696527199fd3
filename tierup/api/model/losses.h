// Losses of what a model gives, as calls of operators, so that a tape records them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tierup/tensor/ivalue.h"

namespace tierup::api {

struct Loss {
  std::string_view name;       // On the command line: "cross_entropy".
  std::string_view op;         // "aten::cross_entropy_loss"; empty: the model gives the loss.
  bool has_classes = false;    // Targets are indices of the second dimension.
  bool has_two_sides = false;  // Targets are 0 or 1; the decision is at `threshold`.
  double threshold = 0;
};

// Throws kInvalidArgument naming those there are.
const Loss& loss_of(std::string_view name);
std::vector<std::string> loss_names();

// The mean loss. With `gradients` the call is recorded. Throws what the operator throws.
Tensor mean_loss(const Loss& loss, const Tensor& output, const Tensor& target, bool gradients);

// How many decisions of `output` are as `target` says; none for losses without decisions.
struct Decisions {
  int64_t right = 0;
  int64_t all = 0;
};
Decisions count_right(const Loss& loss, const Tensor& output, const Tensor& target);

}  // namespace tierup::api
