// ByteSink: where a writer's bytes go, front to back: a file, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tierup::archive {

// Thread rule: used by one thread.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Appends. Throws kNotFound if the bytes cannot be kept (a full disk).
  void write(const void* bytes, size_t count) {
    do_write(static_cast<const char*>(bytes), count);
    position_ += count;
  }
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  // Bytes written so far.
  uint64_t position() const { return position_; }

 private:
  virtual void do_write(const char* bytes, size_t count) = 0;
  uint64_t position_ = 0;
};

class MemorySink final : public ByteSink {
 public:
  std::string take() { return std::move(bytes_); }

 private:
  void do_write(const char* bytes, size_t count) override { bytes_.append(bytes, count); }
  std::string bytes_;
};

}  // namespace tierup::archive
