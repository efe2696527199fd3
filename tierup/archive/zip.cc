// Reads zip files: end records, central directory, and the content of entries.
#include "tierup/archive/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
constexpr size_t kLocalHeaderBytes = 30;
constexpr size_t kDirectoryHeaderBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kZip64EndBytes = 56;
constexpr size_t kZip64LocatorBytes = 20;
constexpr size_t kMaxCommentBytes = 65535;
constexpr uint16_t kMarker16 = 0xffff;  // The real value is in a ZIP64 record.
constexpr uint32_t kMarker32 = 0xffffffff;
constexpr uint16_t kZip64ExtraId = 1;
constexpr uint16_t kFlagEncrypted = 1 | 1 << 6 | 1 << 13;
constexpr size_t kMaxNameBytes = 4096;
// Deflate cannot expand further than this.
constexpr uint64_t kMaxDeflateRatio = 1032;

template <typename... Args>
[[noreturn]] void corrupt(const ByteSource& source, fmt::format_string<Args...> format,
                          Args&&... args) {
  fail(ErrorCode::kCorruptArchive, "{}: damaged zip file: {}", source.name(),
       fmt::vformat(format, fmt::make_format_args(args...)));
}

// Little-endian numbers from a buffer whose length was checked by the caller.
template <typename T>
T load(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[offset + i])) << 8 * i);
  }
  return value;
}

struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t count = 0;
};

// The ZIP64 end record that stands before the classic one at `end`, if there is a locator.
bool read_zip64_end(const ByteSource& source, uint64_t end, Directory& directory) {
  if (end < kZip64LocatorBytes) return false;
  const uint64_t locator_offset = end - kZip64LocatorBytes;
  const std::string locator = source.read_text(locator_offset, kZip64LocatorBytes);
  if (load<uint32_t>(locator, 0) != kZip64LocatorSignature) return false;
  const auto offset = load<uint64_t>(locator, 8);
  if (offset > locator_offset || locator_offset - offset < kZip64EndBytes) {
    corrupt(source, "its ZIP64 end record is said to be at {}", offset);
  }
  const std::string record = source.read_text(offset, kZip64EndBytes);
  if (load<uint32_t>(record, 0) != kZip64EndSignature) {
    corrupt(source, "there is no ZIP64 end record at {}", offset);
  }
  require(load<uint32_t>(record, 16) == 0 && load<uint32_t>(record, 20) == 0 &&
              load<uint64_t>(record, 24) == load<uint64_t>(record, 32),
          ErrorCode::kUnsupported, "{}: zip files of several disks are not supported",
          source.name());
  directory.count = load<uint64_t>(record, 32);
  directory.bytes = load<uint64_t>(record, 40);
  directory.offset = load<uint64_t>(record, 48);
  return true;
}

// Scans back from the end for the end record. A comment may contain its signature, and bytes may
// follow it, so the last one whose comment fits in the file wins.
uint64_t find_end(const ByteSource& source, std::string& record) {
  if (source.size() < kEndBytes) corrupt(source, "it has only {} bytes", source.size());
  const uint64_t window = std::min<uint64_t>(source.size(), kEndBytes + kMaxCommentBytes);
  const uint64_t base = source.size() - window;
  const std::string tail = source.read_text(base, window);
  for (size_t i = tail.size() - kEndBytes + 1; i-- > 0;) {
    if (tail[i] != 'P' || load<uint32_t>(tail, i) != kEndSignature) continue;
    if (i + kEndBytes + load<uint16_t>(tail, i + 20) > tail.size()) continue;
    record = tail.substr(i, kEndBytes);
    return base + i;
  }
  corrupt(source, "it has no end record (of {} bytes, is the file cut off?)", source.size());
}

