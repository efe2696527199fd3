#include "tierup/tier/region_node.h"

#include <algorithm>

#include "tierup/autodiff/recording_tape.h"
#include "tierup/base/error.h"
#include "tierup/base/interrupt.h"
#include "tierup/runtime/interpreter.h"

namespace tierup::tier {

using autodiff::Gradients;
using autodiff::Link;
using autodiff::Links;
using autodiff::SavedTensor;

namespace {

// Between an input and its stand-in in a twin that is recorded: passes the gradient on.
class PassNode final : public autodiff::Node {
 public:
  explicit PassNode(autodiff::Edge edge) { add_edge(std::move(edge)); }
  Gradients run(std::span<const Tensor> cotangents, ops::RunContext& /*context*/, bool /*keep*/,
                autodiff::RunningSums* /*sums*/) override {
    Gradients gradients;
    gradients.push_back(cotangents[0]);
    return gradients;
  }
  std::string name() const override { return "tierup::differentiable_graph"; }
  std::string title() const override { return "DifferentiableGraph"; }
};

// From its record: that of a result holds the node, and that of an input may once it is written.
SavedTensor apart(const IValue& value) { return SavedTensor(value.to_tensor().detach()); }

}  // namespace

Ref<const runtime::RunState> Region::run_state() const {
  const Interrupt* interrupt = current_interrupt();
  if (interrupt == nullptr) return unlimited;
  const auto* state = dynamic_cast<const runtime::RunState*>(interrupt);
  return state != nullptr ? Ref<const runtime::RunState>(state) : unlimited;
}

RegionNode::RegionNode(Ref<const Region> region, Ref<const RegionPlan> plan,
                       std::span<const IValue> args, std::span<const IValue> captures)
    : region_(std::move(region)), plan_(std::move(plan)) {
  for (const IValue& arg : args) {
    TensorImpl* tensor = arg.tensor_impl();
    if (tensor == nullptr) continue;
    if (tensor->requires_grad) {
      targets_.push_back(static_cast<uint32_t>(inputs_.size()));
      add_edge(autodiff::edge_to(*tensor));
    }
    inputs_.push_back(apart(arg));
  }
  for (const IValue& capture : captures) captures_.push_back(apart(capture));
  set_result_count(static_cast<uint32_t>(plan_->records.size()));
}

RegionNode::~RegionNode() {
  Links links;
  RegionNode::take_links(links);
  autodiff::release_chain(std::move(links));
}

void RegionNode::take_links(Links& links) {
  Node::take_links(links);
  for (auto* values : {&inputs_, &captures_}) {
    take_values(*values, links);
    values->clear();
  }
}

// Tier 0 frees call by call: a second pass is an error where it comes to a call that the first one
// came to, if that had saved anything.
void RegionNode::check_order(CotangentMask mask) const {
  for (size_t i = 0; i < plan_->shares.size(); ++i) {
    if ((mask >> i & 1U) != 0 && (plan_->shares[i] & passed_) != 0) autodiff::fail_freed();
  }
}

// What no pass may read any more goes: captures once each output that reads any is spent, inputs,
// which the twin needs, once the others were passed back from as well.
void RegionNode::spend(CotangentMask mask) {
  Links links;
  {
    const std::lock_guard lock(freeing_);
    if ((passed_ | mask) == passed_) return;
    passed_ |= mask;
    bool reads_more = false;
    bool is_spent = true;
    bool may_come_again = false;
    for (size_t i = 0; i < plan_->shares.size(); ++i) {
      if (!plan_->records[i]) continue;
      const CotangentMask shares = plan_->shares[i];
      const bool is_done = ((shares != 0 ? shares : CotangentMask{1} << i) & passed_) != 0;
      reads_more |= shares != 0 && !is_done;
      is_spent &= is_done;
      may_come_again |= shares == 0;
    }
    if (!reads_more) take_values(captures_, links);
    if (is_spent) take_inputs(may_come_again, links);
  }
  autodiff::release_chain(std::move(links));
}

// A pass that may come again reads no number of an input: one zero stands for all of them.
void RegionNode::take_inputs(bool keeps_sizes, Links& links) {
  SmallVector<SavedTensor, 6> shells;
  for (const SavedTensor& input : inputs_) {
    if (!keeps_sizes || !input.is_saved()) continue;
    const Tensor zero = Tensor::scalar(Scalar(0), input.tensor().dtype());
    shells.push_back(SavedTensor(expand_to(zero, input.tensor().sizes())));
  }
  take_values(inputs_, links);
  if (keeps_sizes) inputs_ = std::move(shells);
}

void RegionNode::take_values(SmallVector<SavedTensor, 6>& values, Links& links) {
  for (SavedTensor& saved : values) {
    if (saved.is_saved()) links.push_back({Link::Kind::kTensor, saved.take()});
  }
}

const SavedTensor* RegionNode::captured(const RegionPlan& plan, size_t capture) const {
  const auto& wanted = plan.captures[capture];
  if (wanted.is_input) return &inputs_[wanted.index];
  if (&plan == plan_.get()) return &captures_[wanted.index];
  const auto& known = plan_->capture_ids;
  const auto found = std::ranges::find(known, plan.capture_ids[capture]);
  if (found == known.end()) return nullptr;
  return captured(*plan_, static_cast<size_t>(found - known.begin()));
}

void RegionNode::check_captures(const RegionPlan& plan) const {
  for (size_t i = 0; i < plan.captures.size(); ++i) {
    const auto& capture = plan.captures[i];
    const SavedTensor& saved = *captured(plan, i);
    if (!saved.is_stale()) continue;
    const std::string origin =
        capture.title.empty() ? std::string() : fmt::format(", which is {},", capture.title);
    try {
      autodiff::fail_overwritten(saved, origin, name());
    } catch (Error& error) {
      if (!capture.place.empty())
        error.add_context("which was made at " + capture.place.highlight());
      throw;
    }
  }
}

bool RegionNode::is_overwritten() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_stale() && !plan_->written[i]) return true;
  }
  return std::ranges::any_of(captures_, [](const SavedTensor& saved) { return saved.is_stale(); });
}

