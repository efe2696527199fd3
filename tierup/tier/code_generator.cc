#include "tierup/tier/code_generator.h"

#include "tierup/codegen/library.h"

namespace tierup::tier {

std::string code_generator_failure(const TieringOptions& options) {
  if (options.compile == CompileMode::kOff || !options.fusion) return {};
  return codegen::Library::instance().error();
}

}  // namespace tierup::tier
