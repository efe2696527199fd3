// Numbers that end where memory ends, for tests: behind them stands a page that nobody may read or
// write.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace tierup::kernels {

class GuardedFloats {
 public:
  GuardedFloats() {
    void* pages =
        mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<std::byte*>(pages);
    if (mprotect(pages_ + kBytes, kPage, PROT_NONE) != 0) throw std::bad_alloc();
  }
  ~GuardedFloats() { munmap(pages_, kBytes + kPage); }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;

  // The last `count` numbers, of at most 65536.
  float* last(int64_t count) { return reinterpret_cast<float*>(pages_ + kBytes) - count; }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kBytes = 64 * kPage;
  std::byte* pages_;
};

}  // namespace tierup::kernels