Ref<const RegionPlan> RegionNode::narrower_plan(CotangentMask mask) const {
  const std::lock_guard lock(plan_->narrowing);
  auto& known = plan_->narrower;
  const auto found = std::ranges::find(known, mask, &RegionPlan::mask);
  if (found != known.end()) return *found;
  if (known.size() >= region_->options->max_plans) return nullptr;
  Ref<const RegionPlan> made = compile_narrower(mask);
  if (made) known.push_back(made);
  return made;
}

Ref<const RegionPlan> RegionNode::compile_narrower(CotangentMask mask) const {
  std::vector<IValue> args;
  size_t tensor = 0;
  for (const RecordedForm& form : plan_->inputs)
    args.push_back(form.is_tensor ? IValue(stand_in(tensor++, form)) : form.constant);
  RegionRequest request(args);
  request.mask = mask;
  Ref<RegionPlan> made =
      compile_region(request, *region_->body, region_->program, *region_->options);
  if (made->backward == nullptr) return nullptr;
  for (size_t i = 0; i < made->captures.size(); ++i) {
    if (captured(*made, i) == nullptr) return nullptr;
  }
  made->forward = nullptr;  // Its captures are those of plan_.
  return made;
}

bool RegionNode::has_captures() const {
  return std::ranges::all_of(captures_, [](const SavedTensor& saved) { return saved.is_saved(); });
}

Gradients RegionNode::run(std::span<const Tensor> cotangents, ops::RunContext& context, bool keep,
                          autodiff::RunningSums* /*sums*/) {
  CotangentMask mask = 0;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (cotangents[i].defined()) mask |= CotangentMask{1} << i;
  }
  check_order(mask);
  Ref<const RegionPlan> plan;
  if (context.tape == nullptr) {
    if (mask == plan_->mask && has_captures()) {
      plan = plan_;
    } else if ((mask & ~plan_->mask) == 0 && is_overwritten()) {
      // Not noted as missed: a plan for these outputs alone would not serve the next ones.
      if (has_captures()) plan = narrower_plan(mask);
    } else {
      plan_->missed.store(mask, std::memory_order_relaxed);
    }
  }
  check_captures(plan ? *plan : *plan_);
  if (plan) return run_plan(*plan, cotangents, context, keep);
  Gradients gradients = run_twin(cotangents, context);
  if (!keep) spend(mask);
  return gradients;
}

