// Writing a TorchScript module to an archive that PyTorch and tierup open.
//
// What a run cannot change is copied from the archive that the module came from: code, constants,
// extra files, version. The object tree is written anew: weights, and every other attribute.
#pragma once

#include <string>

#include "tierup/archive/model_archive.h"
#include "tierup/archive/pickle_writer.h"

namespace tierup::frontend::torchscript {

// `source` is the archive that `root` was loaded from; it may be the file at `path`. `state_of`
// runs __getstate__ of classes that have one (null: such modules are refused). Throws kUnsupported,
// naming the path, for attributes that no file can hold, before anything is written; kNotFound if
// the file cannot be written. The old file then is as it was.
void save_module(const std::string& path, const archive::ModelArchive& source,
                 const Ref<ObjectValue>& root, const archive::PickleWriter::StateOf& state_of);

// Whether a class restores its objects by code of its own: __getstate__ and __setstate__.
bool has_own_state(const ClassType& type);

}  // namespace tierup::frontend::torchscript