Directory find_directory(const ByteSource& source) {
  std::string record;
  const uint64_t end = find_end(source, record);
  Directory directory;
  if (!read_zip64_end(source, end, directory)) {
    const auto disk = load<uint16_t>(record, 4);
    const auto count = load<uint16_t>(record, 10);
    require(disk == 0 && load<uint16_t>(record, 6) == 0 && load<uint16_t>(record, 8) == count,
            ErrorCode::kUnsupported, "{}: zip files of several disks are not supported",
            source.name());
    directory = {load<uint32_t>(record, 16), load<uint32_t>(record, 12), count};
    if (count == kMarker16 || directory.bytes == kMarker32 || directory.offset == kMarker32) {
      corrupt(source, "its ZIP64 end record is missing");
    }
  }
  if (directory.offset > end || directory.bytes > end - directory.offset) {
    corrupt(source, "its directory of {} bytes at {} reaches behind {}", directory.bytes,
            directory.offset, end);
  }
  if (directory.count > directory.bytes / kDirectoryHeaderBytes) {
    corrupt(source, "a directory of {} bytes cannot hold {} entries", directory.bytes,
            directory.count);
  }
  return directory;
}

// Takes the 64-bit values of those fields that hold the marker, in the order that the format gives.
void apply_zip64_extra(const ByteSource& source, std::string_view extra, ZipArchive::Entry& entry) {
  const bool wanted = entry.bytes == kMarker32 || entry.stored_bytes == kMarker32 ||
                      entry.header_offset == kMarker32;
  while (extra.size() >= 4 && wanted) {
    const auto id = load<uint16_t>(extra, 0);
    const auto length = load<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) break;
    if (id == kZip64ExtraId) {
      std::string_view fields = extra.substr(0, length);
      for (uint64_t* field : {&entry.bytes, &entry.stored_bytes, &entry.header_offset}) {
        if (*field != kMarker32) continue;
        if (fields.size() < 8) corrupt(source, "ZIP64 sizes of \"{}\" are missing", entry.name);
        *field = load<uint64_t>(fields, 0);
        fields.remove_prefix(8);
      }
      return;
    }
    extra.remove_prefix(length);
  }
}

// Names that would leave the archive's folder mean that somebody plays tricks.
void check_name(const ByteSource& source, const std::string& name) {
  const auto bad = [&](const char* why) {
    corrupt(source, "the entry name \"{}\" {}", name.substr(0, 100), why);
  };
  if (name.empty()) bad("is empty");
  if (name.size() > kMaxNameBytes) bad("is too long");
  if (name.find('\0') != std::string::npos) bad("holds a NUL byte");
  if (name.front() == '/' || name.front() == '\\') bad("is an absolute path");
  if (name.size() > 1 && name[1] == ':') bad("is an absolute path");
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find_first_of("/\\", begin), name.size());
    if (std::string_view(name).substr(begin, end - begin) == "..") bad("leaves its folder");
    begin = end + 1;
  }
}

// What can be checked of an entry without looking at its content.
void check_entry(const ByteSource& source, const ZipArchive::Entry& entry, uint16_t flags,
                 uint16_t method, uint64_t data_end) {
  require((flags & kFlagEncrypted) == 0, ErrorCode::kUnsupported,
          "{}: the entry \"{}\" is encrypted; decrypt the archive first", source.name(),
          entry.name);
  require(method == 0 || method == 8, ErrorCode::kUnsupported,
          "{}: the entry \"{}\" uses compression method {}; only stored (0) and deflate (8) are "
          "supported",
          source.name(), entry.name, method);
  if (entry.header_offset > data_end || data_end - entry.header_offset < kLocalHeaderBytes ||
      entry.stored_bytes > data_end - entry.header_offset - kLocalHeaderBytes) {
    corrupt(source, "the entry \"{}\" ({} bytes at {}) reaches behind the data's end at {}",
            entry.name, entry.stored_bytes, entry.header_offset, data_end);
  }
  if (method == 0 && entry.bytes != entry.stored_bytes) {
    corrupt(source, "the stored entry \"{}\" has two sizes, {} and {}", entry.name, entry.bytes,
            entry.stored_bytes);
  }
  if (method == 8 && entry.bytes / kMaxDeflateRatio > entry.stored_bytes) {
    corrupt(source, "the entry \"{}\" cannot expand from {} to {} bytes", entry.name,
            entry.stored_bytes, entry.bytes);
  }
}

