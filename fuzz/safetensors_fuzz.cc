// Any bytes given as a safetensors file: an Error, or tensors that can be written again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tierup/archive/safetensors.h"
#include "tierup/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tierup::archive;
  try {
    const Safetensors file = Safetensors::read(borrow_bytes(std::as_bytes(std::span(data, size))));
    to_safetensors(file.tensors(), file.metadata());
  } catch (const tierup::Error&) {
  }
  return 0;
}
