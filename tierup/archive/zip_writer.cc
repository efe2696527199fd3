// Local headers, contents, directory, end records.
#include "tierup/archive/zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kLocalHeaderBytes = 30;
constexpr uint64_t kFieldHeaderBytes = 4;
constexpr uint16_t kDeflate = 8;
constexpr uint16_t kVersion = 45;  // Of zip, with ZIP64.
constexpr uint16_t kUtf8Names = 0x0800;
constexpr uint16_t kZip64Field = 1;
constexpr uint16_t kPaddingField = 'F' | 'B' << 8;
constexpr uint16_t kDate = 1 << 5 | 1;  // The first day that a zip file can name.
constexpr uint32_t kIn64 = 0xffffffff;  // The number stands in the ZIP64 field.
constexpr uint64_t kCopyBytes = uint64_t{1} << 22;

template <typename T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

uint32_t in_32(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, kIn64)); }

uint32_t crc_of(const void* bytes, size_t count) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(bytes), count));
}

// What the local header and the directory say alike.
template <typename Entry>
void put_facts(std::string& out, const Entry& entry, bool zip64) {
  put<uint16_t>(out, kUtf8Names);
  put<uint16_t>(out, entry.deflated ? kDeflate : 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, kDate);
  put<uint32_t>(out, entry.crc);
  put<uint32_t>(out, zip64 ? kIn64 : static_cast<uint32_t>(entry.stored_bytes));
  put<uint32_t>(out, zip64 ? kIn64 : static_cast<uint32_t>(entry.bytes));
  put<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
}

template <typename Entry>
std::string directory_entry(const Entry& entry) {
  const bool zip64 = std::max({entry.bytes, entry.stored_bytes, entry.header_offset}) >= kIn64;
  std::string out;
  put<uint32_t>(out, 0x02014b50);
  put<uint16_t>(out, kVersion);
  put<uint16_t>(out, kVersion);
  put_facts(out, entry, zip64);
  put<uint16_t>(out, zip64 ? 28 : 0);
  out.append(10, '\0');  // No comment, first disk, no attributes.
  put<uint32_t>(out, zip64 ? kIn64 : static_cast<uint32_t>(entry.header_offset));
  out += entry.name;
  if (zip64) {
    put<uint16_t>(out, kZip64Field);
    put<uint16_t>(out, 24);
    put<uint64_t>(out, entry.bytes);
    put<uint64_t>(out, entry.stored_bytes);
    put<uint64_t>(out, entry.header_offset);
  }
  return out;
}

}  // namespace

// The local header, padded so that the content starts aligned.
void ZipWriter::begin(Entry entry) {
  require(entry.name.size() <= std::numeric_limits<uint16_t>::max(), ErrorCode::kInvalidArgument,
          "a record's name of {} bytes does not fit in a zip file", entry.name.size());
  require(names_.insert(entry.name).second, ErrorCode::kInvalidArgument,
          "the record \"{}\" is written twice", entry.name);
  entry.header_offset = sink_.position();
  const bool zip64 = std::max(entry.bytes, entry.stored_bytes) >= kIn64;
  const uint64_t fields = kFieldHeaderBytes + (zip64 ? kFieldHeaderBytes + 16 : 0);
  const uint64_t content = entry.header_offset + kLocalHeaderBytes + entry.name.size() + fields;
  const uint64_t padding = (kAlignment - content % kAlignment) % kAlignment;
  std::string header;
  put<uint32_t>(header, 0x04034b50);
  put<uint16_t>(header, kVersion);
  put_facts(header, entry, zip64);
  put<uint16_t>(header, static_cast<uint16_t>(fields + padding));
  header += entry.name;
  if (zip64) {
    put<uint16_t>(header, kZip64Field);
    put<uint16_t>(header, 16);
    put<uint64_t>(header, entry.bytes);
    put<uint64_t>(header, entry.stored_bytes);
  }
  put<uint16_t>(header, kPaddingField);
  put<uint16_t>(header, static_cast<uint16_t>(padding));
  header.append(padding, 'Z');
  sink_.write(header);
  entries_.push_back(std::move(entry));
}

void ZipWriter::add(const std::string& name, const void* bytes, size_t count) {
  begin({name, 0, count, count, crc_of(bytes, count), false});
  sink_.write(bytes, count);
}

void ZipWriter::copy(const ZipArchive& from, const ZipArchive::Entry& entry) {
  begin({entry.name, 0, entry.stored_bytes, entry.bytes, entry.crc, entry.deflated});
  const uint64_t at = from.data_offset(entry);
  for (uint64_t done = 0; done < entry.stored_bytes;) {
    const uint64_t count = std::min(kCopyBytes, entry.stored_bytes - done);
    sink_.write(from.source()->read_text(at + done, count));
    done += count;
  }
}

void ZipWriter::finish() {
  const uint64_t directory_at = sink_.position();
  for (const Entry& entry : entries_) sink_.write(directory_entry(entry));
  write_end(directory_at);
}

// With the ZIP64 records always, as PyTorch writes them.
void ZipWriter::write_end(uint64_t directory_at) {
  const uint64_t end = sink_.position();
  const uint64_t count = entries_.size();
  const uint64_t directory_bytes = end - directory_at;
  std::string out;
  put<uint32_t>(out, 0x06064b50);
  put<uint64_t>(out, 44);
  put<uint16_t>(out, kVersion);
  put<uint16_t>(out, kVersion);
  put<uint64_t>(out, 0);  // Disks.
  put<uint64_t>(out, count);
  put<uint64_t>(out, count);
  put<uint64_t>(out, directory_bytes);
  put<uint64_t>(out, directory_at);
  put<uint32_t>(out, 0x07064b50);
  put<uint32_t>(out, 0);
  put<uint64_t>(out, end);
  put<uint32_t>(out, 1);
  put<uint32_t>(out, 0x06054b50);
  put<uint32_t>(out, 0);
  const auto count16 = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  put<uint16_t>(out, count16);
  put<uint16_t>(out, count16);
  put<uint32_t>(out, in_32(directory_bytes));
  put<uint32_t>(out, in_32(directory_at));
  put<uint16_t>(out, 0);
  sink_.write(out);
}

}  // namespace tierup::archive
