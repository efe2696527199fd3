// HugePages: whether huge pages are worth their price, as they come.
//
// What a job packs and calls read all over again lies on pages of 2 MB where it can: the processor
// finds more memory without looking pages up. Making one takes less than making the small pages in
// its place, unless the system is a virtual machine that gave memory back to its host, which has to
// find it again: then it takes up to 5 ms, while small pages come from memory that the system kept
// (decision 0023). Which ones are dear cannot be told beforehand. So each is timed as it is made,
// and once those that took longer than small pages have cost a certain time together, there are
// none for a while: the weights of a small net are all on huge pages, and a large one's plan does
// not come a second later for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace tierup {

// Thread rule: any thread. Two that make pages at once may both find a dear one.
class HugePages {
 public:
  // Which never ends: what is made then may be made by anyone.
  static HugePages& of_process();
  // `now` tells nanoseconds, whenever it is asked.
  explicit HugePages(std::function<int64_t()> now) : now_(std::move(now)) {}
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  // Whether dear ones have cost too much lately: 150 ms, or later a hundredth of the time.
  bool are_dear() const { return are_dear_at(now_()); }
  // Has the system make the pages of a fresh block, which asked for huge ones, on all threads that
  // the caller may use: it clears 2 GB/s on one core of a virtual machine, a third of what a job
  // does that packs weights. Once they are dear, the others are to be small, and are not made.
  void make(char* block, size_t bytes);
  // Has the pages of such a block be small as they are touched; those that are made stay.
  static void keep_small(char* block, size_t bytes);

 private:
  bool are_dear_at(int64_t time) const;
  // Of a dear one that is made at `now`; whether there are to be no more of them.
  bool add_to_cost(int64_t took, int64_t now);
  // What the small pages in the place of a huge one take.
  int64_t price_of_small_ones();

  const std::function<int64_t()> now_;
  std::atomic<int64_t> paid_until_{INT64_MIN};  // When the cost is a hundredth of the time.
  std::atomic<int64_t> small_price_{0};
};

}  // namespace tierup