// What zlib asks for to inflate, without the heap: archives hold hundreds of small entries. Larger
// than zlib's 40 KB; what does not fit comes from the heap all the same.
class InflateMemory {
 public:
  void serve(z_stream& stream) {
    stream.zalloc = &take;
    stream.zfree = &give_back;
    stream.opaque = this;
  }

 private:
  static voidpf take(voidpf opaque, uInt items, uInt size) {
    auto& self = *static_cast<InflateMemory*>(opaque);
    const size_t bytes = (size_t{items} * size + 15) / 16 * 16;
    if (bytes > self.bytes_.size() - self.used_) return std::malloc(bytes);
    void* place = self.bytes_.data() + self.used_;
    self.used_ += bytes;
    return place;
  }
  static void give_back(voidpf opaque, voidpf place) {
    auto& bytes = static_cast<InflateMemory*>(opaque)->bytes_;
    const auto* at = static_cast<const std::byte*>(place);
    const bool is_own =
        std::greater_equal<>()(at, bytes.data()) && std::less<>()(at, bytes.data() + bytes.size());
    if (!is_own) std::free(place);
  }

  size_t used_ = 0;
  alignas(16) std::array<std::byte, size_t{48} << 10> bytes_;
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

ZipArchive::ZipArchive(Ref<ByteSource> source, const ZipLimits& limits)
    : source_(std::move(source)), limits_(limits) {
  read_directory();
  check_overlaps();
  index_.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!index_.emplace(entries_[i].name, i).second) {
      corrupt(*source_, "the entry \"{}\" is there twice", entries_[i].name);
    }
  }
}

bool ZipArchive::looks_like_zip(const ByteSource& source) {
  if (source.size() < 4) return false;
  const auto first = load<uint32_t>(source.read_text(0, 4), 0);
  return first == kLocalSignature || first == kEndSignature;
}

void ZipArchive::read_directory() {
  const Directory directory = find_directory(*source_);
  directory_offset_ = directory.offset;
  const std::string text = source_->read_text(directory.offset, directory.bytes);
  std::string_view rest = text;
  entries_.reserve(directory.count);
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (rest.size() < kDirectoryHeaderBytes || load<uint32_t>(rest, 0) != kDirectorySignature) {
      corrupt(*source_, "entry {} of {} of its directory is broken", i, directory.count);
    }
    const size_t name_bytes = load<uint16_t>(rest, 28);
    const size_t extra_bytes = load<uint16_t>(rest, 30);
    const size_t comment_bytes = load<uint16_t>(rest, 32);
    if (rest.size() - kDirectoryHeaderBytes < name_bytes + extra_bytes + comment_bytes) {
      corrupt(*source_, "entry {} of its directory is cut off", i);
    }
    Entry entry;
    entry.name = rest.substr(kDirectoryHeaderBytes, name_bytes);
    entry.crc = load<uint32_t>(rest, 16);
    entry.stored_bytes = load<uint32_t>(rest, 20);
    entry.bytes = load<uint32_t>(rest, 24);
    entry.header_offset = load<uint32_t>(rest, 42);
    const auto method = load<uint16_t>(rest, 10);
    entry.deflated = method == 8;
    check_name(*source_, entry.name);
    apply_zip64_extra(*source_, rest.substr(kDirectoryHeaderBytes + name_bytes, extra_bytes),
                      entry);
    check_entry(*source_, entry, load<uint16_t>(rest, 8), method, directory_offset_);
    rest.remove_prefix(kDirectoryHeaderBytes + name_bytes + extra_bytes + comment_bytes);
    if (!entry.name.ends_with('/')) entries_.push_back(std::move(entry));
  }
}

// Entries that share bytes are how small files expand without end, and how checks are misled.
void ZipArchive::check_overlaps() const {
  std::vector<const Entry*> order;
  order.reserve(entries_.size());
  for (const Entry& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return a->header_offset < b->header_offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const Entry& before = *order[i - 1];
    const uint64_t least = kLocalHeaderBytes + before.name.size() + before.stored_bytes;
    if (order[i]->header_offset - before.header_offset < least) {
      corrupt(*source_, "the entries \"{}\" and \"{}\" overlap", before.name, order[i]->name);
    }
  }
}

