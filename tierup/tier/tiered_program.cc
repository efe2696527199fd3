#include "tierup/tier/tiered_program.h"

#include <algorithm>

namespace tierup::tier {

TieredProgram::TieredProgram(runtime::Program& program, TieringOptions options,
                             std::shared_ptr<CompileQueue> queue)
    : program_(program),
      options_(std::move(options)),
      queue_(queue ? std::move(queue)
                   : std::make_shared<CompileQueue>(options_.compile_threads,
                                                    options_.compile_cpu_share)) {}

TieredProgram::~TieredProgram() {
  for (const auto& graph : graphs_) queue_->end(graph.get());
}

TieredGraph& TieredProgram::add(runtime::Program::PlanSlot& slot, Ref<ObjectValue> self) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return *graphs_.emplace_back(
      std::make_shared<TieredGraph>(program_, slot, std::move(self), *queue_, options_));
}

void TieredProgram::flush() {
  const ForkUnsafeScope scope;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& graph : graphs_) {
    queue_->cancel(graph.get());
    graph->flush();
  }
}

bool TieredProgram::has_open_trials() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(graphs_.begin(), graphs_.end(),
                     [](const auto& graph) { return graph->has_open_trials(); });
}

TierReport TieredProgram::report() const {
  const ForkUnsafeScope scope;
  TierReport report;
  report.options = options_.to_string();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& graph : graphs_) {
    GraphReport one = graph->report();
    if (one.calls > 0) report.graphs.push_back(std::move(one));
  }
  return report;
}

size_t TieredProgram::trim_frames() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t freed = 0;
  for (const auto& graph : graphs_) freed += graph->trim_frames();
  return freed;
}

size_t TieredProgram::kept_frames() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t kept = 0;
  for (const auto& graph : graphs_) kept += graph->kept_frames();
  return kept;
}

}  // namespace tierup::tier
