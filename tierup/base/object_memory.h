// Memory of small objects that come and go with every run: counted objects, vectors of values.
//
// A freed block stays with the thread that freed it, in a list by size, and is the next one of that
// size: a run that makes what the run before it made asks the heap for nothing. Bounded by
// thread and size; the rest goes back to the heap, as does all of a thread's when it ends. In
// builds for the address sanitizer every block comes from the heap, so that it sees each use of a
// freed one.
#pragma once

#include <cstddef>

namespace tierup {

// Aligned as by operator new. Throws std::bad_alloc.
void* allocate_object(size_t bytes);
// `bytes` as it was allocated with.
void free_object(void* block, size_t bytes) noexcept;

}  // namespace tierup
