#include "tierup/api/model/load_ahead.h"

#include <algorithm>
#include <utility>

#include "tierup/frontend/torchscript/module_loader.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/tensor/block_memory.h"

namespace tierup::api {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20U;
constexpr uint64_t kLeastFile = 4 * kMegabyte;
constexpr uint64_t kMostTensors = 8 * kMegabyte;
// About what the heap holds of each byte of code once it is parsed, compiled and inlined.
constexpr uint64_t kHeapOfCode = 48;
constexpr uint64_t kMostHeap = 16 * kMegabyte;
constexpr uint64_t kMostWeights = 16 * kMegabyte;

}  // namespace

void LoadAhead::start(uint64_t file_bytes) {
  if (file_bytes < kLeastFile) return;
  thread_.start();
  thread_.add([](const std::stop_token&) {
    kernels::RunTable::instance();
    ops::OpTable::instance();
  });
}

void LoadAhead::add_code(const archive::ModelArchive& archive, SideThread::Work parse) {
  if (!is_running()) return;
  const uint64_t code_bytes = frontend::torchscript::code_bytes(archive);
  heap_ = std::make_shared<HeapAhead>(std::min(code_bytes * kHeapOfCode, kMostHeap));
  thread_.add(std::move(parse));
  thread_.add([heap = heap_](const std::stop_token& stop) { heap->touch(stop); });
}

void LoadAhead::add_pages(Ref<archive::ByteSource> source) {
  if (!is_running()) return;
  source_ = source;
  thread_.add([bytes = std::min(source->size(), kMostTensors)](const std::stop_token& stop) {
    touch_blocks_ahead(bytes, stop);
  });
  thread_.add([source = std::move(source)](const std::stop_token& stop) {
    source->map_ahead(kMostWeights, stop);
  });
}

// A reader that began sooner would be in the way of who reads the directory and the code.
void LoadAhead::stop() {
  thread_.stop();
  heap_ = nullptr;
  if (!source_) return;
  reader_.start();
  reader_.add(
      [source = std::move(source_)](const std::stop_token& stop) { source->read_ahead(stop); });
  reader_.finish();
}

}  // namespace tierup::api