const ZipArchive::Entry* ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return &entries_[found->second];
  const Entry* match = nullptr;
  for (const Entry& entry : entries_) {
    if (!equal_ignoring_case(entry.name, name)) continue;
    if (match != nullptr) return nullptr;
    match = &entry;
  }
  return match;
}

uint64_t ZipArchive::data_offset(const Entry& entry) const {
  const std::string header = source_->read_text(entry.header_offset, kLocalHeaderBytes);
  if (load<uint32_t>(header, 0) != kLocalSignature) {
    corrupt(*source_, "there is no local header of \"{}\" at {}", entry.name, entry.header_offset);
  }
  // Only the lengths are taken from here: sizes and CRC stand in the directory alone.
  const uint64_t begin = entry.header_offset + kLocalHeaderBytes + load<uint16_t>(header, 26) +
                         load<uint16_t>(header, 28);
  if (begin > directory_offset_ || entry.stored_bytes > directory_offset_ - begin) {
    corrupt(*source_, "the content of \"{}\" reaches behind the data's end", entry.name);
  }
  return begin;
}

void ZipArchive::inflate_into(const Entry& entry, char* out) const {
  const uint64_t allowed =
      limits_.max_inflated_bytes +
      limits_.max_inflated_ratio * std::min<uint64_t>(source_->size(), 1ULL << 50);
  require(
      inflated_bytes_.fetch_add(entry.bytes) + entry.bytes <= allowed, ErrorCode::kCorruptArchive,
      "{}: its entries expand to more than {} bytes; is it a zip bomb?", source_->name(), allowed);
  uint64_t position = data_offset(entry);
  uint64_t left = entry.stored_bytes;
  std::string chunk;
  InflateMemory memory;
  z_stream stream{};
  memory.serve(stream);
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, ErrorCode::kOutOfMemory,
          "no memory for inflating \"{}\"", entry.name);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  uint64_t room = entry.bytes;
  stream.next_out = reinterpret_cast<Bytef*>(out);
  int state = Z_OK;
  while (state == Z_OK) {
    if (stream.avail_in == 0 && left > 0) {
      chunk = source_->read_text(position, std::min<uint64_t>(left, 256 << 10));
      position += chunk.size();
      left -= chunk.size();
      stream.next_in = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_in = static_cast<uInt>(chunk.size());
    }
    const auto step = static_cast<uInt>(std::min<uint64_t>(room, 1U << 30));
    stream.avail_out = step;
    const uInt in_before = stream.avail_in;
    // Told that all is there, zlib keeps no window of what it wrote.
    const bool is_all = left == 0 && step == room;
    state = inflate(&stream, is_all ? Z_FINISH : Z_NO_FLUSH);
    room -= step - stream.avail_out;
    if (state == Z_OK && in_before == stream.avail_in && step == stream.avail_out) break;
  }
  if (state != Z_STREAM_END || room != 0) {
    corrupt(*source_, "the compressed entry \"{}\" does not expand to its {} bytes", entry.name,
            entry.bytes);
  }
}

std::string ZipArchive::read(const Entry& entry) const {
  require(entry.bytes <= limits_.max_record_bytes, ErrorCode::kCorruptArchive,
          "{}: the entry \"{}\" of {} bytes is above the limit of {}", source_->name(), entry.name,
          entry.bytes, limits_.max_record_bytes);
  std::string text;
  if (entry.deflated) {
    text.resize(entry.bytes);
    inflate_into(entry, text.data());
  } else {
    text = source_->read_text(data_offset(entry), entry.bytes);
  }
  const auto crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  if (crc != entry.crc) {
    corrupt(*source_, "the entry \"{}\" has CRC {:08x} where its directory says {:08x}", entry.name,
            crc, entry.crc);
  }
  return text;
}

Ref<Storage> ZipArchive::storage(const Entry& entry, ScalarType dtype) const {
  if (!entry.deflated) return make_storage(source_, data_offset(entry), entry.bytes, dtype);
  Ref<Storage> storage = Storage::allocate(entry.bytes);
  char none = 0;
  inflate_into(entry, entry.bytes == 0 ? &none : static_cast<char*>(storage->data()));
  prepare_storage(*storage, dtype);
  return storage;
}

}  // namespace tierup::archive
