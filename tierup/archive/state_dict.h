// State dicts: names and tensors, as torch.save writes them or from a safetensors file.
#pragma once

#include "tierup/archive/byte_source.h"
#include "tierup/archive/safetensors.h"

namespace tierup::archive {

// The tensors of a state dict in its order. Reads torch.save files (the zip form) and safetensors.
// A checkpoint that keeps its weights under "state_dict", "model_state_dict" or "model" gives
// those; entries that are no tensors (counters, None) are left out. Names stay as they are, views
// and tied weights share memory, and tensors alias the file. Throws kUnsupported for other formats
// and for pickled classes, kCorruptArchive.
NamedTensors read_state_dict(Ref<ByteSource> source);
NamedTensors open_state_dict(const std::string& path);

}  // namespace tierup::archive
