// Gradients of the public API, over the tape of autodiff.
#include "tierup/api/model/checkpointed_call.h"
#include "tierup/api/model/losses.h"
#include "tierup/api/model/parameter_gradients.h"
#include "tierup/api/public/facade.h"
#include "tierup/api/public/grad_scope.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/autodiff/node.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/training.h"

namespace tierup::v1 {
namespace {

std::vector<::tierup::Tensor> unwrap_tensors(const std::vector<Tensor>& tensors) {
  std::vector<::tierup::Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(Access::unwrap(tensor));
  return result;
}

::tierup::Tensor defined(const Tensor& tensor) {
  ::tierup::Tensor own = Access::unwrap(tensor);
  require(own.defined(), ::tierup::ErrorCode::kInvalidArgument, "the tensor is undefined");
  return own;
}

// The tape keeps nothing of a pass, so that each may have one of its own.
template <typename F>
auto with_tape(F&& f) {
  autodiff::RecordingTape tape;
  kernels::Generator generator;
  ops::RunContext context;
  context.generator = &generator;
  context.tape = &tape;
  context.policy.grad_mode = true;
  return f(tape, context);
}

}  // namespace

void backward(const std::vector<Tensor>& outputs, const BackwardOptions& options) {
  guarded([&] {
    ops::BackwardRequest request{unwrap_tensors(outputs),        unwrap_tensors(options.gradients),
                                 unwrap_tensors(options.inputs), options.retain_graph,
                                 options.create_graph,           true};
    with_tape([&](ops::Tape& tape, ops::RunContext& context) { tape.backward(context, request); });
  });
}

void backward(const Tensor& output, const BackwardOptions& options) {
  backward(std::vector<Tensor>{output}, options);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  return guarded([&] {
    ops::BackwardRequest request{unwrap_tensors(outputs), unwrap_tensors(options.gradients),
                                 unwrap_tensors(inputs),  options.retain_graph,
                                 options.create_graph,    options.allow_unused};
    std::vector<Tensor> result;
    with_tape([&](ops::Tape& tape, ops::RunContext& context) {
      for (::tierup::Tensor& gradient : tape.grad(context, request)) {
        result.push_back(Access::wrap(std::move(gradient)));
      }
    });
    return result;
  });
}

Tensor call_joint(const Module& module, std::vector<Value> args, NamedValues kwargs,
                  const RunOptions& options) {
  return guarded([&] {
    const api::Model& model = *Access::impl(module).model;
    const IValue result = model.call(unwrap_all(std::move(args)), unwrap_all(std::move(kwargs)),
                                     run_options(options));
    return Access::wrap(api::take_joint_gradients(model, result));
  });
}

Value call_checkpointed(const Module& module, CheckpointedCall call) {
  return guarded([&] {
    api::CheckpointedCall inner;
    inner.model = Ref<const api::Model>(Access::impl(module).model.get());
    inner.method = std::move(call.method);
    inner.args = unwrap_all(std::move(call.args));
    inner.kwargs = unwrap_all(std::move(call.kwargs));
    inner.options = run_options(call.options);
    inner.keeps_random_stream = call.keep_random_stream;
    if (const auto mode = scoped_grad_mode(); mode && *mode != GradMode::kEnabled) {
      return Access::wrap(leaving_scope(api::call_unrecorded(inner)));
    }
    return Access::wrap(api::call_checkpointed(std::move(inner)));
  });
}

Tensor mean_loss(std::string_view name, const Tensor& output, const Tensor& target) {
  return guarded([&] {
    const api::Loss& loss = api::loss_of(name);
    require(!loss.op.empty(), ::tierup::ErrorCode::kInvalidArgument,
            "the loss '{}' is what the model gives: nothing is to be computed", name);
    const bool records = scoped_grad_mode().value_or(GradMode::kEnabled) == GradMode::kEnabled;
    const ::tierup::Tensor mean = api::mean_loss(loss, defined(output), defined(target), records);
    return Access::wrap(leaving_scope(mean).to_tensor());
  });
}

std::vector<std::string> loss_names() {
  return guarded([] { return api::loss_names(); });
}

bool requires_grad(const Tensor& tensor) {
  return guarded([&] { return defined(tensor).requires_grad(); });
}

void set_requires_grad(const Tensor& tensor, bool value) {
  guarded([&] { autodiff::RecordingTape().set_requires_grad(defined(tensor), value); });
}

bool is_inference(const Tensor& tensor) {
  return guarded([&] { return autodiff::is_inference(*defined(tensor).impl()); });
}

bool is_leaf(const Tensor& tensor) {
  return guarded([&] {
    const ::tierup::Tensor own = defined(tensor);
    const autodiff::Record* record = autodiff::record_of(*own.impl());
    return record == nullptr || record->is_leaf();
  });
}

Tensor grad_of(const Tensor& tensor) {
  return guarded([&] {
    const ::tierup::Tensor own = defined(tensor);
    const autodiff::Record* record = autodiff::record_of(*own.impl());
    return Access::wrap(record == nullptr ? ::tierup::Tensor() : record->grad());
  });
}

void set_grad(const Tensor& tensor, const Tensor& gradient) {
  guarded([&] { autodiff::assign_grad(defined(tensor), Access::unwrap(gradient)); });
}

void zero_grad(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) set_grad(tensor, Tensor());
}

void zero_grad(const Module& module) {
  for (const auto& [name, tensor] : module.parameters()) set_grad(tensor, Tensor());
}

Tensor detach(const Tensor& tensor) {
  return guarded([&] { return Access::wrap(defined(tensor).detach()); });
}

void retain_grad(const Tensor& tensor) {
  guarded([&] { autodiff::RecordingTape().retain_grad(defined(tensor)); });
}

void add_grad_hook(const Tensor& tensor, GradHook hook) {
  guarded([&] {
    const ::tierup::Tensor own = defined(tensor);
    require(own.requires_grad(), ::tierup::ErrorCode::kInvalidArgument,
            "cannot register a hook on a tensor that doesn't require gradient");
    autodiff::leaf_record(*own.impl())
        .add_hook([hook = std::move(hook)](const ::tierup::Tensor& gradient) {
          return Access::unwrap(hook(Access::wrap(gradient)));
        });
  });
}

void add_after_grad_hook(const Tensor& leaf, std::function<void()> hook) {
  guarded([&] { autodiff::leaf_record(*defined(leaf).impl()).add_after_hook(std::move(hook)); });
}

}  // namespace tierup::v1