// Unless they are to be kept, each capture goes when the plan has read it for the last time.
Gradients RegionNode::run_plan(const RegionPlan& plan, std::span<const Tensor> cotangents,
                               ops::RunContext& context, bool keep) {
  plan.backward_runs.fetch_add(1, std::memory_order_relaxed);
  SmallVector<IValue, 12> args;
  for (const Tensor& cotangent : cotangents) {
    if (cotangent.defined()) args.push_back(IValue(cotangent));
  }
  for (size_t i = 0; i < plan.captures.size(); ++i)
    args.push_back(IValue(captured(plan, i)->tensor()));
  if (!keep) spend(plan.mask);
  SmallVector<IValue, 8> results(plan.backward->graph().outputs().size());
  const Ref<const runtime::RunState> state = region_->run_state();
  runtime::Interpreter(region_->program, state, context)
      .run(*plan.backward, {args.data(), args.size()}, {results.data(), results.size()});
  Gradients gradients;
  for (const uint32_t target : targets_) {
    const int64_t place = plan.gradient_of[target];
    gradients.push_back(place < 0 ? Tensor() : results[static_cast<size_t>(place)].to_tensor());
  }
  return gradients;
}

// An input as it was, with its flags.
Tensor RegionNode::stand_in(size_t place, const RecordedForm& form) const {
  Tensor tensor = inputs_[place].tensor().detach();
  tensor.impl()->wrapped_number = form.wrapped_number;
  if (form.requires_grad) tensor.set_requires_grad(true);
  return tensor;
}

std::vector<IValue> RegionNode::twin_inputs(bool is_recorded) {
  std::vector<IValue> args;
  size_t tensor = 0;
  size_t edge = 0;
  for (const RecordedForm& form : plan_->inputs) {
    if (!form.is_tensor) {
      args.push_back(deep_copy(form.constant));
      continue;
    }
    const size_t place = tensor++;
    // Others than those that the plan reads may have been written, which tier 0 would not mind.
    if (inputs_[place].is_stale() && !plan_->written[place])
      autodiff::fail_overwritten(inputs_[place], {}, name());
    Tensor input = stand_in(place, form);
    // The twin must not write a second time.
    if (plan_->written[place]) input = deep_copy(IValue(input)).to_tensor();
    if (form.requires_grad) {
      if (is_recorded)
        input.impl()->autograd = make_ref<autodiff::Record>(make_ref<PassNode>(edges()[edge]), 0);
      ++edge;
    }
    args.emplace_back(std::move(input));
  }
  return args;
}

Gradients RegionNode::run_twin(std::span<const Tensor> cotangents, ops::RunContext& context) {
  region_->twin_backward_runs.fetch_add(1, std::memory_order_relaxed);
  autodiff::RecordingTape tape;
  ops::RunContext recorded = context;
  const bool is_recorded = context.tape != nullptr;
  if (!is_recorded) recorded.tape = &tape;
  recorded.policy.grad_mode = true;
  std::vector<IValue> args = twin_inputs(is_recorded);
  ops::BackwardRequest request;
  for (const uint32_t target : targets_) {
    size_t tensor = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_tensor() || tensor++ != target) continue;
      request.inputs.push_back(args[i].to_tensor());
    }
  }
  const std::vector<IValue> outputs =
      region_->program.run_plan(*region_->body, args, recorded, region_->run_state());
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (!cotangents[i].defined()) continue;
    request.outputs.push_back(outputs[i].to_tensor());
    request.cotangents.push_back(cotangents[i]);
  }
  request.create_graph = is_recorded;
  request.allow_unused = true;
  const std::vector<Tensor> given = recorded.tape->grad(recorded, request);
  Gradients gradients;
  for (const Tensor& gradient : given) gradients.push_back(gradient);
  return gradients;
}

}  // namespace tierup::tier
