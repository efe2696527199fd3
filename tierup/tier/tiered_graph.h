// TieredGraph: one function's way through the tiers: profile, compile job, installed plans.
//
//   first calls: tier 0, profiled  ->  job queued  ->  plans in the table  ->  (a call no guard
//   covers: tier 0 for that call, and after some such calls one more specialisation, while the
//   budget lasts)
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tierup/tier/compile_queue.h"
#include "tierup/tier/plan_table.h"
#include "tierup/tier/specializer.h"
#include "tierup/tier/tier_report.h"
#include "tierup/tier/tiering_options.h"

namespace tierup::tier {

// Thread rule: every method from any thread. A compile job keeps its graph alive.
class TieredGraph : public std::enable_shared_from_this<TieredGraph> {
 public:
  TieredGraph(const ir::Function& function, std::shared_ptr<const ir::Graph> graph,
              Ref<ObjectValue> self, const TieringOptions& options);

  // The plan for a call, or null: run tier 0. Never waits for a compilation, unless compile is
  // blocking.
  Ref<const InstalledPlan> plan_for(std::span<const IValue> arguments, const ops::Policy& policy,
                                    CompileQueue& queue);
  // Drops plans and profiles; the next call starts over.
  void flush();
  // Tier 1 gave other results than tier 0: no plans any more.
  void demote(std::string detail);
  GraphReport report() const;
  std::vector<Ref<const InstalledPlan>> plans() const { return table_.plans(); }

 private:
  void on_miss(std::span<const IValue> arguments, const ops::Policy& policy, CompileQueue& queue,
               const PlanTable::Lookup& lookup);
  std::optional<SpecializeRequest> next_request(const ops::Policy& policy);
  void compile(SpecializeRequest request, uint64_t generation, const std::atomic<bool>& cancelled);
  bool next_is_static() const;
  void pin(Reason reason, std::string detail);

  const ir::Function& function_;
  const std::shared_ptr<const ir::Graph> graph_;
  const Ref<ObjectValue> self_;
  const TieringOptions options_;
  PlanTable table_;

  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> tier0_calls_{0};
  std::array<std::atomic<uint64_t>, runtime::kGuardOutcomeCount> guard_failures_{};
  std::atomic<bool> pinned_{false};  // No profiling, no jobs; the table may still hold plans.
  std::atomic<bool> job_pending_{false};
  std::atomic<uint64_t> misses_to_skip_{0};

  mutable std::mutex mutex_;  // Guards what follows; held for microseconds, never by a job at work.
  std::optional<profile::InputProfile> profile_;
  uint32_t made_ = 0;
  uint32_t evictions_ = 0;
  uint32_t invalidations_ = 0;
  uint64_t generation_ = 0;  // Of flushes: a job of an older one is stale.
  Reason reason_ = Reason::kProfiling;
  std::string detail_;
};

}  // namespace tierup::tier
