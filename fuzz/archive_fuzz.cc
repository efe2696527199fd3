// A whole TorchScript archive: three records of any content, packed with checksums that fit.
//
// An input is data.pkl, constants.pkl and code, each followed by the line "--"; what begins as a
// zip file is taken as the archive itself.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace {

std::string_view next_part(std::string_view& rest) {
  constexpr std::string_view kSeparator = "\n--\n";
  const size_t end = rest.find(kSeparator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kSeparator.size());
  return part;
}

std::string packed(std::string_view input) {
  if (input.starts_with("PK")) return std::string(input);
  tierup::archive::testing::ZipBuilder builder;
  builder.add("m/data.pkl", std::string(next_part(input)));
  builder.add("m/constants.pkl", std::string(next_part(input)));
  builder.add("m/code/__torch__.py", std::string(next_part(input)));
  builder.add("m/version", "3");
  for (const char* key : {"0", "1", "2", "3"}) {
    builder.add(std::string("m/data/") + key, std::string(256, '\1'));
    builder.add(std::string("m/constants/") + key, std::string(256, '\1'));
  }
  return builder.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tierup;
  const std::string bytes = packed({reinterpret_cast<const char*>(data), size});
  try {
    const auto module = frontend::torchscript::load_torchscript(
        archive::ModelArchive::read(archive::own_bytes(bytes)));
    frontend::torchscript::named_tensors(*module.root);
    frontend::torchscript::missing_operators(*module.root);
  } catch (const Error& error) {
    TIERUP_CHECK(error.code() != ErrorCode::kInternal);
  }
  return 0;
}
