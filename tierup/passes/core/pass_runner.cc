// See pass_runner.h.
#include "tierup/passes/core/pass_runner.h"

#include <algorithm>
#include <chrono>

#include "tierup/ir/text.h"
#include "tierup/ir/verifier.h"

namespace tierup::passes {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Runner {
 public:
  Runner(ir::Graph& graph, const PassOptions& options)
      : options_(options), context_(graph, ops::OpTable::instance(), options.hints) {
    context_.set_target(options.target);
    context_.set_weight_reads(options.weight_reads);
    context_.set_verifying(options.verify_each);
  }

  void run(const Pass& pass) {
    if (contains(options_.disabled, pass.name)) return;
    if (options_.pass_budget != nullptr && options_.pass_budget->fetch_sub(1) <= 0) return;
    const uint64_t edits = context_.editor().edit_count();
    const auto start = std::chrono::steady_clock::now();
    pass.run(context_);
    const auto time = std::chrono::steady_clock::now() - start;
    const bool changed = context_.editor().edit_count() != edits;
    report_.push_back({pass.name, changed,
                       std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                       context_.take_counters(), context_.take_notes(), context_.take_refused()});
    if (changed && options_.verify_each) ir::verify_graph(context_.graph(), pass.name);
    const auto& after = options_.print_after;
    if (contains(after, pass.name) || contains(after, "all") ||
        (changed && contains(after, "changed"))) {
      print("after " + pass.name);
    }
  }

  void print(const std::string& when) {
    if (!options_.print) return;
    options_.print("# " + when + "\n" + ir::print_graph(context_.graph()));
  }

  void run_forked(std::span<const Pass> passes) { run_forked(context_.graph().block(), passes); }

  PipelineReport take_report() { return std::move(report_); }

 private:
  void run_forked(const ir::Block& block, std::span<const Pass> passes) {
    for (ir::Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) run_forked(*inner, passes);
      if (!node->is(ir::NodeKind::kFork)) continue;
      for (const auto& [name, value] : node->attrs()) {
        const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value);
        if (body == nullptr) continue;
        const std::shared_ptr<ir::Graph> copy = (*body)->clone();
        copy_hints((*body)->block(), copy->block());
        PassOptions inner = options_;
        inner.target.threads = std::min(inner.target.threads, 1);  // As the pool's threads run.
        for (PassReport& report : run_passes(*copy, passes, inner)) {
          report_.push_back(std::move(report));
        }
        context_.editor().set_attr(node, name, std::shared_ptr<const ir::Graph>(copy));
        break;  // set_attr may have moved the attributes.
      }
    }
  }

  // A clone has the same nodes in the same order.
  void copy_hints(const ir::Block& from, const ir::Block& to) {
    const auto copy_all = [&](std::span<ir::Value* const> a, std::span<ir::Value* const> b) {
      for (size_t i = 0; i < a.size(); ++i) context_.hints().copy(a[i], b[i]);
    };
    copy_all(from.params(), to.params());
    const ir::Node* twin = to.first();
    for (const ir::Node* node : from.nodes()) {
      copy_all(node->outputs(), twin->outputs());
      for (size_t i = 0; i < node->blocks().size(); ++i)
        copy_hints(*node->block(i), *twin->block(i));
      twin = twin->next();
    }
  }

  const PassOptions& options_;
  PassContext context_;
  PipelineReport report_;
};

}  // namespace

PipelineReport run_passes(ir::Graph& graph, std::span<const Pass> passes,
                          const PassOptions& options) {
  Runner runner(graph, options);
  if (options.verify_each) ir::verify_graph(graph, "the front end");
  if (contains(options.print_after, "input")) runner.print("input");
  const auto* user = options.user_passes;
  if (user != nullptr) {
    for (const Pass& pass : user->before) runner.run(pass);
  }
  for (const Pass& pass : passes) runner.run(pass);
  if (user != nullptr) {
    for (const Pass& pass : user->after) runner.run(pass);
  }
  runner.run_forked(passes);
  return runner.take_report();
}

}  // namespace tierup::passes
