// data.pkl, the storages, the version: no more is needed.
#include "tierup/archive/torch_save.h"

#include "tierup/archive/atomic_file.h"

namespace tierup::archive {

void add_storages(ZipWriter& zip, const std::string& root, const PickleWriter& pickle) {
  for (const auto& [key, storage] : pickle.storages()) {
    zip.add(fmt::format("{}/data/{}", root, key), storage->data(), storage->bytes());
  }
}

void write_torch_save(ByteSink& sink, PickleWriter& pickle) {
  const std::string root = "archive";
  ZipWriter zip(sink);
  zip.add(root + "/data.pkl", pickle.finish());
  zip.add(root + "/byteorder", "little");
  add_storages(zip, root, pickle);
  zip.add(root + "/version", "3\n");
  zip.finish();
}

void write_state_dict(const std::string& path, const NamedTensors& tensors) {
  PickleWriter pickle(PickleDialect::kTorchSave);
  pickle.state_dict(tensors);
  AtomicFile file(path);
  write_torch_save(file, pickle);
  file.commit();
}

void save_weights(const std::string& path, const NamedTensors& tensors) {
  if (path.ends_with(".safetensors")) return write_safetensors(path, tensors);
  write_state_dict(path, tensors);
}

}  // namespace tierup::archive
