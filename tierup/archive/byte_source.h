// ByteSource: where an archive's bytes come from: a mapped file, memory, or a caller's function.
//
// The readers of this room work over this one interface, so that a model can be opened from a
// path, from a buffer, or from a callback that decrypts on the fly (its plain bytes then never
// touch a disk). A source that lies in writable private memory lets tensors alias it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "tierup/base/ref.h"
#include "tierup/tensor/dtype.h"
#include "tierup/tensor/storage.h"

namespace tierup::archive {

// Thread rule: read() and the accessors may be called from many threads at once, as far as a
// caller's own function allows it.
class ByteSource : public RefCounted {
 public:
  uint64_t size() const { return size_; }
  // What errors call this source: a path, or "<memory>".
  const std::string& name() const { return name_; }
  // Fills `out` with the bytes from `offset` on. Throws kCorruptArchive if that reaches behind the
  // end, and whatever a caller's function throws.
  void read(uint64_t offset, std::span<std::byte> out) const;
  // The bytes [offset, offset + length) as text. Throws as read() does.
  std::string read_text(uint64_t offset, uint64_t length) const;
  // All bytes where they lie, or null if they must be asked for piece by piece.
  const std::byte* data() const { return data_; }
  // The same, if tensors may write there: private to this process and never seen by the
  // file or by the caller's buffer. Null otherwise.
  std::byte* private_data() const { return private_ ? const_cast<std::byte*>(data_) : nullptr; }
  // Has the system read all bytes into its memory, from the first on, if some are not there and
  // there is room for twice as many; nothing becomes part of the process. Looks now and then
  // whether to stop.
  virtual void read_ahead(const std::stop_token& stop) const { static_cast<void>(stop); }
  // Has the first `bytes` be there without faults when they are touched, as far as the system
  // holds them in memory already: nothing is read for it. Looks now and then whether to stop.
  virtual void map_ahead(uint64_t bytes, const std::stop_token& stop) const {
    static_cast<void>(bytes);
    static_cast<void>(stop);
  }

 protected:
  ByteSource(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  void set_data(const std::byte* data, bool is_private) {
    data_ = data;
    private_ = is_private;
  }

 private:
  virtual void do_read(uint64_t offset, std::span<std::byte> out) const = 0;

  std::string name_;
  uint64_t size_;
  const std::byte* data_ = nullptr;
  bool private_ = false;
};

// Maps the file copy-on-write: pages are read when first touched and shared with other processes,
// and writes stay in this process. Whoever makes the file shorter meanwhile ends the process by
// SIGBUS: files that are in use are replaced by rename. Throws kNotFound if it cannot be opened.
Ref<ByteSource> map_file(const std::string& path);
// Reads the whole file into memory of its own. Tensors alias it; what becomes of the file does not
// matter any more. Throws as map_file(), and kCorruptArchive if the file shrinks meanwhile.
Ref<ByteSource> read_file(const std::string& path);
// Owns a copy in memory. Tensors alias it.
Ref<ByteSource> own_bytes(std::string bytes);
// Memory of the caller, which must stay as it is while the source or a reader of it lives.
// Tensors never alias it: their bytes are copied, so the memory may go once the model is loaded.
Ref<ByteSource> borrow_bytes(std::span<const std::byte> bytes);
// A caller's function, called with an offset and the bytes to fill; it throws if it cannot.
using ReadFunction = std::function<void(uint64_t offset, std::span<std::byte> out)>;
Ref<ByteSource> callback_source(uint64_t size, ReadFunction read);

// The bytes [offset, offset + length) as a storage of elements of `dtype`: aliasing the source,
// which then lives as long, where it lies in private memory and is aligned; else a copy. Bytes of
// bool become 0 or 1. Throws kCorruptArchive if the range reaches behind the end.
Ref<Storage> make_storage(const Ref<ByteSource>& source, uint64_t offset, uint64_t length,
                          ScalarType dtype);
// Makes bytes from a file safe to be read as `dtype`: a C++ bool must hold 0 or 1. Pages that
// already do are not written to, so they stay shared.
void prepare_storage(const Storage& storage, ScalarType dtype);

}  // namespace tierup::archive
