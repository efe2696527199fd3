// CompiledNet: a program compiled for inputs of given sizes and a given number of threads.
//
// Layers became oneDNN primitives and own loops over one arena, planned by life times; weights are
// packed for the primitives that read them, in a store that all nets of one program share.
// A net is constant; any number of threads may run it, each run with its own arena, whose memory it
// shares with the nets for other sizes.
//
// Steps of a net may lose or spread NaNs where tier 0's operators keep them in place (oneDNN's relu
// makes 0 of NaN, Winograd spreads one over a tile). A run notices that it met one, and gives no
// results.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tierup/kernels/net/program.h"

namespace tierup::kernels::net {

struct CompileOptions {
  int threads = 1;
  bool is_fast = true;    // Algorithms with other rounding (Winograd) may be chosen.
  bool measures = false;  // Time the algorithms that could do a layer, and keep the fastest.
  // How the caller wants each output to lie; empty: row-major.
  std::vector<IntVector> output_strides;
  // Runs at one time that it keeps memory for.
  int runs = 1;
  // Of the batch, as a net that does the same has them; 0: what moves the fewest bytes.
  int64_t pieces = 0;
  // What rehearse() would find out, where it is known from a net that does the same.
  bool uses_workers = true;
};

// Packed weights of one program, and the memory that its runs take turns in. Thread-safe.
class WeightStore;
std::shared_ptr<WeightStore> make_weight_store();
size_t held_bytes(const WeightStore& store);

class CompiledNet {
 public:
  virtual ~CompiledNet() = default;
  // `inputs` have the dtypes and sizes that the net was compiled for; any strides. Nothing if a NaN
  // was met or made.
  virtual std::optional<std::vector<Tensor>> run(std::span<const IValue> inputs) const = 0;
  // The same, into tensors of the results' sizes, whose elements lie in the order of the strides
  // that the net was compiled for. False, with whatever numbers in them, in the place of nothing.
  virtual bool run_into(std::span<const IValue> inputs, std::span<const Tensor> results) const = 0;
  // Before the net serves, over ordinary numbers: gives results in any case, and finds out which
  // threads do the work.
  virtual std::vector<Tensor> rehearse(std::span<const IValue> inputs) = 0;
  virtual bool uses_workers() const = 0;
  // Parts of a batch that it takes one by one (batch_cut.h); 1: all at once.
  virtual int64_t pieces() const = 0;
  // One line per choice that was made: what for, and how long each candidate took.
  virtual const std::vector<std::string>& notes() const = 0;
  // Primitives and loops: each takes some kilobytes.
  virtual size_t step_count() const = 0;
};

// Throws Refused where an operator's arguments are not compiled; cheap.
void check_program(const Program& program, std::span<const IValue> inputs);

// Throws kUnsupported (Refused, where one operator is at fault) where the program, with these
// inputs, holds what is not compiled.
std::unique_ptr<CompiledNet> compile_net(const Program& program, std::span<const IValue> inputs,
                                         const CompileOptions& options,
                                         const std::shared_ptr<WeightStore>& weights);

}  // namespace tierup::kernels::net
