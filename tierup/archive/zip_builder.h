// ZipBuilder and PickleBuilder: write archives for tests, byte by byte and, if asked, wrongly.
//
// Good archives come from PyTorch; what no well-behaved tool would write comes from here:
// ZIP64 fields in small files, wrong checksums, repeated and overlapping entries, pickles of
// forbidden or endless things. Header-only, used by tests and fuzz targets of several rooms.
#pragma once

#include <zlib.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tierup::archive::testing {

template <typename T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

inline std::string deflated(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct ZipFile {
  std::string name;
  std::string content;
  bool deflate = false;
  bool zip64 = false;       // All three numbers of the directory entry go to its ZIP64 field.
  uint16_t flags = 0x0808;  // As PyTorch writes: sizes follow the data.
  std::optional<uint16_t> method = {};
  std::optional<uint32_t> crc = {};
  std::optional<uint64_t> bytes = {};          // Claimed uncompressed size.
  std::optional<uint64_t> header_offset = {};  // Claimed place of the local header.
  size_t alignment = 64;                       // Of the data; 1 for none.
};

struct ZipShape {
  bool zip64_end = true;  // ZIP64 end record and locator, as PyTorch always writes them.
  std::string prefix;     // Before the first local header.
  std::string trailer;    // After the end record.
  std::string comment;
  std::optional<uint64_t> count = {};  // Claimed number of entries.
  std::optional<uint64_t> directory_offset = {};
};

class ZipBuilder {
 public:
  ZipBuilder& add(ZipFile file) {
    files_.push_back(std::move(file));
    return *this;
  }
  ZipBuilder& add(std::string name, std::string content) {
    return add(ZipFile{.name = std::move(name), .content = std::move(content)});
  }
  std::string finish(const ZipShape& shape = {}) const;

 private:
  std::vector<ZipFile> files_;
};

inline std::string ZipBuilder::finish(const ZipShape& shape) const {
  std::string out = shape.prefix;
  std::string directory;
  for (const ZipFile& file : files_) {
    const uint64_t header = file.header_offset.value_or(out.size() - shape.prefix.size());
    const std::string data = file.deflate ? deflated(file.content) : file.content;
    const uint16_t method = file.method.value_or(file.deflate ? 8 : 0);
    const auto crc = file.crc.value_or(
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(file.content.data()),
                                    static_cast<uInt>(file.content.size()))));
    const uint64_t bytes = file.bytes.value_or(file.content.size());
    const size_t data_at = out.size() - shape.prefix.size() + 34 + file.name.size();
    const size_t padding = (file.alignment - data_at % file.alignment) % file.alignment;
    put<uint32_t>(out, 0x04034b50);
    put<uint16_t>(out, 0);
    put<uint16_t>(out, file.flags);
    put<uint16_t>(out, method);
    out.append(16, '\0');  // Time, CRC and sizes.
    put<uint16_t>(out, static_cast<uint16_t>(file.name.size()));
    put<uint16_t>(out, static_cast<uint16_t>(4 + padding));
    out += file.name + "FB";
    put<uint16_t>(out, static_cast<uint16_t>(padding));
    out += std::string(padding, 'Z') + data;
    put<uint32_t>(directory, 0x02014b50);
    put<uint32_t>(directory, 0);
    put<uint16_t>(directory, file.flags);
    put<uint16_t>(directory, method);
    put<uint32_t>(directory, 0);
    put<uint32_t>(directory, crc);
    put<uint32_t>(directory, file.zip64 ? 0xffffffff : static_cast<uint32_t>(data.size()));
    put<uint32_t>(directory, file.zip64 ? 0xffffffff : static_cast<uint32_t>(bytes));
    put<uint16_t>(directory, static_cast<uint16_t>(file.name.size()));
    put<uint16_t>(directory, file.zip64 ? 28 : 0);
    directory.append(10, '\0');  // Comment, disk, attributes.
    put<uint32_t>(directory, file.zip64 ? 0xffffffff : static_cast<uint32_t>(header));
    directory += file.name;
    if (file.zip64) {
      put<uint16_t>(directory, 1);
      put<uint16_t>(directory, 24);
      put<uint64_t>(directory, bytes);
      put<uint64_t>(directory, data.size());
      put<uint64_t>(directory, header);
    }
  }
  const uint64_t at = shape.directory_offset.value_or(out.size() - shape.prefix.size());
  const uint64_t count = shape.count.value_or(files_.size());
  out += directory;
  if (shape.zip64_end) {
    const uint64_t end64 = out.size() - shape.prefix.size();
    put<uint32_t>(out, 0x06064b50);
    put<uint64_t>(out, 44);
    put<uint32_t>(out, 0);
    put<uint64_t>(out, 0);  // Disks.
    put<uint64_t>(out, count);
    put<uint64_t>(out, count);
    put<uint64_t>(out, directory.size());
    put<uint64_t>(out, at);
    put<uint32_t>(out, 0x07064b50);
    put<uint32_t>(out, 0);
    put<uint64_t>(out, end64);
    put<uint32_t>(out, 1);
  }
  put<uint32_t>(out, 0x06054b50);
  put<uint32_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(count));
  put<uint16_t>(out, static_cast<uint16_t>(count));
  put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(out, static_cast<uint32_t>(at));
  put<uint16_t>(out, static_cast<uint16_t>(shape.comment.size()));
  return out + shape.comment + shape.trailer;
}

// Opcodes by name; begins with the protocol.
class PickleBuilder {
 public:
  PickleBuilder& op(std::string_view raw) {
    out_ += raw;
    return *this;
  }
  PickleBuilder& str(std::string_view text) {
    out_ += 'X';
    put<uint32_t>(out_, static_cast<uint32_t>(text.size()));
    out_ += text;
    return *this;
  }
  PickleBuilder& integer(int64_t value) {
    out_ += "\x8a\x08";
    put<uint64_t>(out_, static_cast<uint64_t>(value));
    return *this;
  }
  PickleBuilder& floating(double value) {
    out_ += 'G';
    put<uint64_t>(out_, __builtin_bswap64(std::bit_cast<uint64_t>(value)));
    return *this;
  }
  PickleBuilder& global(std::string_view module, std::string_view name) {
    out_ += 'c';
    out_ += module;
    out_ += '\n';
    out_ += name;
    out_ += '\n';
    return *this;
  }
  PickleBuilder& ints(const std::vector<int64_t>& values) {  // A tuple.
    out_ += '(';
    for (const int64_t v : values) integer(v);
    out_ += 't';
    return *this;
  }
  PickleBuilder& storage(std::string_view type, std::string_view key, int64_t numel) {
    op("(").str("storage").global("torch", type).str(key).str("cpu").integer(numel);
    return op("tQ");
  }
  // A whole tensor over a fresh storage.
  PickleBuilder& tensor(std::string_view type, std::string_view key, int64_t numel, int64_t offset,
                        const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    global("torch._utils", "_rebuild_tensor_v2").op("(").storage(type, key, numel).integer(offset);
    return ints(sizes).ints(strides).op("\x89").op("NtR");
  }
  std::string finish() const { return "\x80\x02" + out_ + "."; }

 private:
  std::string out_;
};

}  // namespace tierup::archive::testing
