// RecentlyUsed<Entry>: a few entries that many threads look up and few add; look-ups never wait.
//
// What is kept by sizes or guards is bounded by this: above the bound of whoever adds, the least
// recently used entries go. Uses are counted only where there are entries to tell apart.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tierup/base/ref.h"
#include "tierup/base/snapshot_cell.h"

namespace tierup {

// What an entry derives from, beside RefCounted.
class UseMark {
 private:
  template <typename Entry>
  friend class RecentlyUsed;
  mutable std::atomic<uint64_t> last_use_{0};  // The look-up's number.
};

// Thread rule: any thread looks up; those who change it hold a lock of their own between each
// other.
template <typename Entry>
class RecentlyUsed {
 public:
  using Entries = std::vector<Ref<const Entry>>;

  // The first entry, of the newest ones first, for which `is_wanted` holds; null if there is none.
  template <typename IsWanted>
  Ref<const Entry> find(const IsWanted& is_wanted) const {
    const typename SnapshotCell<Entries>::Reader reader(entries_);
    if (reader.get() == nullptr) return nullptr;
    for (const Ref<const Entry>& entry : *reader.get()) {
      if (!is_wanted(entry)) continue;
      if (reader.get()->size() > 1) mark(*entry);
      return entry;
    }
    return nullptr;
  }
  // Of a moment.
  Entries entries() const {
    return read([](const Entries& entries) { return entries; });
  }
  // What `use` makes of them, without a copy.
  template <typename Use>
  auto read(const Use& use) const {
    const typename SnapshotCell<Entries>::Reader reader(entries_);
    return reader.get() != nullptr ? use(*reader.get()) : use(Entries());
  }
  bool empty() const { return entries_.empty(); }

  // Adds an entry and drops others while `is_over(entries)`; returns how many went.
  template <typename IsOver>
  size_t add(Ref<const Entry> entry, const IsOver& is_over) {
    Entries next = current();
    mark(*entry);
    next.insert(next.begin(), std::move(entry));
    const size_t before = next.size();
    const auto is_older = [](const Ref<const Entry>& a, const Ref<const Entry>& b) {
      return a->last_use_.load(std::memory_order_relaxed) <
             b->last_use_.load(std::memory_order_relaxed);
    };
    while (next.size() > 1 && is_over(std::as_const(next)))
      next.erase(std::min_element(next.begin() + 1, next.end(), is_older));
    const size_t dropped = before - next.size();
    replace(std::move(next));
    return dropped;
  }
  void remove(const Entry* entry) {
    Entries next = current();
    std::erase_if(next, [&](const Ref<const Entry>& each) { return each.get() == entry; });
    replace(std::move(next));
  }
  void clear() { entries_.replace(nullptr); }

 private:
  void mark(const Entry& entry) const {
    entry.last_use_.store(look_ups_.fetch_add(1, std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  }
  Entries current() const { return entries_.empty() ? Entries() : *entries_.current(); }
  void replace(Entries next) {
    entries_.replace(next.empty() ? nullptr : std::make_unique<const Entries>(std::move(next)));
  }

  SnapshotCell<Entries> entries_;
  mutable std::atomic<uint64_t> look_ups_{0};
};

// Newcomers<Key>: what calls come with that a table has no entry for yet, and how often it came.
//
// Where a table is full, a newcomer gets the place of another after some calls, twice as many
// whenever all places have changed hands since. So what takes turns does not throw each other out
// again and again, and what comes to stay is let in. Beyond kMost newcomers the oldest is
// forgotten. Thread rule: whoever uses it holds a lock of their own.
template <typename Key>
class Newcomers {
 public:
  struct Newcomer {
    Key key;
    uint64_t calls = 1;
    bool is_pending = false;  // Its entry is being made, or could not be.
  };

  // The newcomer of whose key `is_wanted` holds; null if there is none.
  template <typename IsWanted>
  Newcomer* find(const IsWanted& is_wanted) {
    for (Newcomer& each : newcomers_) {
      if (is_wanted(each.key)) return &each;
    }
    return nullptr;
  }
  Newcomer& add(Key key) {
    if (newcomers_.size() >= kMost) newcomers_.erase(newcomers_.begin());
    return newcomers_.emplace_back(Newcomer{std::move(key)});
  }
  void remove(const Newcomer& newcomer) {
    newcomers_.erase(newcomers_.begin() + (&newcomer - newcomers_.data()));
  }
  // Whether it came often enough to get one of so many places, of which so many have changed hands.
  static bool may_replace(const Newcomer& newcomer, size_t places, uint64_t replacements) {
    return newcomer.calls >= kCallsToReplace << std::min(replacements / places, kMostDoublings);
  }

 private:
  static constexpr size_t kMost = 256;
  static constexpr uint64_t kCallsToReplace = 4;
  static constexpr uint64_t kMostDoublings = 12;

  std::vector<Newcomer> newcomers_;
};

}  // namespace tierup
