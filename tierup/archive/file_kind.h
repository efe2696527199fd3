// Tells files that tierup does not read by what they are, so that the error can say what to do.
#pragma once

#include "tierup/archive/byte_source.h"

namespace tierup::archive {

class ModelArchive;

// Throws kUnsupported for a format that is recognised, kCorruptArchive for anything else that is
// not a zip file.
void refuse_other_formats(const ByteSource& source);
// Throws kUnsupported for a zip file that is no archive this room reads.
[[noreturn]] void refuse_archive(const ModelArchive& archive);

}  // namespace tierup::archive
