// Files of named tensors, over the room `archive`.
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/archive/state_dict.h"
#include "tierup/tensor_file.h"

namespace tierup::v1 {

NamedTensors load_tensors(const std::string& path) {
  return guarded([&] {
    NamedTensors result;
    for (auto& [name, tensor] : archive::open_state_dict(path)) {
      result.emplace_back(std::move(name), Access::wrap(std::move(tensor)));
    }
    return result;
  });
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  guarded([&] {
    archive::write_safetensors(path, unwrap_all(tensors), {metadata.begin(), metadata.end()});
  });
}

}  // namespace tierup::v1
