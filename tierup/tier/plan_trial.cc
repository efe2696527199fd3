#include "tierup/tier/plan_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tierup/kernels/memory/spare_pages.h"

namespace tierup::tier {
namespace {

using Contender = PlanTrial::Contender;
using Samples = SizedTrial::Samples;
using FirstCall = SizedTrial::FirstCall;

constexpr uint32_t kMostSamples = SizedTrial::kMostSamples;
constexpr uint8_t kOpen = SizedTrial::kOpen;

// Turns of the standard contender that warm up: the first call of new sizes, the one whose memory
// is recorded, and the first in its arena.
constexpr uint32_t kWarmTurns = 3;
// Of long calls the last of these counts: what fresh memory takes is a small part of them.
constexpr uint32_t kWarmTurnsOfLongCalls = 2;
// Of these, what a job's run on a sample stands for: all but the first in its arena.
constexpr uint32_t kRehearsedTurns = 2;
// A short call finds the other contender's data in the caches, a second one its own. Reading what
// a core has to itself in caches again takes less than a tenth of a call as long as this, of
// whichever contender.
constexpr uint32_t kRow = 2;
constexpr int64_t kLongCall = 5'000'000;  // Nanoseconds.
// Two samples of each tell contenders that are far apart, and one of each where calls are long and
// the standard one, which is expected to be the fastest, is: what disturbs a call for half its time
// is rare there, and would have to hit the other. Against what is expected one sample says nothing:
// the plan's first may meet memory that is still to be had, and other plans are made if it loses.
constexpr uint32_t kFewestSamples = 2;
constexpr double kFarApart = 1.5;
// What one sample of each has to show for the standard one: where that is wrong, looks, which are
// frequent after long calls, find it out.
constexpr double kAheadAtOnce = 1.1;
// Three samples of each that do not overlap happen by chance once in ten trials of equals, for
// which it does not matter; a real difference shows soonest.
constexpr uint32_t kApartSamples = 3;
// From here on medians so close are not told apart: whoever stays costs no more than that.
constexpr uint32_t kTieSamples = 5;
constexpr double kTie = 1.02;
// From here on quartiles are told apart.
constexpr uint32_t kQuartileSamples = 6;
// Of calls together that take longer than this, a contender gets no further samples: what a trial
// could still find out would be earned back late. One call is enough of the standard one where it
// is the fastest.
constexpr double kMostTime = 60'000'000;  // Nanoseconds.
// The branches' threads are taken from other callers: they must earn it.
constexpr double kBranchedHandicap = 1.0 / 0.95;
// What looking at losers may cost, as a share of all calls' time.
constexpr double kLookingShare = 0.005;
constexpr uint32_t kShortestPeriod = 256;
// Of long calls, which find the caches alike after whichever contender: only their loss counts, and
// 256 of them may be a minute.
constexpr uint32_t kShortestPeriodOfLongCalls = 32;
constexpr uint32_t kUpsetsToReopen = 3;
// Calls after which a verdict by tier 0's first call is looked at.
constexpr uint32_t kCallsOnTrust = 8;
// Calls of the plan before one thread has its turns.
constexpr uint32_t kCallsBeforeAlone = 32;

double handicap(Contender contender) {
  return contender == Contender::kBranched ? kBranchedHandicap : 1.0;
}

std::string_view contender_name(Contender contender) {
  switch (contender) {
    case Contender::kTier0: return "tier 0";
    case Contender::kPlan: return "plan";
    case Contender::kAlone: return "plan by one thread";
    case Contender::kBranched: return "branched";
    case Contender::kFormer: return "former plan";
  }
  return "unknown";
}

}  // namespace

void SizedTrial::Samples::add(int64_t time) {
  const uint32_t number = count.fetch_add(1, std::memory_order_relaxed);
  times[number % kMostSamples].store(time, std::memory_order_relaxed);
}

std::array<int64_t, SizedTrial::kMostSamples> SizedTrial::Samples::sorted() const {
  std::array<int64_t, kMostSamples> values{};
  const uint32_t used = size();
  for (uint32_t i = 0; i < used; ++i) values[i] = times[i].load(std::memory_order_relaxed);
  std::sort(values.begin(), values.begin() + used);
  return values;
}

void PlanTrial::offer_branched(std::unique_ptr<const runtime::Plan> branched, bool tried) {
  is_tried_ = tried;
  branched_ = std::move(branched);
  offer(Contender::kBranched);
}

void PlanTrial::offer_alone(std::optional<std::chrono::nanoseconds> took) {
  if (!took || took->count() < 2 * kLongCall) offer(Contender::kAlone);
}

uint8_t PlanTrial::contenders(const SizedTrial& entry) const {
  switch (entry.alone.load(std::memory_order_relaxed)) {
    case SizedTrial::Alone::kNotYet:
      return static_cast<uint8_t>(offered() & ~bit(Contender::kAlone));
    case SizedTrial::Alone::kNow: return bit(Contender::kPlan) | bit(Contender::kAlone);
    case SizedTrial::Alone::kTried: break;
  }
  return offered();
}

Contender PlanTrial::nth_of(uint8_t contenders, uint32_t number) {
  for (size_t i = 0;; i = (i + 1) % kContenders) {
    const auto contender = static_cast<Contender>(i);
    if (has(contenders, contender) && number-- == 0) return contender;
  }
}

PlanTrial::Turn PlanTrial::begin(SizedPlan* sized, bool is_settled, bool is_crowded) {
  Turn turn;
  turn.contender_ = standard_;
  turn.trial_ = this;
  if (!is_wanted()) return turn;
  if (!is_tried_) {
    untried_calls_.fetch_add(1, std::memory_order_relaxed);
    turn.contender_ = Contender::kBranched;
    return turn;
  }
  if (sized == nullptr) return turn;
  SizedTrial* entry = &sized->trial;
  const uint8_t verdict = entry->verdict.load(std::memory_order_relaxed);
  if (verdict != kOpen) return look_again(*entry, static_cast<Contender>(verdict), is_crowded);
  if (!is_settled) return turn;
  const uint32_t number = entry->turns.fetch_add(1, std::memory_order_relaxed);
  const bool are_long = entry->warm_time.load(std::memory_order_relaxed) >= kLongCall;
  const uint32_t warm_turns = are_long ? kWarmTurnsOfLongCalls : kWarmTurns;
  if (number >= warm_turns) {
    const uint32_t row = are_long ? 1 : kRow;
    const uint32_t tried = number - warm_turns + entry->ahead.load(std::memory_order_relaxed);
    const uint8_t all = contenders(*entry);
    turn.contender_ = nth_of(all, tried / row % static_cast<uint32_t>(std::popcount(all)));
    if (tried % row + 1 < row) return turn;
  }
  turn.is_warming_ = number < warm_turns;
  turn.start(*entry);
  return turn;
}

// Once in a period two calls of a loser and two of the winner, the second of each timed.
PlanTrial::Turn PlanTrial::look_again(SizedTrial& entry, Contender winner, bool is_crowded) const {
  Turn turn;
  turn.trial_ = this;
  turn.contender_ = winner;
  const uint32_t period = entry.period.load(std::memory_order_relaxed);
  const uint32_t number = entry.calls.fetch_add(1, std::memory_order_relaxed);
  if (!is_crowded && try_alone(entry, winner, number)) return turn;
  if (number + 2 * kRow < period) return turn;
  // 4: loser, 3: loser, timed; 2: winner, 1: winner, timed.
  const uint32_t left = std::max(period, number + 1) - number;
  if (left == 1) {
    entry.calls.store(0, std::memory_order_relaxed);
    entry.looks.fetch_add(1, std::memory_order_relaxed);
  }
  if (left > kRow) {
    const uint32_t looks = entry.looks.load(std::memory_order_relaxed);
    const uint8_t all = contenders(entry);
    const uint32_t loser = looks % (static_cast<uint32_t>(std::popcount(all)) - 1);
    const Contender first = nth_of(all, loser);
    turn.contender_ = first < winner ? first : nth_of(all, loser + 1);
  }
  if (left % kRow == 0) return turn;
  turn.start(entry);
  return turn;
}

void PlanTrial::Turn::start(SizedTrial& entry) {
  entry_ = &entry;
  spare_pages_ = kernels::time_for_spare_pages();
  start_ = Clock::now();
}

PlanTrial::Clock::duration PlanTrial::Turn::time() const {
  return Clock::now() - start_ - (kernels::time_for_spare_pages() - spare_pages_);
}

bool PlanTrial::Turn::is_look() const {
  return entry_ != nullptr && entry_->verdict.load(std::memory_order_relaxed) != kOpen;
}

bool PlanTrial::Turn::finish(Clock::duration took) {
  if (entry_ == nullptr) return false;
  const int64_t time = std::max<int64_t>(took / std::chrono::nanoseconds(1), 1);
  if (is_warming_) {
    entry_->warm_time.store(time, std::memory_order_relaxed);
    return false;
  }
  if (entry_->verdict.load(std::memory_order_relaxed) != kOpen) {
    trial_->compare_again(*entry_, contender_, time);
    return false;
  }
  entry_->samples[static_cast<size_t>(contender_)].add(time);
  return trial_->judge(*entry_);
}

void PlanTrial::compare_again(SizedTrial& entry, Contender contender, int64_t time) const {
  const double counted = static_cast<double>(time) * handicap(contender);
  if (static_cast<uint8_t>(contender) != entry.verdict.load(std::memory_order_relaxed)) {
    entry.loser_time.store(static_cast<int64_t>(counted), std::memory_order_relaxed);
    FirstCall trusted = FirstCall::kTrusted;
    if (contender == Contender::kTier0 &&
        entry.first_call.compare_exchange_strong(trusted, FirstCall::kTimedAgain)) {
      Samples& samples = entry.samples[static_cast<size_t>(contender)];
      samples.clear();
      samples.add(time);
    }
    return;
  }
  if (entry.first_call.load(std::memory_order_relaxed) == FirstCall::kTimedAgain)
    return end_trust(entry, contender, time);
  if (static_cast<double>(entry.loser_time.load(std::memory_order_relaxed)) >= counted) {
    entry.upsets.store(0, std::memory_order_relaxed);
    return;
  }
  if (entry.upsets.fetch_add(1, std::memory_order_relaxed) + 1 < kUpsetsToReopen) return;
  reopen(entry);
}

// Tier 0's sample is that of a call like any other by now.
void PlanTrial::end_trust(SizedTrial& entry, Contender winner, int64_t time) const {
  entry.first_call.store(FirstCall::kNone, std::memory_order_relaxed);
  Samples& ours = entry.samples[static_cast<size_t>(winner)];
  ours.add(time);
  const Samples& of_tier0 = entry.samples[static_cast<size_t>(Contender::kTier0)];
  if (kTie * static_cast<double>(of_tier0.median()) < static_cast<double>(ours.median()))
    return reopen(entry);
  entry.period.store(period_of(entry, winner));
}

void PlanTrial::reopen(SizedTrial& entry) const {
  const uint8_t all = contenders(entry);
  for (size_t i = 0; i < kContenders; ++i)
    if (has(all, static_cast<Contender>(i))) entry.samples[i].clear();
  entry.upsets.store(0, std::memory_order_relaxed);
  entry.ahead.store(0, std::memory_order_relaxed);
  entry.first_call.store(FirstCall::kNone, std::memory_order_relaxed);
  entry.turns.store(kWarmTurns, std::memory_order_relaxed);
  entry.verdict.store(kOpen, std::memory_order_release);
}

// Where the plan won so many calls ago, and one thread is still to be tried: not of calls so long
// that their loops earn what a team costs.
bool PlanTrial::try_alone(SizedTrial& entry, Contender winner, uint32_t calls) const {
  using Alone = SizedTrial::Alone;
  if (winner != Contender::kPlan || calls < kCallsBeforeAlone || !is_offered(Contender::kAlone))
    return false;
  const Samples& of_plan = entry.samples[static_cast<size_t>(winner)];
  const bool is_on_trust = entry.first_call.load(std::memory_order_relaxed) != FirstCall::kNone;
  if (is_on_trust || of_plan.median() >= 2 * kLongCall) return false;
  Alone not_yet = Alone::kNotYet;
  if (!entry.alone.compare_exchange_strong(not_yet, Alone::kNow, std::memory_order_relaxed))
    return false;
  reopen(entry);
  return true;
}

// Whether the times of all part from the best's: every one of them is above every one of the best,
// or, once there are more, the lower quartile above the best's upper one. Equals part by their
// medians.
bool PlanTrial::judge(SizedTrial& entry) const {
  const uint8_t all = contenders(entry);
  std::optional<Contender> best;
  double best_median = 0;
  uint32_t fewest = kMostSamples;
  for (size_t i = 0; i < kContenders; ++i) {
    const auto contender = static_cast<Contender>(i);
    if (!has(all, contender)) continue;
    const Samples& samples = entry.samples[i];
    fewest = std::min(fewest, samples.size());
    if (fewest == 0) return false;
    const double median = static_cast<double>(samples.median()) * handicap(contender);
    if (!best || median < best_median) {
      best = contender;
      best_median = median;
    }
  }
  const bool tells_at_once = best_median >= kLongCall && *best == standard_;
  if (fewest < kFewestSamples && !tells_at_once) return false;
  const bool is_long = fewest * best_median > kMostTime;
  if (fewest < kMostSamples && !is_long) {
    const double apart = fewest >= kApartSamples ? 1 : tells_at_once ? kAheadAtOnce : kFarApart;
    const uint32_t left_out = fewest < kQuartileSamples ? 0 : fewest / 4;
    const Samples& ours = entry.samples[static_cast<size_t>(*best)];
    const double upper =
        static_cast<double>(ours.sorted()[ours.size() - 1 - left_out]) * handicap(*best);
    for (size_t i = 0; i < kContenders; ++i) {
      const auto contender = static_cast<Contender>(i);
      if (!has(all, contender) || contender == *best) continue;
      const double lower =
          static_cast<double>(entry.samples[i].sorted()[left_out]) * handicap(contender);
      const double median = static_cast<double>(entry.samples[i].median()) * handicap(contender);
      const bool is_tie = fewest >= kTieSamples && median < kTie * best_median;
      if (lower <= apart * upper && !is_tie) return false;
    }
  }
  settle(entry, *best);
  return true;
}

// Calls from one look at a loser to the next.
uint32_t PlanTrial::period_of(const SizedTrial& entry, Contender winner) const {
  const auto best = static_cast<double>(entry.samples[static_cast<size_t>(winner)].median());
  double worst = best;
  const uint8_t all = contenders(entry);
  for (size_t i = 0; i < kContenders; ++i) {
    if (has(all, static_cast<Contender>(i)))
      worst = std::max(worst, static_cast<double>(entry.samples[i].median()));
  }
  const double loss = kRow * (worst - best) / best;  // In calls of the winner.
  const double period = std::min(loss / kLookingShare, 1e6);
  const uint32_t shortest = best < kLongCall ? kShortestPeriod : kShortestPeriodOfLongCalls;
  return std::max(static_cast<uint32_t>(period), shortest);
}

void PlanTrial::settle(SizedTrial& entry, Contender winner) const {
  const uint32_t period = period_of(entry, winner);
  entry.period.store(period);
  const bool is_on_trust = entry.first_call.load(std::memory_order_relaxed) != FirstCall::kNone;
  entry.calls.store(is_on_trust ? period - 2 * kRow - kCallsOnTrust : 0);
  SizedTrial::Alone now = SizedTrial::Alone::kNow;
  entry.alone.compare_exchange_strong(now, SizedTrial::Alone::kTried);
  entry.verdict.store(static_cast<uint8_t>(winner), std::memory_order_release);
}

std::vector<SizedPlan*> PlanTrial::tried() const {
  std::vector<SizedPlan*> entries = sized_.entries();
  std::erase_if(entries, [](const SizedPlan* sized) {
    return sized->trial.turns.load() == 0 && sized->trial.verdict.load() == kOpen;
  });
  return entries;
}

void PlanTrial::note_earlier_call(SizedPlans::Signature signature, std::chrono::nanoseconds took,
                                  bool is_first) {
  if (took.count() < kLongCall || !is_offered(Contender::kTier0)) return;
  SizedPlan* sized = sized_.at(signature);
  if (sized == nullptr) return;
  sized->trial.samples[static_cast<size_t>(Contender::kTier0)].add(took.count());
  sized->trial.ahead.store(1);
  if (is_first) sized->trial.first_call.store(FirstCall::kTrusted);
}

void PlanTrial::note_rehearsal(SizedPlans::Signature signature, std::chrono::nanoseconds took) {
  SizedPlan* sized = sized_.at(signature);
  if (sized == nullptr) return;
  sized->trial.turns.store(kRehearsedTurns);
  // Beside a caller a job has half of the cores, or less.
  if (took.count() >= 2 * kLongCall) sized->trial.warm_time.store(took.count());
}

void PlanTrial::take_verdicts(const PlanTrial& other) {
  for (const SizedPlan* known : other.tried()) {
    const std::optional<Result> found = result(*known);
    if (!found || !is_offered(found->winner)) continue;
    SizedPlan* sized = sized_.at(known->signature);
    if (sized == nullptr) continue;
    SizedTrial& entry = sized->trial;
    for (size_t i = 0; i < kContenders; ++i) {
      if (found->medians[i]) entry.samples[i].add(*found->medians[i]);
    }
    entry.period.store(known->trial.period.load());
    entry.alone.store(known->trial.alone.load());
    entry.verdict.store(static_cast<uint8_t>(found->winner), std::memory_order_release);
  }
}

std::optional<PlanTrial::Result> PlanTrial::result(const SizedPlan& sized) {
  const SizedTrial& entry = sized.trial;
  const uint8_t verdict = entry.verdict.load(std::memory_order_acquire);
  if (verdict == kOpen) return std::nullopt;
  Result result{static_cast<Contender>(verdict), {}, 0};
  for (size_t i = 0; i < kContenders; ++i) {
    if (entry.samples[i].size() > 0) result.medians[i] = entry.samples[i].median();
  }
  const std::optional<int64_t> best = result.medians[verdict];
  for (size_t i = 0; best && i < kContenders; ++i) {
    const int64_t longer = std::max<int64_t>(result.medians[i].value_or(0) - *best, 0);
    result.lost_time += longer * kRow * entry.samples[i].size();
  }
  return result;
}

bool PlanTrial::always_won(Contender contender) const {
  const std::vector<SizedPlan*> entries = tried();
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [&](const auto* sized) {
    return sized->trial.verdict.load() == static_cast<uint8_t>(contender);
  });
}

