// Weights by name from any file that has some.
#pragma once

#include <string>

#include "tierup/api/model/model.h"

namespace tierup::api {

// From a safetensors file, a torch.save state dict, or a .pt or .pt2 model (opened with `options`).
// Tensors alias the file, mapped or read as the options say. Throws what those readers throw.
archive::NamedTensors read_weights(const std::string& path, const ModelOptions& options);

}  // namespace tierup::api
