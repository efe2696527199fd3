// Any JSON given as an exported program: an Error or a program, never more.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"
#include "tierup/frontend/exported/exported_program.h"

// An archive with one model and no weights: the input is its models/model.json.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tierup;
  const std::string bytes =
      archive::testing::ZipBuilder()
          .add("m/archive_format", "pt2")
          .add("m/archive_version", "0")
          .add("m/models/model.json", {reinterpret_cast<const char*>(data), size})
          .finish();
  try {
    frontend::exported::load_exported(*archive::ModelArchive::read(archive::own_bytes(bytes)), {});
  } catch (const Error& error) {
    TIERUP_CHECK(error.code() != ErrorCode::kInternal);
  }
  return 0;
}
