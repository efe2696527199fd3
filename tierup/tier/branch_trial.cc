#include "tierup/tier/branch_trial.h"

#include <fmt/format.h>

namespace tierup::tier {
namespace {

// Turns of both plans that warm up, then turns that count.
constexpr uint32_t kWarmTurns = 8;
constexpr uint32_t kMeasuredTurns = 24;
// What the branched plan's best call may take of the plain one's, to be taken.
constexpr double kClearlyBetter = 0.95;

}  // namespace

void BranchTrial::offer(std::unique_ptr<const runtime::Plan> branched, bool tried) {
  is_tried_ = tried;
  owned_ = std::move(branched);
  branched_.store(owned_.get(), std::memory_order_release);
}

// Claims an entry for new sizes; another thread may claim one for the same: its trial never ends,
// for the first entry is found from then on.
BranchTrial::Entry* BranchTrial::entry_of(Signature signature) {
  for (Entry& entry : entries_) {
    if (!entry.is_taken.exchange(true, std::memory_order_acq_rel)) {
      entry.signature = signature;
      entry.is_known.store(true, std::memory_order_release);
      return &entry;
    }
    if (entry.is_known.load(std::memory_order_acquire) && entry.signature == signature)
      return &entry;
  }
  return nullptr;
}

BranchTrial::Turn BranchTrial::begin(Signature signature) {
  Turn turn;
  const runtime::Plan* branched = branched_.load(std::memory_order_acquire);
  if (branched == nullptr) return turn;
  if (!is_tried_) {
    turn.branched_ = branched;
    return turn;
  }
  Entry* entry = entry_of(signature);
  if (entry == nullptr) return turn;
  const Verdict verdict = entry->verdict.load(std::memory_order_relaxed);
  if (verdict == Verdict::kBranched) turn.branched_ = branched;
  if (verdict != Verdict::kOpen) return turn;
  const uint32_t number = entry->turns.fetch_add(1, std::memory_order_relaxed);
  if (number % 2 == 1) turn.branched_ = branched;
  if (number < kWarmTurns) return turn;
  turn.entry_ = entry;
  turn.start_ = Clock::now();
  return turn;
}

void BranchTrial::Turn::finish() {
  if (entry_ == nullptr) return;
  const int64_t time = (Clock::now() - start_) / std::chrono::nanoseconds(1);
  std::atomic<int64_t>& best = entry_->best[branched_ != nullptr ? 1 : 0];
  int64_t known = best.load(std::memory_order_relaxed);
  while (time < known && !best.compare_exchange_weak(known, time, std::memory_order_relaxed)) {
  }
  if (entry_->measured.fetch_add(1, std::memory_order_relaxed) + 1 < kMeasuredTurns) return;
  const auto plain = static_cast<double>(entry_->best[0].load());
  const auto branched = static_cast<double>(entry_->best[1].load());
  const bool is_better = branched < kClearlyBetter * plain;
  entry_->verdict.store(is_better ? Verdict::kBranched : Verdict::kPlain,
                        std::memory_order_relaxed);
}

size_t BranchTrial::trim_frames() const { return is_offered() ? owned_->trim_frames() : 0; }
size_t BranchTrial::kept_frames() const { return is_offered() ? owned_->kept_frames() : 0; }

std::string BranchTrial::to_string() const {
  if (!is_offered()) return {};
  if (!is_tried_) return "branches at the same time: always";
  std::string text;
  for (const Entry& entry : entries_) {
    if (!entry.is_known.load(std::memory_order_acquire)) break;
    const Verdict verdict = entry.verdict.load();
    if (!text.empty()) text += "; ";
    if (verdict == Verdict::kOpen) {
      text += "still tried";
      continue;
    }
    text += fmt::format("{} (plain {:.3f} ms, branched {:.3f} ms)",
                        verdict == Verdict::kBranched ? "branched" : "plain",
                        1e-6 * static_cast<double>(entry.best[0].load()),
                        1e-6 * static_cast<double>(entry.best[1].load()));
  }
  return "branches at the same time: " + (text.empty() ? "not called yet" : text);
}

}  // namespace tierup::tier
