#include "tierup/tier/specializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tierup/codegen/compile_groups.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/ops/table/role.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/fuse_pointwise.h"
#include "tierup/passes/fuse/fuse_products.h"
#include "tierup/passes/pipeline.h"
#include "tierup/passes/specialize/batch_loop_products.h"
#include "tierup/passes/specialize/fork_branches.h"
#include "tierup/passes/specialize/freeze_attributes.h"
#include "tierup/runtime/lower.h"
#include "tierup/tier/compile_nets.h"
#include "tierup/tier/plan_for_weights.h"

namespace tierup::tier {
namespace {

// Tuples, and what goes into and out of blocks, may be inputs as they came: sizes that the front
// end knew by its own symbols are no longer those of their types.
void drop_sizes_around(ir::GraphEditor& editor, const ir::Block& block) {
  for (ir::Node* node : block.nodes()) {
    for (ir::Value* output : node->outputs()) {
      if (!node->blocks().empty() || !output->type()->is(TypeKind::kTensor))
        passes::drop_sizes(editor, output);
    }
    for (const ir::Block* inner : node->blocks()) {
      for (ir::Value* param : inner->params()) passes::drop_sizes(editor, param);
      drop_sizes_around(editor, *inner);
    }
  }
}

// What the entry guard checks, as types of the graph's inputs.
void set_input_types(ir::Graph& graph, const SpecializeRequest& request) {
  ir::GraphEditor editor(graph);
  drop_sizes_around(editor, graph.block());
  const auto& arguments = request.profile.arguments();
  for (size_t i = 0; i < graph.inputs().size() && i < arguments.size(); ++i) {
    ir::Value* input = graph.inputs()[i];
    if (const TypePtr type = arguments[i].type(request.is_static)) {
      if (input->type()->is(TypeKind::kTensor)) editor.set_type(input, type);
    } else if (arguments[i].truth && input->type()->is(TypeKind::kBool)) {
      if (graph.block().first() != nullptr) editor.set_insert_before(graph.block().first());
      editor.replace_uses(input, editor.constant(IValue(*arguments[i].truth)));
    }
  }
}

void collect_steps(const passes::PipelineReport& report, std::vector<StepReport>& steps) {
  for (const passes::PassReport& pass : report) {
    if (!pass.changed && pass.counters.empty()) continue;
    steps.push_back({pass.name,
                     1e-6 * static_cast<double>(pass.nanoseconds),
                     {pass.counters.begin(), pass.counters.end()},
                     pass.notes,
                     pass.refused});
  }
}

passes::BranchLimits limits_of(const TieringOptions& options) {
  passes::BranchLimits limits{.threads = static_cast<int>(options.inter_op_threads)};
  limits.least_nanoseconds = 1e3 * options.inter_op_grain_us;
  if (options.inter_op_grain_us == 0) limits.handover_nanoseconds = 0;
  return limits;
}

codegen::CompileOptions codegen_options(const TieringOptions& tiering) {
  codegen::CompileOptions options = codegen::process_options();
  options.print_ir = tiering.print_ir;
  options.perf_map = tiering.perf_map;
  return options;
}

// Whether small products that nets leave will stand in groups with kernels.
bool fuses_products(const TieringOptions& options) {
  const auto& off = options.disabled_passes;
  return options.fusion && options.fusion_group_min <= TieringOptions().fusion_group_min &&
         std::find(off.begin(), off.end(), "fuse_products") == off.end() &&
         codegen::Library::instance().api() != nullptr;
}

bool has_role(const ir::Block& block, ops::Role role) {
  for (const ir::Node* node : block.nodes()) {
    if (node->op() != nullptr && ops::op_of(*node->op()).role() == role) return true;
    for (const ir::Block* inner : node->blocks()) {
      if (has_role(*inner, role)) return true;
    }
  }
  return false;
}

std::optional<std::chrono::nanoseconds> warm_time_of(const SpecializeRequest& request) {
  if (!request.call || !request.call->came_twice) return std::nullopt;
  return request.call->took;
}

class Specialization {
 public:
  Specialization(const SpecializeRequest& request, const TieringOptions& options,
                 const std::atomic<bool>& cancelled, InstalledPlan& installed)
      : request_(request),
        options_(options),
        cancelled_(cancelled),
        installed_(installed),
        graph_(request.graph->clone()),
        pass_options_(pass_options_of(options)) {
    // Costs first: the passes only take nodes away and move them, mostly.
    if (options.inter_op_threads > 1) costs_ = profile::costs_of(*graph_, request.profile);
    set_input_types(*graph_, request);
    hints_ = profile::hints_of(*graph_, request.profile);
    pass_options_.hints = &hints_;
    pass_options_.weight_reads = &weight_reads_;
    pass_options_.target = {request.threads, !options.accurate,
                            [&options] { return fuses_products(options); }};
    if (request.variant == PlanVariant::kWithoutNets)
      pass_options_.disabled.emplace_back("neural_regions");
    // Their products sum in another order than tier 0's.
    if (options.accurate) pass_options_.disabled.emplace_back("join_products");
  }

