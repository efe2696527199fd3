// Memory put out of the processor's caches, for measurements that must not find it there.
#pragma once

#include <cstddef>

namespace tierup::kernels {

// Returns when all lines that hold some of it are written back and dropped. Any thread.
void leave_cache(const char* data, size_t bytes);

}  // namespace tierup::kernels
