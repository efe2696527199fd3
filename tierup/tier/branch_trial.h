// BranchTrial: whether a plan whose branches run at the same time beats the same plan without.
//
// Measured costs of nodes chose the branches; whether handing them over pays is found out on the
// calls themselves. For each set of argument sizes the two plans take turns; the one whose best
// call was faster stays, the plain one unless the other is clearly better. Sizes beyond the table's
// few stay with the plain plan.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tierup/runtime/memory_plan.h"
#include "tierup/runtime/plan.h"

namespace tierup::tier {

// Thread rule: any thread, no locks; offer() once.
class BranchTrial {
  // The trial for one set of argument sizes.
  struct Entry;

 public:
  using Signature = runtime::MemoryPlans::Signature;
  using Clock = std::chrono::steady_clock;

  // One call's plan, and its time if the call takes part in a trial.
  class Turn {
   public:
    // Null: the plain one.
    const runtime::Plan* branched() const { return branched_; }
    // The call ended well.
    void finish();

   private:
    friend class BranchTrial;
    const runtime::Plan* branched_ = nullptr;
    Entry* entry_ = nullptr;  // Null if the call is not measured.
    Clock::time_point start_;
  };

  BranchTrial() = default;
  BranchTrial(const BranchTrial&) = delete;
  BranchTrial& operator=(const BranchTrial&) = delete;

  // Not `tried`, a test aid: all calls take it.
  void offer(std::unique_ptr<const runtime::Plan> branched, bool tried = true);
  bool is_offered() const { return branched_.load(std::memory_order_acquire) != nullptr; }
  Turn begin(Signature signature);
  // The branched plan's frames: see FramePool.
  size_t trim_frames() const;
  size_t kept_frames() const;
  // One line per set of sizes, for explain; empty if nothing was offered.
  std::string to_string() const;

 private:
  enum class Verdict : uint8_t { kOpen, kPlain, kBranched };
  struct Entry {
    std::atomic<bool> is_taken{false};
    std::atomic<bool> is_known{false};  // The signature is there.
    Signature signature = 0;
    std::atomic<Verdict> verdict{Verdict::kOpen};
    std::atomic<uint32_t> turns{0};
    std::atomic<uint32_t> measured{0};
    // The fastest call of each plan, in nanoseconds: plain, branched.
    std::array<std::atomic<int64_t>, 2> best{INT64_MAX, INT64_MAX};
  };
  Entry* entry_of(Signature signature);

  static constexpr size_t kMaxEntries = 8;
  std::unique_ptr<const runtime::Plan> owned_;
  bool is_tried_ = true;
  std::atomic<const runtime::Plan*> branched_{nullptr};
  std::array<Entry, kMaxEntries> entries_;
};

}  // namespace tierup::tier
