#include "tierup/frontend/torchscript/files_ahead.h"

#include <thread>
#include <utility>

#include "tierup/base/error.h"

namespace tierup::frontend::torchscript {

FilesAhead::FilesAhead(const std::vector<std::string>& records, Parse parse)
    : parse_(std::move(parse)) {
  index_.reserve(records.size());
  for (const std::string& record : records) {
    File& file = files_.emplace_back();
    file.record = record;
    index_.emplace(file.record, &file);
  }
}

bool FilesAhead::take(File& file) {
  State state = State::kFree;
  return file.state.compare_exchange_strong(state, State::kTaken, std::memory_order_relaxed);
}

// What is wrong with a file is told to who asks for it.
void FilesAhead::parse(File& file) {
  try {
    file.unit = parse_(file.record);
    file.state.store(State::kDone, std::memory_order_release);
  } catch (...) {
    file.state.store(State::kFailed, std::memory_order_release);
  }
}

bool FilesAhead::parse_next() {
  while (true) {
    const size_t next = next_.fetch_add(1, std::memory_order_relaxed);
    if (next >= files_.size()) return false;
    if (!take(files_[next])) continue;
    parse(files_[next]);
    return true;
  }
}

void FilesAhead::work(const std::stop_token& stop) {
  while (!stop.stop_requested() && parse_next()) {
  }
}

std::shared_ptr<const FileUnit> FilesAhead::get(std::string_view record) {
  File& file = *index_.at(record);
  if (take(file)) {
    parse(file);
  } else {
    while (file.state.load(std::memory_order_acquire) == State::kTaken) {
      if (!parse_next()) std::this_thread::yield();
    }
  }
  if (file.state.load(std::memory_order_acquire) == State::kFailed) return parse_(file.record);
  return file.unit;
}

}  // namespace tierup::frontend::torchscript
