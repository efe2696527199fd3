// HeapAhead: what the heap will give out soon, with its pages made by another thread.
//
// Fresh memory costs a fault for each page of 4 KB, a microsecond or more on virtual machines: a
// quarter of the time in which a model is read, all of it small objects. So the heap is made to
// grow once, by blocks that are freed at once, and its new pages are made beside, in the order in
// which the heap comes to them. Nothing is written there: the thread whose heap it is uses it
// meanwhile. A block at the end is kept, lest the heap give all of it back to the system.
//
// Another malloc than glibc's may do without; then this does nothing that is seen.
#pragma once

#include <cstddef>
#include <stop_token>

namespace tierup {

class HeapAhead {
 public:
  // Grows the heap of the calling thread by about so many bytes, if the system gives them.
  explicit HeapAhead(size_t bytes);
  // From now on the heap may shrink. Not while touch() runs.
  ~HeapAhead();
  HeapAhead(const HeapAhead&) = delete;
  HeapAhead& operator=(const HeapAhead&) = delete;

  // Has the system make the pages, until stopped. One thread, any.
  void touch(const std::stop_token& stop);

 private:
  char* begin_ = nullptr;
  char* end_ = nullptr;
  void* last_ = nullptr;
};

}  // namespace tierup
