// Writer of safetensors files.
#include <algorithm>
#include <set>

#include "tierup/archive/atomic_file.h"
#include "tierup/archive/safetensors.h"
#include "tierup/archive/safetensors_dtype.h"
#include "tierup/base/error.h"
#include "tierup/tensor/gather.h"

namespace tierup::archive {
namespace {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void check_writable(const std::string& name, const Tensor& tensor) {
  require(name != "__metadata__", ErrorCode::kInvalidArgument,
          "a tensor cannot be named __metadata__ in a safetensors file");
  require(tensor.defined() && !tensor.is_meta(), ErrorCode::kInvalidArgument,
          "tensor \"{}\" has no data to be written", name);
  require(!tensor.impl()->conjugate && !tensor.impl()->negative, ErrorCode::kUnsupported,
          "tensor \"{}\" is lazily conjugated or negated: resolve it before writing", name);
  require(safetensors_name(tensor.dtype()).has_value(), ErrorCode::kUnsupported,
          "tensor \"{}\": safetensors files have no {}", name, dtype_name(tensor.dtype()));
}

std::string make_header(const NamedTensors& tensors, const TextMetadata& metadata) {
  std::string header = "{";
  const auto comma = [&] {
    if (header.size() > 1) header += ',';
  };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    bool first = true;
    for (const auto& [key, text] : metadata) {
      if (!first) header += ',';
      first = false;
      append_json_string(header, key);
      header += ':';
      append_json_string(header, text);
    }
    header += '}';
  }
  uint64_t position = 0;
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    check_writable(name, tensor);
    require(names.insert(name).second, ErrorCode::kInvalidArgument, "tensor \"{}\" is given twice",
            name);
    comma();
    append_json_string(header, name);
    header += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[", *safetensors_name(tensor.dtype()));
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      header += fmt::format("{}{}", d == 0 ? "" : ",", tensor.sizes()[d]);
    }
    header += fmt::format("],\"data_offsets\":[{},{}]}}", position, position + tensor.bytes());
    position += tensor.bytes();
  }
  header += '}';
  // So that the data starts at a multiple of 8.
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

}  // namespace

std::string to_safetensors(const NamedTensors& tensors, const TextMetadata& metadata) {
  const std::string header = make_header(tensors, metadata);
  size_t total = 8 + header.size();
  for (const auto& [name, tensor] : tensors) total += tensor.bytes();
  std::string out;
  out.reserve(total);
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  out += header;
  for (const auto& [name, tensor] : tensors) {
    out.resize(out.size() + tensor.bytes());
    gather_elements(tensor, out.data() + out.size() - tensor.bytes());
  }
  return out;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const TextMetadata& metadata) {
  const std::string bytes = to_safetensors(tensors, metadata);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace tierup::archive
