// Writing an exported program with other weights: everything but these is copied.
#pragma once

#include <string>

#include "tierup/archive/model_archive.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::frontend::exported {

// `source` is the archive that the program `model` with the attributes of `root` was loaded from;
// it may be the file at `path`. A weight keeps the layout that the archive describes, and names
// that share a record go on sharing it. Throws kInvalidArgument for weights that do not fit their
// record (other sizes or dtype; names of one record that differ) and kUnsupported for a weight that
// is a custom object, before anything is written; kNotFound if the file cannot be written.
void save_program(const std::string& path, const archive::ModelArchive& source,
                  const std::string& model, const ObjectValue& root);

}  // namespace tierup::frontend::exported
