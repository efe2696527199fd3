// Reader of safetensors files: every number of the header is checked before it is used.
#include "tierup/archive/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "tierup/archive/safetensors_dtype.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // As the reference reader allows.
constexpr size_t kMaxRank = 64;

using Json = simdjson::dom::element;

template <typename... Args>
[[noreturn]] void corrupt(const ByteSource& source, fmt::format_string<Args...> format,
                          Args&&... args) {
  fail(ErrorCode::kCorruptArchive, "{}: not a valid safetensors file: {}", source.name(),
       fmt::vformat(format, fmt::make_format_args(args...)));
}

uint64_t read_header_length(const ByteSource& source) {
  if (source.size() < 8) corrupt(source, "it has only {} bytes", source.size());
  unsigned char raw[8];
  source.read(0, std::as_writable_bytes(std::span(raw)));
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | raw[i];
  if (length > kMaxHeaderBytes) corrupt(source, "a header of {} bytes is too large", length);
  if (length > source.size() - 8) {
    corrupt(source, "the header should have {} bytes, but only {} follow", length,
            source.size() - 8);
  }
  return length;
}

TextMetadata read_metadata(const ByteSource& source, Json value) {
  simdjson::dom::object object;
  if (value.get(object)) corrupt(source, "__metadata__ is not an object");
  TextMetadata metadata;
  for (const auto& [key, text] : object) {
    std::string_view view;
    if (text.get(view)) corrupt(source, "metadata \"{}\" is not a string", key);
    metadata[std::string(key)] = view;
  }
  return metadata;
}

// Returns the checked product of the shape's sizes and the element size.
uint64_t read_shape(const ByteSource& source, Json value, Safetensors::Entry& entry) {
  simdjson::dom::array shape;
  if (value.get(shape)) corrupt(source, "tensor \"{}\" has no shape", entry.name);
  uint64_t bytes = item_size(entry.dtype);
  bool empty = false;
  bool overflow = false;
  for (const Json size : shape) {
    int64_t extent = 0;
    if (size.get(extent) || extent < 0) {
      corrupt(source, "tensor \"{}\" has a bad size in its shape", entry.name);
    }
    if (entry.sizes.size() == kMaxRank) {
      corrupt(source, "tensor \"{}\" has more than {} dimensions", entry.name, kMaxRank);
    }
    entry.sizes.push_back(extent);
    empty = empty || extent == 0;
    overflow = __builtin_mul_overflow(bytes, std::max<uint64_t>(static_cast<uint64_t>(extent), 1),
                                      &bytes) ||
               overflow;
  }
  if (overflow) corrupt(source, "the shape of tensor \"{}\" is too large", entry.name);
  return empty ? 0 : bytes;
}

// The two data offsets, relative to the end of the header.
std::pair<uint64_t, uint64_t> read_offsets(const ByteSource& source, Json value,
                                           const std::string& name) {
  simdjson::dom::array pair;
  uint64_t begin = 0;
  uint64_t end = 0;
  if (value.get(pair) || pair.size() != 2 || pair.at(0).get(begin) || pair.at(1).get(end) ||
      begin > end) {
    corrupt(source, "tensor \"{}\" has bad data_offsets", name);
  }
  return {begin, end};
}

Safetensors::Entry read_entry(const ByteSource& source, std::string_view name, Json value,
                              uint64_t data_begin) {
  Safetensors::Entry entry;
  entry.name = name;
  simdjson::dom::object object;
  std::string_view dtype;
  Json shape;
  Json offsets;
  if (value.get(object) || object["dtype"].get(dtype) || object["shape"].get(shape) ||
      object["data_offsets"].get(offsets)) {
    corrupt(source, "tensor \"{}\" lacks dtype, shape or data_offsets", name);
  }
  const auto known = dtype_of_safetensors(dtype);
  require(known.has_value(), ErrorCode::kUnsupported,
          "{}: tensor \"{}\" has the dtype {}, which is not supported", source.name(), name, dtype);
  entry.dtype = *known;
  entry.bytes = read_shape(source, shape, entry);
  const auto [begin, end] = read_offsets(source, offsets, entry.name);
  if (end - begin != entry.bytes) {
    corrupt(source, "tensor \"{}\" has {} bytes where its shape and dtype need {}", name,
            end - begin, entry.bytes);
  }
  if (end > source.size() - data_begin) {
    corrupt(source, "tensor \"{}\" reaches to byte {}, but there are only {}", name, end,
            source.size() - data_begin);
  }
  entry.begin = data_begin + begin;
  return entry;
}

// The tensors must cover the data without overlap, gap or rest, as the format demands.
void check_coverage(const ByteSource& source, const std::vector<Safetensors::Entry>& entries,
                    uint64_t data_begin) {
  std::vector<const Safetensors::Entry*> order;
  for (const auto& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->bytes) < std::pair(b->begin, b->bytes);
  });
  uint64_t position = data_begin;
  for (const auto* entry : order) {
    if (entry->begin < position) {
      corrupt(source, "tensor \"{}\" overlaps the one before", entry->name);
    }
    if (entry->begin > position) {
      corrupt(source, "there are bytes of no tensor before \"{}\"", entry->name);
    }
    position += entry->bytes;
  }
  if (position != source.size()) corrupt(source, "bytes follow the last tensor");
}

}  // namespace

Safetensors Safetensors::read(Ref<ByteSource> source) {
  const uint64_t length = read_header_length(*source);
  const uint64_t data_begin = 8 + length;
  const simdjson::padded_string text(source->read_text(8, length));
  simdjson::dom::parser parser;
  Json root;
  simdjson::dom::object object;
  if (const auto problem = parser.parse(text).get(root)) {
    corrupt(*source, "the header is not JSON: {}", simdjson::error_message(problem));
  }
  if (root.get(object)) corrupt(*source, "the header is not a JSON object");

  Safetensors file;
  for (const auto& [key, value] : object) {
    if (key == "__metadata__") {
      file.metadata_ = read_metadata(*source, value);
      continue;
    }
    file.entries_.push_back(read_entry(*source, key, value, data_begin));
    const bool fresh = file.index_.emplace(std::string(key), file.entries_.size() - 1).second;
    if (!fresh) corrupt(*source, "tensor \"{}\" is there twice", key);
  }
  check_coverage(*source, file.entries_, data_begin);
  file.source_ = std::move(source);
  return file;
}

Tensor Safetensors::tensor(const Entry& entry) const {
  const IntSpan sizes{entry.sizes.data(), entry.sizes.size()};
  const IntVector strides = contiguous_strides(sizes);
  Ref<Storage> storage = make_storage(source_, entry.begin, entry.bytes, entry.dtype);
  return Tensor::from_storage(std::move(storage), entry.dtype, sizes,
                              {strides.data(), strides.size()}, 0);
}

Tensor Safetensors::tensor(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  require(found != index_.end(), ErrorCode::kNotFound, "{}: there is no tensor \"{}\"",
          source_->name(), name);
  return tensor(entries_[found->second]);
}

NamedTensors Safetensors::tensors() const {
  NamedTensors all;
  for (const Entry& entry : entries_) all.emplace_back(entry.name, tensor(entry));
  return all;
}

}  // namespace tierup::archive
