#include "tierup/runtime/run_profiler.h"

#include <unordered_map>

namespace tierup::runtime {
namespace {

using ir::Node;
using ir::NodeKind;

// Ifs and Loops by their place in program order, each kind for itself.
void number_blocks(const ir::Block& block, std::unordered_map<const Node*, uint32_t>& places,
                   size_t& branches, size_t& loops) {
  for (const Node* node : block.nodes()) {
    if (node->is(NodeKind::kIf)) places[node] = static_cast<uint32_t>(branches++);
    if (node->is(NodeKind::kLoop)) places[node] = static_cast<uint32_t>(loops++);
    for (const ir::Block* inner : node->blocks()) number_blocks(*inner, places, branches, loops);
  }
}

}  // namespace

ProfileLayout::ProfileLayout(const Plan& plan) : plan_(plan) {
  std::unordered_map<const Node*, uint32_t> places;
  number_blocks(plan.graph().block(), places, branches_, loops_);
  const std::vector<const ir::Value*> values = profile::profiled_values(plan.graph());
  values_ = values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]->index() == 0) places[values[i]->node()] = static_cast<uint32_t>(i);
  }
  places_.assign(plan.steps().size(), kNothing);
  for (size_t i = 0; i < places_.size(); ++i) {
    const Node* node = plan.origin(i);
    const auto found = places.find(node);
    const StepKind kind = plan.steps()[i].kind;
    if (node == nullptr || found == places.end()) continue;
    const bool has_blocks = !node->blocks().empty();
    const bool decides = kind == StepKind::kJumpIfFalse || kind == StepKind::kLoopTest;
    // A node's own values come from the one step that has as many outputs.
    const bool makes = !has_blocks && plan.steps()[i].output_count == node->outputs().size();
    if (has_blocks ? decides : makes) places_[i] = found->second;
  }
}

profile::GraphProfile ProfileLayout::empty_profile() const {
  return profile::GraphProfile(plan_.param_count(), values_, branches_, loops_);
}

RunProfiler::RunProfiler(const ProfileLayout& layout, std::span<const IValue> arguments)
    : layout_(layout), profile_(layout.empty_profile()) {
  profile_.set_run_count(1);
  for (size_t i = 0; i < arguments.size(); ++i) profile_.arguments()[i].record(arguments[i]);
}

void RunProfiler::on_values(const Step& step, const IValue* slots) {
  const uint32_t place = layout_.place(index_of(step));
  if (place == ProfileLayout::kNothing) return;
  if (step.kind == StepKind::kOp) {
    profile::TimeProfile& time = profile_.times()[place];
    time.nanoseconds += std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
    ++time.executions;
  }
  for (uint32_t i = 0; i < step.output_count; ++i)
    profile_.values()[place + i].record(slots[step.output + i]);
}

void RunProfiler::on_branch(const Step& step, bool taken) {
  const uint32_t place = layout_.place(index_of(step));
  if (place == ProfileLayout::kNothing) return;
  profile::BranchProfile& branch = profile_.branches()[place];
  ++(taken ? branch.taken : branch.left);
}

void RunProfiler::on_loop_end(const Step& step, int64_t trips) {
  const uint32_t place = layout_.place(index_of(step));
  if (place == ProfileLayout::kNothing) return;
  profile::TripProfile& loop = profile_.loops()[place];
  loop.least = loop.entries == 0 ? trips : std::min(loop.least, trips);
  loop.most = std::max(loop.most, trips);
  ++loop.entries;
}

}  // namespace tierup::runtime
