// Any text given as the code of a model: an Error or graphs, never more.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/compilation_unit.h"

namespace {

using namespace tierup;
namespace torchscript = frontend::torchscript;

void compile(const ir::Function& function) {
  try {
    function.graph();
  } catch (const Error& error) {
    TIERUP_CHECK(error.code() != ErrorCode::kInternal);
  }
}

void compile_definition(torchscript::CompilationUnit& unit, std::string_view name) {
  try {
    const torchscript::Definition& found = unit.find("__torch__." + std::string(name));
    if (found.function) compile(*found.function);
    const ClassType* type = found.type == nullptr ? nullptr : found.type->as_class();
    if (type == nullptr) return;
    for (const auto& [method_name, method] : type->methods()) compile(ir::as_function(*method));
  } catch (const Error& error) {
    TIERUP_CHECK(error.code() != ErrorCode::kInternal);
  }
}

}  // namespace

// The text stands for code/__torch__.py; everything that it defines is compiled.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = [&](const std::string& record) -> std::optional<std::string> {
    if (record != "code/__torch__.py") return std::nullopt;
    return text;
  };
  try {
    torchscript::SourceIndex names(read);
    const auto file = names.file("__torch__");
    if (file == nullptr) return 0;
    const auto unit = torchscript::CompilationUnit::make(torchscript::SourceIndex(read));
    for (const auto* definition : file->classes()) compile_definition(*unit, definition->name);
    for (const auto* definition : file->functions()) compile_definition(*unit, definition->name);
  } catch (const Error& error) {
    TIERUP_CHECK(error.code() != ErrorCode::kInternal);
  }
  return 0;
}
