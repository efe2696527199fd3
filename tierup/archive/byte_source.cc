// The three kinds of ByteSource: mapped files, memory, and callers' functions.
#include "tierup/archive/byte_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Of Linux 5.14; earlier ones refuse.
#endif

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMapStep = 64 * kPage;
constexpr uint64_t kReadStep = uint64_t{1} << 20U;

// Closes the descriptor on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// A file as it was opened.
struct OpenFile {
  Descriptor descriptor;
  uint64_t size = 0;
};

OpenFile open_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  require(file.number() >= 0, ErrorCode::kNotFound, "cannot open {}: {}", path, strerror(errno));
  struct stat facts {};
  require(fstat(file.number(), &facts) == 0, ErrorCode::kNotFound, "cannot read {}: {}", path,
          strerror(errno));
  require(S_ISREG(facts.st_mode), ErrorCode::kInvalidArgument, "{} is not a regular file", path);
  return {std::move(file), static_cast<uint64_t>(facts.st_size)};
}

// Private memory: of a file, or without one.
void* map_memory(const std::string& path, uint64_t size, int file) {
  if (size == 0) return nullptr;
  const int flags = MAP_PRIVATE | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0);
  require(address != MAP_FAILED, ErrorCode::kOutOfMemory, "cannot map {} ({} bytes): {}", path,
          size, strerror(errno));
  return address;
}

void read_bytes(const Descriptor& file, const std::string& name, uint64_t offset,
                std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(file.number(), out.data() + done, out.size() - done,
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    require(got > 0, ErrorCode::kCorruptArchive, "cannot read {} at {}: {}", name, offset + done,
            got < 0 ? strerror(errno) : "the file became shorter");
    done += static_cast<size_t>(got);
  }
}

// Bytes that the system could give without taking any from others; 0 if it does not tell.
uint64_t available_memory() {
  std::ifstream facts("/proc/meminfo");
  for (std::string line; std::getline(facts, line);) {
    uint64_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNu64, &kilobytes) == 1)
      return kilobytes << 10U;
  }
  return 0;
}

class MappedFile final : public ByteSource {
 public:
  MappedFile(std::string path, Descriptor file, uint64_t size, void* address)
      : ByteSource(std::move(path), size), file_(std::move(file)), address_(address) {
    set_data(static_cast<std::byte*>(address), true);
  }
  ~MappedFile() override {
    if (address_ != nullptr) munmap(address_, size());
  }
  // Sent to nowhere, through a descriptor of its own: the system reads ahead of who reads one byte
  // after the other, and nothing is copied. (MADV_WILLNEED takes pages one by one, which halves the
  // rate of a fast disk; threads that come to the mapping here and there do so too.) A file is held
  // or was dropped in large pieces: the first page tells of a step, and where one is missing all
  // behind it are sent, since who leaves some out is not read ahead for.
  void read_ahead(const std::stop_token& stop) const override {
    uint64_t at = 0;
    while (at < size() && is_in_memory(at, 1)) at += kReadStep;
    if (at >= size() || size() > available_memory() / 2) return;
    const Descriptor own(
        open(fmt::format("/proc/self/fd/{}", file_.number()).c_str(), O_RDONLY | O_CLOEXEC));
    const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    auto from = static_cast<off_t>(at);
    while (!stop.stop_requested() && sendfile(nowhere.number(), own.number(), &from, kReadStep) > 0)
      continue;
  }
  void map_ahead(uint64_t bytes, const std::stop_token& stop) const override {
    const uint64_t end = std::min(bytes, size());
    for (uint64_t at = 0; at < end && !stop.stop_requested(); at += kMapStep) {
      const uint64_t step = std::min(kMapStep, end - at);
      if (is_in_memory(at, step) &&
          madvise(static_cast<char*>(address_) + at, step, MADV_POPULATE_READ) != 0)
        return;
    }
  }

 private:
  // Of bytes from a page's beginning on. Systems that do not tell say yes.
  bool is_in_memory(uint64_t offset, uint64_t bytes) const {
    std::array<unsigned char, kMapStep / kPage> pages;
    if (mincore(static_cast<char*>(address_) + offset, bytes, pages.data()) != 0) return false;
    return std::all_of(pages.begin(), pages.begin() + (bytes + kPage - 1) / kPage,
                       [](unsigned char page) { return (page & 1U) != 0; });
  }

  // Through the descriptor: reading headers through the mapping would fault in the weights around
  // them, and a file that was cut meanwhile gives an error here instead of a signal.
  void do_read(uint64_t offset, std::span<std::byte> out) const override {
    read_bytes(file_, name(), offset, out);
  }

