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

void RegionNode::check_captures() const {
  for (const auto& capture : plan_->captures) {
    const SavedTensor& saved = capture.is_input ? inputs_[capture.index] : captures_[capture.index];
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
  check_captures();
  Gradients gradients;
  if (context.tape == nullptr && mask == plan_->mask && has_captures()) {
    gradients = run_plan(cotangents, context, keep);
  } else {
    if (context.tape == nullptr) plan_->missed.store(mask, std::memory_order_relaxed);
    gradients = run_twin(cotangents, context);
    if (!keep) spend(mask);
  }
  return gradients;
}

// Unless they are to be kept, each capture goes when the plan has read it for the last time.
Gradients RegionNode::run_plan(std::span<const Tensor> cotangents, ops::RunContext& context,
                               bool keep) {
  plan_->backward_runs.fetch_add(1, std::memory_order_relaxed);
  SmallVector<IValue, 12> args;
  for (const Tensor& cotangent : cotangents) {
    if (cotangent.defined()) args.push_back(IValue(cotangent));
  }
  for (const auto& capture : plan_->captures) {
    const SavedTensor& saved = capture.is_input ? inputs_[capture.index] : captures_[capture.index];
    args.push_back(IValue(saved.tensor()));
  }
  if (!keep) spend(plan_->mask);
  SmallVector<IValue, 8> results(plan_->backward->graph().outputs().size());
  const Ref<const runtime::RunState> state = region_->run_state();
  runtime::Interpreter(region_->program, state, context)
      .run(*plan_->backward, {args.data(), args.size()}, {results.data(), results.size()});
  Gradients gradients;
  for (const uint32_t target : targets_) {
    const int64_t place = plan_->gradient_of[target];
    gradients.push_back(place < 0 ? Tensor() : results[static_cast<size_t>(place)].to_tensor());
  }
  return gradients;
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
    Tensor stand_in = inputs_[place].tensor().detach();
    // The twin must not write a second time.
    if (plan_->written[place]) stand_in = deep_copy(IValue(stand_in)).to_tensor();
    if (form.requires_grad) {
      stand_in.set_requires_grad(true);
      if (is_recorded) {
        stand_in.impl()->autograd =
            make_ref<autodiff::Record>(make_ref<PassNode>(edges()[edge]), 0);
      }
      ++edge;
    }
    args.emplace_back(std::move(stand_in));
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
