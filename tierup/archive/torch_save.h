// Writing what torch.load(weights_only=True) reads: state dicts and checkpoints.
#pragma once

#include <string>

#include "tierup/archive/byte_sink.h"
#include "tierup/archive/pickle_writer.h"
#include "tierup/archive/zip_writer.h"

namespace tierup::archive {

// The zip file of a pickle in kTorchSave, which is finished by this, and of its storages.
void write_torch_save(ByteSink& sink, PickleWriter& pickle);

// A state dict, as torch.save(module.state_dict(), path) writes it. Throws as PickleWriter and
// AtomicFile do; then the old file, if there is one, is as it was.
void write_state_dict(const std::string& path, const NamedTensors& tensors);

// The same for a file by its name: ".safetensors", else torch.save's form.
void save_weights(const std::string& path, const NamedTensors& tensors);

// Records "ROOT/data/KEY" for the storages that a pickle names.
void add_storages(ZipWriter& zip, const std::string& root, const PickleWriter& pickle);

}  // namespace tierup::archive
