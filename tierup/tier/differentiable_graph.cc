#include "tierup/tier/differentiable_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/autodiff/views.h"
#include "tierup/base/error.h"
#include "tierup/runtime/interpreter.h"
#include "tierup/runtime/lower.h"

namespace tierup::tier {
namespace {

// While the part's own calls are not to be recorded.
class Unrecorded {
 public:
  explicit Unrecorded(ops::RunContext& context)
      : context_(context), tape_(context.tape), grad_mode_(context.policy.grad_mode) {
    context.tape = nullptr;
    context.policy.grad_mode = false;
  }
  ~Unrecorded() {
    context_.tape = tape_;
    context_.policy.grad_mode = grad_mode_;
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  ops::RunContext& context_;
  ops::Tape* const tape_;
  const bool grad_mode_;
};

}  // namespace

DifferentiableGraph::DifferentiableGraph(std::shared_ptr<ir::Graph> body,
                                         std::shared_ptr<const TieringOptions> options)
    : region_(make_ref<Region>()), options_(std::move(options)) {
  region_->body = runtime::lower(std::move(body));
  region_->options = options_;
}

bool DifferentiableGraph::has_plan_for(std::span<const IValue> args, CotangentMask mask) const {
  return plans_.find([&](const Ref<const RegionPlan>& plan) {
    return plan->mask == mask && plan->suits(args);
  }) != nullptr;
}

void DifferentiableGraph::run(ops::OpCall& call) {
  if (call.context.tape == nullptr || !call.context.policy.grad_mode)
    return run_twin(call, ops::TwinReason::kOtherInputs);
  for (const IValue& arg : call.args) {
    TensorImpl* tensor = arg.tensor_impl();
    if (tensor != nullptr && tensor->autograd) autodiff::refresh_view(*tensor);
  }
  Ref<const RegionPlan> plan = find(call.args);
  if (!plan) {
    request(call.args, std::nullopt, call.context);
    plan = find(call.args);
  } else if (plan->missed.load(std::memory_order_relaxed) != 0) {
    const CotangentMask missed = plan->missed.exchange(0, std::memory_order_relaxed);
    if (missed != 0 && !has_plan_for(call.args, missed)) request(call.args, missed, call.context);
    plan = find(call.args);
  }
  if (!plan) return run_twin(call, ops::TwinReason::kNewSizes);
  if (plan->forward == nullptr) return run_twin(call, ops::TwinReason::kNotCompiled);
  run_plan(plan, call);
}

void DifferentiableGraph::run_twin(ops::OpCall& call, ops::TwinReason reason) {
  twin_calls_.count(reason);
  const Ref<const runtime::RunState> state = region_->run_state();
  runtime::Interpreter(region_->program, state, call.context)
      .run(*region_->body, call.args, call.results);
}

void DifferentiableGraph::run_plan(const Ref<const RegionPlan>& plan, ops::OpCall& call) {
  compiled_runs_.fetch_add(1, std::memory_order_relaxed);
  plan->runs.fetch_add(1, std::memory_order_relaxed);
  SmallVector<IValue, 12> args;
  for (const IValue& arg : call.args) {
    if (arg.is_tensor()) args.push_back(arg);
  }
  const size_t outputs = plan->records.size();
  SmallVector<IValue, 12> results(plan->forward->graph().outputs().size());
  {
    const Unrecorded scope(call.context);
    const Ref<const runtime::RunState> state = region_->run_state();
    runtime::Interpreter(region_->program, state, call.context)
        .run(*plan->forward, {args.data(), args.size()}, {results.data(), results.size()});
  }
  for (size_t i = 0; i < outputs; ++i) call.results[i] = results[i];
  if (!plan->is_recorded) return;
  const auto node = make_ref<RegionNode>(
      region_, plan, call.args,
      std::span<const IValue>(results.data() + outputs, results.size() - outputs));
  for (size_t i = 0; i < outputs; ++i) {
    TensorImpl& result = *call.results[i].tensor_impl();
    result.requires_grad = plan->records[i];
    result.autograd = nullptr;
    if (plan->records[i])
      result.autograd = make_ref<autodiff::Record>(node, static_cast<uint32_t>(i));
  }
}

void DifferentiableGraph::request(std::span<const IValue> args, std::optional<CotangentMask> mask,
                                  ops::RunContext& context) {
  if (made_.load(std::memory_order_relaxed) >= options_->max_plans) return;
  if (is_requested_.exchange(true)) return;
  RegionRequest wanted(args);
  wanted.mask = mask;
  if (context.background == nullptr) return compile(wanted);
  context.background->push([self = Ref<DifferentiableGraph>(this), wanted = std::move(wanted)] {
    self->compile(wanted);
  });
}

void DifferentiableGraph::compile(const RegionRequest& request) {
  Ref<RegionPlan> plan = compile_region(request, *region_->body, region_->program, *options_);
  made_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> lock(writers_);
    plans_.add(std::move(plan), [](const auto&) { return false; });  // There are max_plans at most.
  }
  is_requested_.store(false);
}

ops::StepReport DifferentiableGraph::step_report() const {
  ops::StepReport report;
  report.kind = "differentiable graph";
  report.what = fmt::format("{} nodes", region_->body->steps().size());
  report.compiled_calls = compiled_runs_.load();
  report.twin_calls = twin_calls_.counts();
  return report;
}

RegionReport DifferentiableGraph::report() const {
  RegionReport report;
  report.kind = RegionReport::Kind::kDifferentiable;
  for (const ir::Node* node : region_->body->graph().block().nodes()) {
    if (node->op() != nullptr) report.operators.push_back(node->op()->schema().qualified_name());
  }
  report.twin_calls = twin_calls_.total();
  for (const Ref<const RegionPlan>& plan : plans_.entries()) {
    if (plan->forward == nullptr) {
      report.notes.push_back("stays at tier 0: " + plan->refusal);
      continue;
    }
    ++report.compiled;
    const size_t backward = plan->backward ? plan->backward->steps().size() : 0;
    report.notes.push_back(fmt::format(
        "forward: {} calls in {} steps, {} times; backward: {} calls in {} steps, {} times; {} KiB "
        "captured",
        plan->forward_calls, plan->forward->steps().size(), plan->runs.load(), plan->backward_calls,
        backward, plan->backward_runs.load(), plan->captured_bytes >> 10U));
  }
  const uint64_t twins = region_->twin_backward_runs.load();
  if (twins > 0) report.notes.push_back(fmt::format("{} backward passes by the twin", twins));
  return report;
}

}  // namespace tierup::tier
