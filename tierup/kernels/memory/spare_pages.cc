#include "tierup/kernels/memory/spare_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tierup::kernels {
namespace {

// How many readers give a weight back before it is left where it is.
constexpr int kReaders = 16;
// More weights than this are not kept in mind.
constexpr size_t kMaxWeights = 1U << 14U;

// The part of some memory that is whole pages.
PageRange whole_pages(const void* data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + bytes) / page * page;
  if (last <= first) return {};
  return {reinterpret_cast<char*>(first), last - first};
}

// What /proc/self/pagemap says of each page.
class PageMap {
 public:
  PageMap() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  // The pages that were written, so that the process has its own copy; nothing if that is unknown.
  std::optional<std::vector<size_t>> written(PageRange range) const {
    constexpr uint64_t kPresent = uint64_t{1} << 63U;
    constexpr uint64_t kSwapped = uint64_t{1} << 62U;
    constexpr uint64_t kOfFile = uint64_t{1} << 61U;
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<uint64_t> entries(range.bytes / page);
    const auto wanted = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
    const auto place = reinterpret_cast<uintptr_t>(range.begin) / page * sizeof(uint64_t);
    if (file_ < 0 || pread(file_, entries.data(), entries.size() * sizeof(uint64_t),
                           static_cast<off_t>(place)) != wanted) {
      return std::nullopt;
    }
    std::vector<size_t> result;
    for (size_t i = 0; i < entries.size(); ++i) {
      const bool own = (entries[i] & kPresent) != 0 && (entries[i] & kOfFile) == 0;
      if (own || (entries[i] & kSwapped) != 0) result.push_back(i * page);
    }
    return result;
  }

 private:
  const int file_;
};

#if defined(MREMAP_DONTUNMAP)
// Moves pages elsewhere, so that a mapping of the file's stays in their place; null if the system
// refuses. The system takes the fifth argument for a hint, and errs where it is left out: the C
// library then hands on whatever stands in the register.
char* move_away(PageRange range) {
  void* moved =
      mremap(range.begin, range.bytes, range.bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
  return moved == MAP_FAILED ? nullptr : static_cast<char*>(moved);
}

// Takes what a page that was moved away holds besides the file's numbers back to its place. The
// page itself may not go back: a thread whose write made this copy of the file's page, but came to
// write only after it was gone, has got another copy there. Bytes alone, as neighbours may be
// written now.
[[gnu::no_sanitize("thread")]] void put_back(char* moved, volatile char* place, size_t page) {
  char* const written = move_away({moved, page});
  if (written == nullptr) {  // No memory for it: better than to lose all of the page.
    mremap(moved, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, const_cast<char*>(place));
    return;
  }
  const char* of_file = moved;  // Where the copy was, the file's page is again.
  for (size_t i = 0; i < page; ++i) {
    if (written[i] != of_file[i] && place[i] == of_file[i]) place[i] = written[i];
  }
  munmap(written, page);
}

// The offsets of all pages of a range.
std::vector<size_t> all_pages(PageRange range) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<size_t> result(range.bytes / page);
  for (size_t i = 0; i < result.size(); ++i) result[i] = i * page;
  return result;
}
#endif

void drop_pages(const void* data, size_t bytes) {
  const PageRange range = whole_pages(data, bytes);
  if (range.bytes == 0) return;
  const PageMap pages;
  drop_pages(range, [&pages](PageRange some) { return pages.written(some); });
}

// All at once where the system knows how to, else with the reads that follow.
void bring_pages(PageRange range) {
#if defined(MADV_POPULATE_READ)
  if (range.bytes > 0) madvise(range.begin, range.bytes, MADV_POPULATE_READ);
#else
  static_cast<void>(range);
#endif
}

thread_local std::chrono::nanoseconds spare_pages_time{0};
thread_local const WeightReading* innermost_reading = nullptr;

template <typename Work>
void timed(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  spare_pages_time += std::chrono::steady_clock::now() - begin;
}

// Of the process, as mappings are.
class SparePages {
 public:
  // Nets may outlive every static object: this is never destroyed.
  static SparePages& of_process() {
    alignas(SparePages) static std::byte place[sizeof(SparePages)];
    static SparePages& pages = *new (place) SparePages;
    return pages;
  }

  // Whether it is kept in mind, until remove().
  bool add(const void* data, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (weights_.size() >= kMaxWeights) return false;
    Weight& weight = weights_[data];
    set_left(weight, false);
    weight = {bytes, kReaders, weight.packed_forms + 1, false, true};
    count_.store(weights_.size(), std::memory_order_relaxed);
    return true;
  }

  // One of its packed forms went.
  void remove(const void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = weights_.find(data);
    if (found != weights_.end() && --found->second.packed_forms == 0) {
      set_left(found->second, false);
      weights_.erase(found);
    }
    count_.store(weights_.size(), std::memory_order_relaxed);
  }

