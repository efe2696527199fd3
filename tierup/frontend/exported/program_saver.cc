// Makes the records that change, then copies the archive around them.
#include "tierup/frontend/exported/program_saver.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "tierup/archive/atomic_file.h"
#include "tierup/archive/torch_save.h"
#include "tierup/base/error.h"
#include "tierup/frontend/exported/exported_weights.h"
#include "tierup/tensor/gather.h"

namespace tierup::frontend::exported {
namespace {

// A record's new bytes, and which of them some weight has set.
struct Record {
  std::string bytes;
  std::vector<bool> is_set;
};

// Puts the tensor's elements where `layout` has them. False if another weight of the record has set
// one to something else.
bool put_elements(const TensorMeta& layout, const Tensor& tensor, Record& record) {
  const size_t item = tensor.item_size();
  std::string elements(tensor.bytes(), '\0');
  gather_elements(tensor, elements.data());
  IntVector index(tensor.sizes().size(), 0);
  for (size_t i = 0; i * item < elements.size(); ++i) {
    int64_t place = layout.storage_offset.value;
    for (size_t d = 0; d < index.size(); ++d) place += index[d] * layout.strides[d].value;
    const size_t at = static_cast<size_t>(place) * item;
    const char* element = elements.data() + i * item;
    if (record.is_set[at] && std::memcmp(record.bytes.data() + at, element, item) != 0) {
      return false;
    }
    std::memcpy(record.bytes.data() + at, element, item);
    record.is_set[at] = true;
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.size(static_cast<int64_t>(d))) break;
      index[d] = 0;
    }
  }
  return true;
}

void check_layout(const std::string& name, const TensorMeta& layout, const Tensor& tensor) {
  IntVector sizes;
  for (const SymInt& size : layout.sizes) sizes.push_back(size.value);
  require(tensor.dtype() == layout.dtype && std::ranges::equal(tensor.sizes(), sizes),
          ErrorCode::kInvalidArgument,
          "weight '{}' is {} now, but the program was exported for {} of shape {}", name,
          tensor.describe(), dtype_name(layout.dtype), shape_string(sizes));
}

std::string pickled_bytes(const archive::NamedTensors& tensors,
                          const std::vector<bool>& are_parameters) {
  archive::PickleWriter pickle(archive::PickleDialect::kTorchSave);
  pickle.begin_dict();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    pickle.text(name);
    are_parameters[i] ? pickle.parameter(tensor, name) : pickle.value(IValue(tensor), name);
  }
  pickle.end_dict();
  archive::MemorySink sink;
  archive::write_torch_save(sink, pickle);
  return sink.take();
}

class ProgramSaver {
 public:
  ProgramSaver(const archive::ModelArchive& source, const std::string& model,
               const ObjectValue& root)
      : source_(source), root_(root), weights_(source, model) {}

  // The records that are not as in the source, by name.
  const std::map<std::string, Record>& records() {
    for (const WeightPlace& place : weights_.places()) replace_raw(place);
    for (const PickledWeights& pickle : weights_.pickles()) replace_pickle(pickle);
    return records_;
  }

 private:
  // The place of a name among the program's attributes, if it has a tensor there.
  std::optional<size_t> slot_of(const std::string& name) const {
    const auto slot = root_.type->find_attribute(name);
    return slot && root_.slots[*slot].is_tensor() ? slot : std::nullopt;
  }

  void replace_raw(const WeightPlace& place) {
    const auto slot = slot_of(place.name);
    if (!slot) return;
    require(place.payload->meta && !place.payload->use_pickle, ErrorCode::kUnsupported,
            "weight '{}' is pickled or a custom object, which tierup cannot write", place.name);
    const Tensor tensor = root_.slots[*slot].to_tensor();
    check_layout(place.name, *place.payload->meta, tensor);
    Record& record = records_[place.record];
    if (record.bytes.empty()) {
      record.bytes.resize(source_.record_bytes(place.record));
      record.is_set.resize(record.bytes.size());
    }
    require(put_elements(*place.payload->meta, tensor, record), ErrorCode::kInvalidArgument,
            "the weight '{}' shares memory of the program with another one, and is no longer equal",
            place.name);
  }

  void replace_pickle(const PickledWeights& pickle) {
    if (pickle.tensors.empty()) return;
    archive::NamedTensors tensors = pickle.tensors;
    std::vector<bool> are_parameters;
    for (auto& [name, tensor] : tensors) {
      const auto slot = slot_of(name);
      are_parameters.push_back(slot && root_.type->attributes()[*slot].is_parameter);
      if (slot) tensor = root_.slots[*slot].to_tensor();
    }
    records_[pickle.record].bytes = pickled_bytes(tensors, are_parameters);
  }

  const archive::ModelArchive& source_;
  const ObjectValue& root_;
  ExportedWeights weights_;
  std::map<std::string, Record> records_;
};

}  // namespace

void save_program(const std::string& path, const archive::ModelArchive& source,
                  const std::string& model, const ObjectValue& root) {
  source.require_kind(archive::ArchiveKind::kExported);
  ProgramSaver saver(source, model, root);
  const std::map<std::string, Record>& records = saver.records();
  archive::AtomicFile file(path);
  archive::ZipWriter zip(file);
  const std::string folder = source.root().empty() ? "" : source.root() + "/";
  for (const archive::ZipArchive::Entry& entry : source.zip().entries()) {
    const bool inside = entry.name.starts_with(folder);
    const auto found = inside ? records.find(entry.name.substr(folder.size())) : records.end();
    if (found == records.end()) {
      zip.copy(source.zip(), entry);
    } else {
      zip.add(entry.name, found->second.bytes);
    }
  }
  zip.finish();
  file.commit();
}

}  // namespace tierup::frontend::exported
