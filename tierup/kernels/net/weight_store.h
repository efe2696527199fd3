// WeightStore: constants in the layouts that primitives want, each made once per program.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tierup/kernels/net/layouts.h"

namespace tierup::kernels::net {

class WeightStore {
 public:
  // The block named `id` in this layout; `fill` writes a missing one.
  std::shared_ptr<char[]> get(int id, const memory::desc& layout,
                              const std::function<void(char*)>& fill);
  size_t bytes() const;

 private:
  struct Entry {
    int id;
    memory::desc layout;
    std::shared_ptr<char[]> block;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

// `bytes` of memory on a cache line's boundary.
std::shared_ptr<char[]> aligned_block(size_t bytes);

}  // namespace tierup::kernels::net
