// Gradients: calls that are recorded, and backward passes over them.
//
//   tierup::RunOptions run{.gradients = true};
//   tierup::Tensor loss = module.call({input, target}, {}, run).to_tensor();
//   tierup::backward(loss);
//   for (auto& [name, weight] : module.parameters()) use(tierup::grad_of(weight));
//   tierup::zero_grad(module);
//
// Recorded calls start at tier 0; parts of them get compiled plans in the background, as other
// calls do. Functions throw Error with PyTorch's words where PyTorch raises. Thread rule: passes
// over graphs that share leaves may run at once; a graph belongs to one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/module.h"
#include "tierup/tensor.h"

namespace tierup::v1 {

// What calls in a scope record, whatever RunOptions::gradients says.
enum class GradMode : uint8_t {
  kNoGrad,     // Nothing: results require no gradients, and weights may be written.
  kEnabled,    // What flows from tensors that require gradients.
  kInference,  // Nothing, and what is made there are inference tensors: backward passes cannot rely
               // on them, so that recorded calls refuse to save them or to write to them.
};

// For as long as it lives, the calls of this thread have its mode; the innermost scope counts, as
// torch.no_grad(), enable_grad() and inference_mode() do:
//
//   const tierup::GradScope no_grad(tierup::GradMode::kNoGrad);
//
// Lives in the scope of a function: the last made goes first. Trainer and Executor have modes of
// their own.
class TIERUP_API GradScope {
 public:
  explicit GradScope(GradMode mode) noexcept;
  ~GradScope();
  GradScope(const GradScope&) = delete;
  GradScope& operator=(const GradScope&) = delete;
  GradMode mode() const { return mode_; }

 private:
  GradMode mode_;
  const GradScope* outer_;
};

// Whether the tensor was made in GradMode::kInference.
TIERUP_API bool is_inference(const Tensor& tensor);

struct BackwardOptions {
  // One for each output, of its sizes; empty, or undefined ones: for outputs of a single element.
  std::vector<Tensor> gradients;
  // Keep what the pass reads, so that it can be made again; by default as create_graph.
  std::optional<bool> retain_graph;
  // Record the pass itself, for derivatives of second order.
  bool create_graph = false;
  // If there are any: the only tensors whose gradients accumulate.
  std::vector<Tensor> inputs;
};

struct GradOptions {
  std::vector<Tensor> gradients;
  std::optional<bool> retain_graph;
  bool create_graph = false;
  bool allow_unused = false;  // Undefined for inputs that were not used, instead of an error.
};

// Adds the gradients of `outputs` to those of the leaves that they were computed from.
TIERUP_API void backward(const std::vector<Tensor>& outputs, const BackwardOptions& options = {});
TIERUP_API void backward(const Tensor& output, const BackwardOptions& options = {});
// The gradients of `inputs`, one for each; no leaf is touched.
TIERUP_API std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                                    const std::vector<Tensor>& inputs,
                                    const GradOptions& options = {});

// Calls an exported joint program (loss and gradients as one graph) and adds its gradients to those
// of the parameters, as backward() does; gives the loss. The module's own call gives them as a
// named tuple: loss, gradients and input_gradients by name. Throws kInvalidArgument for other
// modules.
TIERUP_API Tensor call_joint(const Module& module, std::vector<Value> args, NamedValues kwargs = {},
                             const RunOptions& options = {});

struct CheckpointedCall {
  std::string method = "forward";
  std::vector<Value> args;
  NamedValues kwargs;
  RunOptions options;
  bool keep_random_stream = true;  // Draw the same numbers when the call is made again.
};
// Activation checkpointing: a recorded call of which only the arguments are kept. It runs as one
// without gradients, compiled plans included; a backward pass makes it again, recorded, and
// differentiates that. Gradients reach tensors among the arguments, in lists, tuples and
// dictionaries too, and the module's parameters. What the call writes to the module (the running
// statistics of batch norms) it writes twice, as in torch.utils.checkpoint. An argument that was
// written before the pass is an error of the pass. Not while other threads run the module, unless
// keep_random_stream is off.
TIERUP_API Value call_checkpointed(const Module& module, CheckpointedCall call);

// The mean loss of what a model gave, by one of loss_names(): TrainOptions::loss says which those
// are. Recorded, where `output` is. Class indices may have any integer dtype. Throws
// kInvalidArgument for another name, and what the operator throws.
TIERUP_API Tensor mean_loss(std::string_view name, const Tensor& output, const Tensor& target);
TIERUP_API std::vector<std::string> loss_names();

TIERUP_API bool requires_grad(const Tensor& tensor);
// Of leaves of floating or complex dtype.
TIERUP_API void set_requires_grad(const Tensor& tensor, bool value = true);
TIERUP_API bool is_leaf(const Tensor& tensor);
// The accumulated gradient; undefined if there is none. Shared, not copied.
TIERUP_API Tensor grad_of(const Tensor& tensor);
// Of the tensor's sizes and dtype, or undefined.
TIERUP_API void set_grad(const Tensor& tensor, const Tensor& gradient);
// Makes the gradients undefined (not zeros): optimisers skip such parameters.
TIERUP_API void zero_grad(const std::vector<Tensor>& tensors);
TIERUP_API void zero_grad(const Module& module);
// The same memory without a record.
TIERUP_API Tensor detach(const Tensor& tensor);
// Has a computed tensor keep its gradient, for grad_of.
TIERUP_API void retain_grad(const Tensor& tensor);
// Sees each gradient of the tensor before it is used, and may return another one, or an undefined
// tensor to leave it.
using GradHook = std::function<Tensor(const Tensor& gradient)>;
TIERUP_API void add_grad_hook(const Tensor& tensor, GradHook hook);
// Runs after the leaf's gradient has grown.
TIERUP_API void add_after_grad_hook(const Tensor& leaf, std::function<void()> hook);

}  // namespace tierup::v1
