#include "tierup/tier/region_plan.h"

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/pointwise/creation.h"
#include "tierup/passes/pipeline.h"
#include "tierup/runtime/lower.h"
#include "tierup/tier/silent_context.h"
#include "tierup/tier/specializer.h"

namespace tierup::tier {
namespace {

// Of this form, with numbers between 0.1 and 0.9.
Tensor synthetic_input(const RecordedForm& form) {
  int64_t extent = numel_of(form.sizes) == 0 ? 0 : 1;
  for (size_t d = 0; d < form.sizes.size() && extent > 0; ++d)
    extent += (form.sizes[d] - 1) * form.strides[d];
  const Tensor flat = kernels::linspace(0.1, 0.9, extent, form.dtype);
  return flat.as_view(form.sizes, form.strides, 0);
}

class RegionCompiler {
 public:
  RegionCompiler(const RegionRequest& request, const runtime::Plan& body, runtime::Program& program,
                 const TieringOptions& options, RegionPlan& plan)
      : request_(request), body_(body), program_(program), options_(options), plan_(plan) {}

  void run() {
    SilentContext silent({.grad_mode = true});
    ops::RunContext& context = silent.context();
    const std::vector<IValue> args = stand_ins();
    autodiff::RegionTrace trace(tensors_, constants());
    trace.run_forward(
        [&](ops::RunContext& recorded) {
          std::vector<IValue> given = args;
          return program_.run_plan(body_, given, recorded, make_ref<const runtime::RunState>());
        },
        context);
    require(trace.output_count() <= kMostOutputs, ErrorCode::kUnsupported, "too many results");
    for (size_t i = 0; i < trace.output_count(); ++i)
      plan_.records.push_back(trace.requires_grad(i));
    plan_.shares = trace.outputs_that_share();
    for (size_t i = 0; i < tensors_.size(); ++i) plan_.written.push_back(trace.is_written(i));
    plan_.is_recorded = std::ranges::find(plan_.records, true) != plan_.records.end();
    if (plan_.is_recorded) trace_backward(trace, context);
    plan_.forward = finish(trace.forward_graph());
    plan_.forward_calls = trace.forward_calls();
  }

 private:
  std::vector<IValue> stand_ins() {
    std::vector<IValue> args;
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const RecordedForm& form = request_.inputs[i];
      if (!form.is_tensor) {
        args.push_back(form.constant);
        continue;
      }
      const Tensor tensor =
          request_.copies[i].defined() ? request_.copies[i] : synthetic_input(form);
      require(std::ranges::equal(tensor.strides(), form.strides), ErrorCode::kUnsupported,
              "an input of indices that lies in memory in no order of its own");
      tensor.impl()->wrapped_number = form.wrapped_number;
      tensor.set_requires_grad(form.requires_grad);
      tensors_.push_back(tensor);
      args.emplace_back(tensor);
    }
    return args;
  }

  // Tensors that the program itself holds.
  std::vector<Tensor> constants() const {
    std::vector<Tensor> found;
    collect_constants(body_.graph().block(), found);
    return found;
  }
  static void collect_constants(const ir::Block& block, std::vector<Tensor>& found) {
    for (const ir::Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) collect_constants(*inner, found);
      if (!node->is(ir::NodeKind::kConstant)) continue;
      const auto& value = node->attr<IValue>(ir::AttrName::kValue);
      if (value.is_tensor()) found.push_back(value.to_tensor());
    }
  }

  void trace_backward(autodiff::RegionTrace& trace, ops::RunContext& context) {
    std::vector<size_t> roots;
    for (const size_t output : trace.recorded_outputs()) {
      const CotangentMask bit = CotangentMask{1} << output;
      if (request_.mask && (*request_.mask & bit) == 0) continue;
      roots.push_back(output);
      plan_.mask |= bit;
    }
    trace.run_backward(roots, context);
    plan_.captures = trace.captures();
    plan_.capture_ids = trace.capture_ids();
    plan_.gradient_of = trace.gradient_of();
    plan_.captured_bytes = trace.captured_bytes();
    plan_.backward = finish(trace.backward_graph());
    plan_.backward_calls = trace.backward_calls();
  }

  // What is fused, joined and dropped here keeps values to the bit.
  std::unique_ptr<runtime::Plan> finish(const std::shared_ptr<ir::Graph>& graph) {
    const std::atomic<bool> cancelled{false};
    ir::ValueHints hints;
    note_sizes(graph->block(), hints);
    passes::PassOptions pass_options = pass_options_of(options_);
    pass_options.hints = &hints;
    pass_options.target.threads = allowed_threads();
    pass_options.target.is_fast = !options_.accurate;
    pass_options.target.keeps_bits = true;
    run_noted(*graph, passes::differentiated_passes(), pass_options, plan_.steps);
    if (options_.fusion) fuse_groups(*graph, options_, pass_options, cancelled, plan_.steps);
    return runtime::lower(graph);
  }

  static void note_sizes(const ir::Block& block, ir::ValueHints& hints) {
    const auto note = [&](const ir::Value* value) {
      if (value->type()->facts().dtype) hints.set(value, value->type()->facts());
    };
    for (const ir::Value* param : block.params()) note(param);
    for (const ir::Node* node : block.nodes()) {
      for (const ir::Value* output : node->outputs()) note(output);
    }
  }

  const RegionRequest& request_;
  const runtime::Plan& body_;
  runtime::Program& program_;
  const TieringOptions& options_;
  RegionPlan& plan_;
  std::vector<Tensor> tensors_;
};

}  // namespace

RecordedForm::RecordedForm(const IValue& value) : InputForm(value) {
  if (!is_tensor) return;
  requires_grad = value.tensor_impl()->requires_grad;
  wrapped_number = value.tensor_impl()->wrapped_number;
}

bool RecordedForm::holds(const IValue& value) const {
  const TensorImpl* tensor = value.tensor_impl();
  const bool has_flags = tensor == nullptr || (tensor->requires_grad == requires_grad &&
                                               tensor->wrapped_number == wrapped_number);
  return has_flags && InputForm::holds(value);
}

RegionRequest::RegionRequest(std::span<const IValue> args) {
  for (const IValue& arg : args) {
    const RecordedForm& form = inputs.emplace_back(arg);
    const bool is_copied = form.is_tensor && !is_floating(form.dtype);
    copies.push_back(is_copied ? deep_copy(arg).to_tensor() : Tensor());
  }
}

Ref<RegionPlan> compile_region(const RegionRequest& request, const runtime::Plan& body,
                               runtime::Program& program, const TieringOptions& options) {
  auto plan = make_ref<RegionPlan>();
  plan->inputs = request.inputs;
  try {
    RegionCompiler(request, body, program, options, *plan).run();
  } catch (const std::exception& error) {
    plan->forward = nullptr;
    plan->backward = nullptr;
    plan->refusal = error.what();
  }
  return plan;
}

}  // namespace tierup::tier
