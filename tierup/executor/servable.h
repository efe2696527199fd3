// Servable: one generation of a model, as the Executor sees it: code, weights, how to run it.
//
// A generation's weights never change; new weights are a new generation that shares the code. The
// Executor knows nothing else of models, so that TorchScript modules and exported programs are
// served alike.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tierup/base/ref.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::kernels {
class BoundOutputs;
}

namespace tierup::executor {

using NamedValues = std::vector<std::pair<std::string, IValue>>;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// What stops a run, and where its results go.
struct RunLimits {
  using Clock = std::chrono::steady_clock;
  std::shared_ptr<const std::atomic<bool>> cancelled;  // May be null.
  std::optional<Clock::time_point> deadline;
  kernels::BoundOutputs* outputs = nullptr;  // See Executor::run_into; may be null.
  bool (*on_poll)() = nullptr;               // The host's: false cancels the run; may be null.
};

// Thread rule: every method from any thread, any number at once.
class Servable : public RefCounted {
 public:
  // With the calling convention of the model: positional and keyword arguments, nested values.
  virtual IValue serve(std::vector<IValue> args, NamedValues kwargs,
                       const RunLimits& limits) const = 0;
  // Flat: the leaves of the arguments in order (without those that are constants of an exported
  // program), the leaves of the result in order.
  virtual std::vector<IValue> serve_flat(std::vector<IValue> leaves,
                                         const RunLimits& limits) const = 0;

  virtual NamedTensors weights() const = 0;
  // A new generation over the same code with `weights` in place of those of the same names; with
  // `strict` every name must be given (a name tied to a given one counts as given) and none
  // may be unknown. The tensors are shared, not copied. Throws kInvalidArgument with every misfit
  // listed; nothing has changed then.
  virtual Ref<Servable> with_weights(const NamedTensors& weights, bool strict) const = 0;
  // Makes ready what `older` had made of its weights in the course of its runs (folded and packed
  // weights, specialised plans), so that a swap costs no request anything. May take long.
  virtual void prepare_like(const Servable& older) const = 0;

  // Frames kept for the next runs, and giving back those that nobody used since the last call.
  virtual size_t idle_frames() const = 0;
  virtual size_t trim_frames() const = 0;
};

}  // namespace tierup::executor
