// Any bytes given as an archive: an Error or entries whose content can be read, never more.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tierup/archive/state_dict.h"
#include "tierup/archive/zip.h"
#include "tierup/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tierup::archive;
  const auto bytes = std::as_bytes(std::span(data, size));
  const ZipLimits limits{.max_record_bytes = 1 << 20, .max_inflated_bytes = 1 << 20};
  try {
    const ZipArchive zip(borrow_bytes(bytes), limits);
    for (const ZipArchive::Entry& entry : zip.entries()) {
      try {
        zip.read(entry);
      } catch (const tierup::Error&) {
      }
      zip.storage(entry, tierup::ScalarType::kBool);
    }
  } catch (const tierup::Error&) {
  }
  try {
    read_state_dict(borrow_bytes(bytes));
  } catch (const tierup::Error&) {
  }
  return 0;
}
