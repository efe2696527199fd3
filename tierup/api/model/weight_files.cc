#include "tierup/api/model/weight_files.h"

#include "tierup/archive/state_dict.h"

namespace tierup::api {

archive::NamedTensors read_weights(const std::string& path, const ModelOptions& options) {
  Ref<archive::ByteSource> source = options.open(path);
  const bool is_zip = archive::ZipArchive::looks_like_zip(*source);
  if (!is_zip || archive::ModelArchive::read(source)->kind() == archive::ArchiveKind::kTorchSave) {
    return archive::read_state_dict(std::move(source));
  }
  return Model::load(std::move(source), options)->state();
}

}  // namespace tierup::api
