#include "tierup/kernels/spare_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace tierup::kernels {
namespace {

// How many readers give a weight back before it is left where it is.
constexpr int kReaders = 16;
// More weights than this are not kept in mind.
constexpr size_t kMaxWeights = 1U << 14U;

void page_out(const void* data, size_t bytes) {
#if defined(MADV_PAGEOUT)
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + bytes) / page * page;
  // Where the system cannot follow, the pages just stay.
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_PAGEOUT);
#else
  static_cast<void>(data);
  static_cast<void>(bytes);
#endif
}

// Of the process, as mappings are.
class SparePages {
 public:
  static SparePages& of_process() {
    static SparePages pages;
    return pages;
  }

  void add(const void* data, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (weights_.size() < kMaxWeights) weights_[data] = {bytes, kReaders};
    count_.store(weights_.size(), std::memory_order_relaxed);
  }

  // The bytes to give back that begin at `data`; 0 if none.
  size_t take(const void* data) {
    if (count_.load(std::memory_order_relaxed) == 0) return 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = weights_.find(data);
    if (found == weights_.end()) return 0;
    const size_t bytes = found->second.bytes;
    if (--found->second.readers == 0) weights_.erase(found);
    count_.store(weights_.size(), std::memory_order_relaxed);
    return bytes;
  }

 private:
  struct Weight {
    size_t bytes;
    int readers;
  };
  std::atomic<size_t> count_{0};
  std::mutex mutex_;
  std::unordered_map<const void*, Weight> weights_;
};

}  // namespace

void give_back_pages(const Tensor& weight) {
  if (weight.storage()->owns_memory()) return;
  SparePages::of_process().add(weight.raw(), weight.bytes());
  page_out(weight.raw(), weight.bytes());
}

void give_back_after_reading(const void* weight) {
  if (const size_t bytes = SparePages::of_process().take(weight)) page_out(weight, bytes);
}

}  // namespace tierup::kernels