bool PlanTrial::is_open() const {
  if (!is_wanted() || !is_tried_) return false;
  const std::vector<SizedPlan*> entries = tried();
  return entries.empty() || std::any_of(entries.begin(), entries.end(), [](const auto* sized) {
           return sized->trial.verdict.load() == kOpen;
         });
}

size_t PlanTrial::trim_frames() const { return branched_ ? branched_->trim_frames() : 0; }
size_t PlanTrial::kept_frames() const { return branched_ ? branched_->kept_frames() : 0; }

std::string PlanTrial::to_string() const {
  if (!is_wanted()) return {};
  if (!is_tried_)
    return fmt::format("branches at the same time: in {} calls", untried_calls_.load());
  std::string text;
  for (const SizedPlan* sized : tried()) {
    if (!text.empty()) text += "; ";
    const std::optional<Result> result = PlanTrial::result(*sized);
    text += result ? fmt::format("{} is fastest (", contender_name(result->winner)) : "still tried";
    if (!result) continue;
    std::string_view comma;
    for (size_t i = 0; i < kContenders; ++i) {
      if (!result->medians[i]) continue;
      text += fmt::format("{}{} {:.4g} ms", comma, contender_name(static_cast<Contender>(i)),
                          1e-6 * static_cast<double>(*result->medians[i]));
      comma = ", ";
    }
    text += ")";
  }
  return "tried by turns: " + (text.empty() ? "not called yet" : text);
}

}  // namespace tierup::tier