  void freeze() {
    if (!request_.self) return;
    const passes::ConstantObserver observer{
        [&](const Tensor& weight) {
          installed_.guard.observe(weight.storage());
          weight_reads_.add(weight);
        },
        [&](const Ref<ObjectValue>& object, size_t slot) {
          installed_.guard.observe(object, slot);
        },
        [&](const Ref<ListValue>& list) { installed_.guard.observe(list); }};
    const passes::Pass freeze{"freeze_attributes", [&](passes::PassContext& context) {
                                passes::freeze_attributes(context, request_.self, observer);
                              }};
    // Twice: flags decide branches, and what is left of them may no longer write to weights.
    std::vector<passes::Pass> passes{freeze};
    for (const char* name :
         {"constant_propagation", "propagate_shapes", "peephole", "constant_propagation"}) {
      passes.push_back(*passes::find_pass(name));
    }
    passes.push_back(passes::specialized_dead_code_elimination());
    passes.push_back(freeze);
    run(passes);
  }

  // Makes forks of branches that are worth it; false if there are none.
  bool fork() {
    const passes::BranchLimits limits = limits_of(options_);
    const passes::Pass fork{"fork_branches", [&](passes::PassContext& context) {
                              passes::fork_branches(context, costs_, limits);
                            }};
    return run({&fork, 1}).front().changed;
  }

  // Null if cancelled on the way.
  std::unique_ptr<runtime::Plan> finish() {
    if (!options_.accurate) {
      // Before what makes other steps out of products.
      const passes::Pass batch{"batch_loop_products", passes::batch_loop_products};
      run({&batch, 1});
    }
    if (cancelled_.load()) return nullptr;
    pass_options_.user_passes = options_.user_passes.get();
    run(passes::specialized_passes());
    pass_options_.user_passes = nullptr;
    if (cancelled_.load()) return nullptr;
    const passes::Pass compile_regions[] = {
        {"compile_nets",
         [&](passes::PassContext& context) {
           const auto when = request_.sample ? NetComparison::kLater : NetComparison::kNow;
           for (auto& net : compile_nets(context, cancelled_, when, older_nets()))
             installed_.unconfirmed.push_back(std::move(net));
         }},
        // What regions that came apart leave.
        passes::specialized_dead_code_elimination(),
        *passes::find_pass("constant_pooling")};
    run(compile_regions);
    if (cancelled_.load()) return nullptr;
    if (options_.fusion && request_.variant != PlanVariant::kWithoutGroups)
      fuse_groups(*graph_, options_, pass_options_, cancelled_, installed_.steps);
    if (cancelled_.load()) return nullptr;
    check_strict_fusion();
    find_holders(graph_->block(), installed_);
    installed_.reads_weights |= weight_reads_.were_read() || options_.user_passes != nullptr;
    installed_.has_nets |= has_role(graph_->block(), ops::Role::kNeuralNet);
    installed_.has_groups |= has_role(graph_->block(), ops::Role::kFusionGroup);
    return runtime::lower(graph_);
  }

 private:
  std::vector<const ops::NeuralNet*> older_nets() const {
    std::vector<const ops::NeuralNet*> nets;
    if (request_.older == nullptr) return nets;
    for (const ops::HasTwin* step : request_.older->compiled_steps) {
      if (const auto* net = dynamic_cast<const ops::NeuralNet*>(step)) nets.push_back(net);
    }
    return nets;
  }

  // What is amiss is a note on the plan; who asks for the reference's policy gets no plan, as
  // there.
  void check_strict_fusion() {
    const passes::PipelineReport report = run({passes::find_pass("check_strict_fusion"), 1});
    if (report.empty() || report.front().notes.empty()) return;
    if (options_.policy == Policy::kReference)
      fail(ErrorCode::kUnsupported, "{}", fmt::join(report.front().notes, "\n"));
  }

  passes::PipelineReport run(std::span<const passes::Pass> passes) {
    passes::PipelineReport report = run_passes(*graph_, passes, pass_options_);
    collect_steps(report, installed_.steps);
    return report;
  }

