// The mean of the gradients that replicas of a step gave, summed in a fixed order.
#pragma once

#include <functional>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::api {

// Over all processes; see ParallelOptions::all_reduce.
struct AllReduce {
  std::function<void(const Tensor& bucket)> sum;  // Null: this process is alone.
  int processes = 1;
  int64_t bucket_bytes = 1 << 20;
};

// Adds the mean of the replicas' gradients to those of the leaves, as a backward pass does.
// `by_replica` has the gradients of each replica, one for each leaf, undefined where there is none;
// a leaf for which none is defined in any process gets nothing. Throws kInvalidArgument for leaves
// that are not real where other processes take part, and what `all` throws.
void accumulate_mean(const std::vector<Tensor>& leaves, std::vector<std::vector<Tensor>> by_replica,
                     const AllReduce& all);

}  // namespace tierup::api
