// Memory for a block of tensor data or scratch space, straight from the system.
#pragma once

#include <cstddef>

namespace tierup {

// At least `bytes`, aligned for every kernel; null if there is none. Freed by std::free. Blocks of
// megabytes are asked for in huge pages: their first use then faults once per 2 MB instead of once
// per 4 KB, which otherwise is most of a first call's time.
void* allocate_block(size_t bytes);

}  // namespace tierup