  const SpecializeRequest& request_;
  const TieringOptions& options_;
  const std::atomic<bool>& cancelled_;
  InstalledPlan& installed_;
  const std::shared_ptr<ir::Graph> graph_;
  passes::NodeCosts costs_;
  ir::ValueHints hints_;
  passes::WeightReads weight_reads_;
  passes::PassOptions pass_options_;
};

}  // namespace

passes::PassOptions pass_options_of(const TieringOptions& options) {
  passes::PassOptions pass_options;
  pass_options.verify_each = options.verify_passes;
  pass_options.disabled = options.disabled_passes;
  pass_options.print_after = options.print_after;
  pass_options.print = [](const std::string& text) { std::fputs(text.c_str(), stderr); };
  return pass_options;
}

void run_noted(ir::Graph& graph, std::span<const passes::Pass> passes,
               const passes::PassOptions& options, std::vector<StepReport>& steps) {
  collect_steps(run_passes(graph, passes, options), steps);
}

void fuse_groups(ir::Graph& graph, const TieringOptions& options,
                 const passes::PassOptions& pass_options, const std::atomic<bool>& cancelled,
                 std::vector<StepReport>& steps) {
  const passes::Pass passes[] = {// First: what small products leave is for point-wise groups.
                                 {"fuse_products",
                                  [&](passes::PassContext& context) {
                                    passes::fuse_products(context, {options.fusion_group_min});
                                  }},
                                 {"fuse_pointwise",
                                  [&](passes::PassContext& context) {
                                    passes::fuse_pointwise(context, {options.fusion_group_min});
                                  }},
                                 // Lists that only members read.
                                 passes::specialized_dead_code_elimination()};
  run_noted(graph, passes, pass_options, steps);
  const codegen::GroupReport report = codegen::compile_groups(graph, &codegen::Library::instance,
                                                              codegen_options(options), cancelled);
  if (report.groups == 0) return;
  StepReport& step = steps.emplace_back();
  step.name = "compile_groups";
  step.milliseconds = report.compile_ms;
  step.counters = {
      {"groups", report.groups}, {"kernels", report.kernels}, {"compiled", report.compiled}};
  if (report.refusal) step.notes.push_back("not compiled: " + report.refusal.text());
}

void find_holders(const ir::Block& block, InstalledPlan& plan) {
  for (const ir::Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) find_holders(*inner, plan);
    for (const auto& [name, value] : node->attrs()) {
      if (const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value))
        find_holders((*body)->block(), plan);
    }
    for (const ir::Value* output : node->outputs()) {
      const IValue* constant = passes::constant_of(output);
      if (constant == nullptr || !constant->is_capsule()) continue;
      const auto* holder = dynamic_cast<const ops::HoldsMemory*>(constant->to_capsule());
      if (holder != nullptr) plan.holders.push_back(holder);
      const auto* step = dynamic_cast<const ops::HasTwin*>(constant->to_capsule());
      const bool is_known = std::find(plan.compiled_steps.begin(), plan.compiled_steps.end(),
                                      step) != plan.compiled_steps.end();
      if (step != nullptr && !is_known) plan.compiled_steps.push_back(step);
    }
  }
}

Ref<InstalledPlan> start_plan(const SpecializeRequest& request, const TieringOptions& options) {
  auto installed = make_ref<InstalledPlan>();
  installed->is_static = request.is_static;
  installed->profile = std::make_shared<const profile::GraphProfile>(request.profile);
  installed->policy = request.policy;
  installed->variant = request.variant;
  if (tries_plans(options)) installed->trial.offer(PlanTrial::Contender::kTier0);
  if (request.call) {
    const SpecializeRequest::Call& call = *request.call;
    installed->trial.note_earlier_call(call.signature, call.took, !call.came_twice);
  }
  return installed;
}

Ref<InstalledPlan> specialize(const SpecializeRequest& request, const TieringOptions& options,
                              const std::atomic<bool>& cancelled) {
  if (request.older != nullptr) {
    if (Ref<InstalledPlan> plan = plan_for_weights(request, options)) return plan;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Ref<InstalledPlan> installed = start_plan(request, options);
  installed->guard =
      runtime::EntryGuard::from_profile(request.profile, request.is_static, request.policy);
  Specialization plain(request, options, cancelled, *installed);
  plain.freeze();
  installed->plan = plain.finish();
  if (installed->plan == nullptr) return nullptr;
  if (options.inter_op_threads > 1) {
    Specialization branched(request, options, cancelled, *installed);
    branched.freeze();
    if (branched.fork()) {
      std::unique_ptr<runtime::Plan> plan = branched.finish();
      if (plan == nullptr) return nullptr;
      installed->trial.offer_branched(std::move(plan), options.inter_op_grain_us > 0);
    }
  }
  // A net chose what its threads do when it was compiled.
  const bool is_one_net = installed->has_nets && installed->compiled_steps.size() == 1;
  if (tries_plans(options) && request.threads > 1 && !is_one_net)
    installed->trial.offer_alone(warm_time_of(request));
  installed->compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return installed;
}

std::unique_ptr<const runtime::Plan> fork_plan(const ir::Graph& graph,
                                               const profile::GraphProfile& profile,
                                               const TieringOptions& options) {
  const std::shared_ptr<ir::Graph> copy = graph.clone();
  const passes::NodeCosts costs = profile::costs_of(*copy, profile);
  const passes::BranchLimits limits = limits_of(options);
  const passes::Pass fork{"fork_branches", [&](passes::PassContext& context) {
                            passes::fork_branches(context, costs, limits);
                          }};
  if (!passes::run_passes(*copy, {&fork, 1}, {}).front().changed) return nullptr;
  return runtime::lower(copy);
}

}  // namespace tierup::tier
