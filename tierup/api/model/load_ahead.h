// LoadAhead: a thread beside the one that reads a model, which makes what that one, or the first
// call, would come to: tables, parsed code, pages of the heap, memory for tensors, pages of the
// weights. What is not done when the model is read is left undone, since the first call wants all
// cores. But then a file that the system does not hold is read to its end: that takes little of a
// core, and the first call would wait for it piece by piece.
#pragma once

#include <cstdint>
#include <memory>

#include "tierup/archive/model_archive.h"
#include "tierup/base/heap_ahead.h"
#include "tierup/base/side_thread.h"

namespace tierup::api {

class LoadAhead {
 public:
  // Begins, unless the file is so small that it is read sooner than a thread begins.
  void start(uint64_t file_bytes);
  // Whether it began; nothing is done otherwise.
  bool is_running() const { return thread_.is_running(); }
  // Before the code of a TorchScript archive is read: `parse`, then pages for what is made of it.
  void add_code(const archive::ModelArchive& archive, SideThread::Work parse);
  // Then, for the first call, memory for tensors and the weights' first pages.
  void add_pages(Ref<archive::ByteSource> source);
  // Waits for nothing: what is being done may go on for a moment.
  void stop();

 private:
  std::shared_ptr<HeapAhead> heap_;
  SideThread thread_;
  Ref<archive::ByteSource> source_;  // To be read.
  SideThread reader_;                // Goes on beside the first call.
};

}  // namespace tierup::api
