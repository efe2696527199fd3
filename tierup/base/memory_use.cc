#include "tierup/base/memory_use.h"

#include "tierup/base/error.h"

namespace tierup::detail {

void fail_object_limit(int64_t bytes, int64_t limit) {
  fail(ErrorCode::kOutOfMemory,
       "out of memory: lists, views and other values take {} bytes, and the limit is {}", bytes,
       limit);
}

}  // namespace tierup::detail
