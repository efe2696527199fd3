// Data-parallel training: replicas of a step in threads of one process, and, through a callback, on
// several machines. The result depends on how many there are, never on which of them is faster.
//
//   tierup::DataParallel parallel({.replicas = 2});
//   optimizer.zero_grad();
//   parallel.backward(optimizer.parameters(), [&](int replica) {
//     return module.call(share_of(batch, replica), {}, {.gradients = true}).to_tensor();
//   });
//   optimizer.step();
//
// With losses that are means over equal shares of a batch, the gradients are those of the whole
// batch, but for what couples its rows: batch norms see the statistics of a share.
//
// Replicas may call one module. A module that draws random numbers or writes to its buffers (batch
// norms in training) needs a copy for each replica: loaded again, and given the first one's
// parameters by Module::share_parameters. A module has threads of its own for operators
// (Options::threads): usually one for each replica.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tierup/export.h"
#include "tierup/tensor.h"

namespace tierup::v1 {

struct ParallelOptions {
  int replicas = 2;
  // Where other processes take part: replaces the numbers of a bucket, one-dimensional, float32 or
  // float64, by their sums over all processes. Every process must have as many replicas and the
  // same parameters, and takes its calls in the same order, in the thread that calls backward().
  std::function<void(const Tensor& bucket)> all_reduce = {};
  int processes = 1;  // How many.
  int64_t bucket_bytes = 1 << 20;
};

// A handle; copies have the same threads. Thread rule: one backward() at a time.
class TIERUP_API DataParallel {
 public:
  explicit DataParallel(ParallelOptions options);
  ~DataParallel();
  DataParallel(const DataParallel&) noexcept;
  DataParallel& operator=(const DataParallel&) noexcept;

  // Runs loss_of(0), loss_of(1)... at once, each in a thread of its own (0 in the caller's), and
  // adds the mean of the gradients of what they give to those of `parameters`: summed over replicas
  // as a tree by their numbers, then over processes, then divided. A parameter that no loss was
  // computed from gets nothing. Returns the losses. Throws what the first of the replicas that
  // failed threw, once all have ended, or what all_reduce throws; then no gradient has changed.
  std::vector<Tensor> backward(const std::vector<Tensor>& parameters,
                               const std::function<Tensor(int replica)>& loss_of) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tierup::v1
