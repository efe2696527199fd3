// Files of named tensors.
//
//   tierup::NamedTensors inputs = tierup::load_tensors("inputs.safetensors");
//   tierup::save_safetensors("outputs.safetensors", {{"logits",
//   module({inputs[0].second}).to_tensor()}});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tierup/export.h"
#include "tierup/module.h"

namespace tierup::v1 {

// All tensors of a safetensors file, or of a state dict as torch.save writes it, in the file's
// order. The file is mapped: they lie in it where they are aligned there, and writes to them stay
// in this process; replace it by rename. Throws kNotFound, kCorruptArchive, and kUnsupported for
// other formats, pickled classes and unknown dtypes.
TIERUP_API NamedTensors load_tensors(const std::string& path);
// Writes tensors of any strides, in this order, with texts beside them. The file appears whole or
// not at all. Throws kInvalidArgument for a repeated name, kUnsupported for complex128, which the
// format lacks, and kNotFound if the file cannot be written.
TIERUP_API void save_safetensors(
    const std::string& path, const NamedTensors& tensors,
    const std::vector<std::pair<std::string, std::string>>& metadata = {});

}  // namespace tierup::v1