  // The bytes at `data` that were let go of, which the caller brings back; 0 if none.
  size_t bring_back(const void* data) {
    if (count_.load(std::memory_order_relaxed) == 0) return 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = weights_.find(data);
    if (found == weights_.end() || !std::exchange(found->second.is_away, false)) return 0;
    return found->second.bytes;
  }

  // The bytes to give back that begin at `data`; 0 if none. With `leaves`, they are for take_left.
  size_t take(const void* data, bool leaves) {
    if (count_.load(std::memory_order_relaxed) == 0) return 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = weights_.find(data);
    if (found == weights_.end()) return 0;
    set_left(found->second, leaves);
    if (leaves) return 0;
    const size_t bytes = found->second.bytes;
    found->second.is_away = true;
    if (--found->second.readers == 0) weights_.erase(found);
    count_.store(weights_.size(), std::memory_order_relaxed);
    return bytes;
  }

  size_t take_left(const void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = weights_.find(data);
    if (found == weights_.end() || !found->second.was_left) return 0;
    set_left(found->second, false);
    found->second.is_away = true;
    return found->second.bytes;
  }

  bool has_left() const { return left_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Weight {
    size_t bytes = 0;
    int readers = 0;        // That will still give it back.
    int packed_forms = 0;   // That stand.
    bool was_left = false;  // Readers brought its pages back.
    bool is_away = false;   // None brought them back since they were let go of.
  };
  void set_left(Weight& weight, bool was_left) {
    if (std::exchange(weight.was_left, was_left) == was_left) return;
    left_.fetch_add(was_left ? 1 : -1, std::memory_order_relaxed);
  }

  std::atomic<size_t> count_{0};
  std::atomic<int64_t> left_{0};  // Weights that were.
  std::mutex mutex_;
  std::unordered_map<const void*, Weight> weights_;
};

}  // namespace

// Takes the pages out of the process, not out of the system's cache of files: other processes, and
// later ones, find them there. (MADV_PAGEOUT drops them from the cache too; MADV_DONTNEED forgets
// what was written to pages of a private mapping.) The pages are moved away in one step, so that
// nothing written in that moment is lost: what turns out to be in copies of the process's own is
// put back; every page is looked through if nobody can say which are. (For microseconds it is not
// there. That leaves one race: a thread that writes the same byte both before and after it was
// moved may find the first number. It would race with the job that packs the weight, too.)
void drop_pages(PageRange range, const WrittenPages& written) {
#if defined(MREMAP_DONTUNMAP)
  const auto before = written(range);
  if (!before || !before->empty()) return;
  char* const moved = move_away(range);
  if (moved == nullptr) return;
  const PageRange away{moved, range.bytes};
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto after = written(away);
  for (const size_t offset : after ? *after : all_pages(away)) {
    put_back(away.begin + offset, range.begin + offset, page);
  }
  munmap(away.begin, away.bytes);
#else
  static_cast<void>(range);
  static_cast<void>(written);
#endif
}

SpareWeight::~SpareWeight() {
  if (data_ != nullptr) SparePages::of_process().remove(data_);
}

SpareWeight give_back_pages(const Tensor& weight) {
  if (weight.storage()->owns_memory()) return {};
  const bool is_kept = weight.bytes() >= kLeastSpareBytes &&
                       SparePages::of_process().add(weight.raw(), weight.bytes());
  drop_pages(weight.raw(), weight.bytes());
  return is_kept ? SpareWeight(weight.raw()) : SpareWeight();
}

WeightReading::WeightReading(const void* weight, size_t bytes, int64_t multiplications)
    : weight_(weight),
      bytes_(bytes),
      multiplications_(multiplications),
      outer_(std::exchange(innermost_reading, this)),
      is_part_(is_within_another()) {
  if (bytes_ < kLeastSpareBytes || is_part_) return;
  const size_t away = SparePages::of_process().bring_back(weight_);
  if (away > 0) timed([&] { bring_pages(whole_pages(weight_, away)); });
}

bool WeightReading::is_within_another() const {
  const WeightReading* other = outer_;
  while (other != nullptr && other->weight_ != weight_) other = other->outer_;
  return other != nullptr;
}

WeightReading::~WeightReading() {
  innermost_reading = outer_;
  if (bytes_ < kLeastSpareBytes || is_part_) return;
  const auto numbers = static_cast<int64_t>(bytes_ / sizeof(float));
  const bool leaves = multiplications_ / numbers < kLeastWork;
  const size_t spare = SparePages::of_process().take(weight_, leaves);
  if (spare > 0) timed([&] { drop_pages(weight_, spare); });
}

std::chrono::nanoseconds time_for_spare_pages() { return spare_pages_time; }

bool has_left_pages() { return SparePages::of_process().has_left(); }

void give_back_left_pages(const Tensor& weight) {
  if (weight.storage()->owns_memory()) return;
  const size_t spare = SparePages::of_process().take_left(weight.raw());
  if (spare > 0) drop_pages(weight.raw(), spare);
}

}  // namespace tierup::kernels