  Descriptor file_;
  void* address_;
};

// A file's bytes in pages of this process.
class FileInMemory final : public ByteSource {
 public:
  FileInMemory(const std::string& path, const OpenFile& file)
      : ByteSource(path, file.size), address_(map_memory(path, file.size, -1)) {
    set_data(static_cast<std::byte*>(address_), true);
    try {
      read_bytes(file.descriptor, path, 0, {static_cast<std::byte*>(address_), file.size});
    } catch (...) {
      free_pages();
      throw;
    }
  }
  ~FileInMemory() override { free_pages(); }

 private:
  void free_pages() {
    if (address_ != nullptr) munmap(address_, size());
  }
  void do_read(uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), data() + offset, out.size());
  }

  void* address_;
};

class OwnedBytes final : public ByteSource {
 public:
  explicit OwnedBytes(std::string bytes)
      : ByteSource("<memory>", bytes.size()), bytes_(std::move(bytes)) {
    set_data(reinterpret_cast<std::byte*>(bytes_.data()), true);
  }

 private:
  void do_read(uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), data() + offset, out.size());
  }

  std::string bytes_;
};

class BorrowedBytes final : public ByteSource {
 public:
  explicit BorrowedBytes(std::span<const std::byte> bytes) : ByteSource("<memory>", bytes.size()) {
    set_data(bytes.data(), false);
  }

 private:
  void do_read(uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), data() + offset, out.size());
  }
};

class CallbackSource final : public ByteSource {
 public:
  CallbackSource(uint64_t size, ReadFunction read)
      : ByteSource("<callback>", size), read_(std::move(read)) {}

 private:
  void do_read(uint64_t offset, std::span<std::byte> out) const override { read_(offset, out); }

  ReadFunction read_;
};

}  // namespace

void ByteSource::read(uint64_t offset, std::span<std::byte> out) const {
  require(offset <= size_ && out.size() <= size_ - offset, ErrorCode::kCorruptArchive,
          "{}: bytes {} to {} were asked for, but there are only {}", name_, offset,
          offset + out.size(), size_);
  if (!out.empty()) do_read(offset, out);
}

std::string ByteSource::read_text(uint64_t offset, uint64_t length) const {
  require(offset <= size_ && length <= size_ - offset, ErrorCode::kCorruptArchive,
          "{}: {} bytes from {} on were asked for, but there are only {}", name_, length, offset,
          size_);
  std::string text(length, '\0');
  read(offset, {reinterpret_cast<std::byte*>(text.data()), text.size()});
  return text;
}

Ref<ByteSource> map_file(const std::string& path) {
  OpenFile file = open_file(path);
  void* address = map_memory(path, file.size, file.descriptor.number());
  return make_ref<MappedFile>(path, std::move(file.descriptor), file.size, address);
}

Ref<ByteSource> read_file(const std::string& path) {
  return make_ref<FileInMemory>(path, open_file(path));
}

Ref<ByteSource> own_bytes(std::string bytes) { return make_ref<OwnedBytes>(std::move(bytes)); }

Ref<ByteSource> borrow_bytes(std::span<const std::byte> bytes) {
  return make_ref<BorrowedBytes>(bytes);
}

Ref<ByteSource> callback_source(uint64_t size, ReadFunction read) {
  return make_ref<CallbackSource>(size, std::move(read));
}

Ref<Storage> make_storage(const Ref<ByteSource>& source, uint64_t offset, uint64_t length,
                          ScalarType dtype) {
  require(offset <= source->size() && length <= source->size() - offset, ErrorCode::kCorruptArchive,
          "{}: {} bytes at {} reach behind the end at {}", source->name(), length, offset,
          source->size());
  if (length == 0) return Storage::allocate(0);
  std::byte* base = source->private_data();
  Ref<Storage> storage;
  if (base != nullptr && reinterpret_cast<uintptr_t>(base + offset) % item_size(dtype) == 0) {
    storage = Storage::borrow(base + offset, length, [keep = source] {});
  } else {
    storage = Storage::allocate(length);
    source->read(offset, {static_cast<std::byte*>(storage->data()), length});
  }
  prepare_storage(*storage, dtype);
  return storage;
}

void prepare_storage(const Storage& storage, ScalarType dtype) {
  if (dtype != ScalarType::kBool) return;
  auto* bytes = static_cast<unsigned char*>(storage.data());
  for (size_t i = 0; i < storage.bytes(); ++i) {
    if (bytes[i] > 1) bytes[i] = 1;
  }
}

}  // namespace tierup::archive
