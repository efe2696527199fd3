#include "tierup/frontend/exported/exported_weights.h"

#include <algorithm>
#include <array>

#include "tierup/archive/state_dict.h"
#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

IntVector static_sizes(const std::vector<SymInt>& sizes, const std::string& name) {
  IntVector result;
  for (const SymInt& size : sizes) {
    require(size.is_static(), ErrorCode::kCorruptArchive,
            "weight '{}': a symbolic size in its layout", name);
    result.push_back(size.value);
  }
  return result;
}

}  // namespace

ExportedWeights::ExportedWeights(const archive::ModelArchive& archive, std::string model)
    : archive_(archive), model_(std::move(model)) {
  read_tables();
}

void ExportedWeights::read_tables() {
  struct Place {
    const char* folder;
    std::array<const char*, 3> configs;  // Newest name first, then those of an internal format.
  };
  const std::array<Place, 2> places{{
      {"data/weights/", {"_weights_config.json", "_model_param_config.json", ""}},
      {"data/constants/", {"_constants_config.json", "_model_constants_config.json", ""}},
  }};
  for (const Place& place : places) {
    const std::string pickle = place.folder + model_ + ".pt";
    if (archive_.contains(pickle)) {
      read_pickle(pickle);
      continue;
    }
    for (const char* suffix : place.configs) {
      const std::string record = place.folder + model_ + suffix;
      if (*suffix == '\0' || !archive_.contains(record)) continue;
      tables_.push_back({parse_payload_config(archive_.read_record(record)), place.folder});
      break;
    }
  }
  for (const char* record : {"serialized_state_dict.pt", "serialized_state_dict.json",
                             "serialized_constants.pt", "serialized_constants.json"}) {
    if (archive_.contains(record)) read_pickle(record);
  }
}

void ExportedWeights::read_pickle(const std::string& record) {
  std::string bytes = archive_.read_record(record);
  if (bytes.empty()) return;  // An empty dict.
  pickles_.push_back({record, archive::read_state_dict(archive::own_bytes(std::move(bytes)))});
}

std::vector<WeightPlace> ExportedWeights::places() const {
  std::vector<WeightPlace> result;
  for (const Table& table : tables_) {
    for (const auto& [name, payload] : table.config) {
      result.push_back({name, table.folder + payload.path_name, &payload});
    }
  }
  return result;
}

Tensor ExportedWeights::find(const std::string& name) {
  for (const Table& table : tables_) {
    const auto found = table.config.find(name);
    if (found != table.config.end()) return from_payload(name, found->second, table.folder);
  }
  for (const PickledWeights& pickle : pickles_) {
    const auto named = [&](const auto& entry) { return entry.first == name; };
    const auto found = std::ranges::find_if(pickle.tensors, named);
    if (found != pickle.tensors.end()) return found->second;
  }
  fail(ErrorCode::kNotFound,
       "weight '{}' listed in the graph signature is missing from the archive's weights of model "
       "'{}'",
       name, model_);
}

Tensor ExportedWeights::from_payload(const std::string& name, const Payload& payload,
                                     const std::string& folder) {
  require(payload.path_name.find("..") == std::string::npos, ErrorCode::kCorruptArchive,
          "weight '{}': a path outside of the archive", name);
  const std::string record = folder + payload.path_name;
  if (payload.use_pickle) {
    const archive::NamedTensors tensors =
        archive::read_state_dict(archive::own_bytes(archive_.read_record(record)));
    require(tensors.size() == 1, ErrorCode::kUnsupported,
            "weight '{}' is pickled as something else than one tensor", name);
    return tensors[0].second;
  }
  require(payload.meta.has_value(), ErrorCode::kUnsupported,
          "weight '{}' ('{}') is a custom object, which tierup cannot read", name,
          payload.path_name);
  const TensorMeta& meta = *payload.meta;
  require(meta.strided, ErrorCode::kUnsupported, "weight '{}' has a sparse layout", name);
  const IntVector sizes = static_sizes(meta.sizes, name);
  const IntVector strides = static_sizes(meta.strides, name);
  const size_t item = item_size(meta.dtype);
  Ref<Storage>& storage = storages_[record];
  if (!storage) storage = archive_.record_storage(record, meta.dtype);
  const int64_t numel = numel_of(sizes);
  if (storage->bytes() == 0 && numel > 0) return {};
  require(storage->bytes() % item == 0, ErrorCode::kCorruptArchive,
          "weight '{}': record '{}' of {} bytes is no whole number of {} elements", name,
          payload.path_name, storage->bytes(), dtype_name(meta.dtype));
  require(meta.storage_offset.is_static(), ErrorCode::kCorruptArchive,
          "weight '{}': a symbolic offset", name);
  try {
    Tensor tensor =
        Tensor::from_storage(storage, meta.dtype, sizes, strides, meta.storage_offset.value);
    tensor.set_requires_grad(payload.is_param && meta.requires_grad);
    return tensor;
  } catch (const Error& error) {
    const bool compact = static_cast<int64_t>(storage->bytes() / item) == numel;
    fail(ErrorCode::kCorruptArchive,
         "weight '{}': its layout does not fit record '{}' of {} bytes: {}{}", name,
         payload.path_name, storage->bytes(), error.message(),
         compact ? "; a view saved from an accelerator looks so: call .contiguous().cpu() on it "
                   "before saving"
                 : "");
  }
}

}  // namespace tierup::frontend::exported
