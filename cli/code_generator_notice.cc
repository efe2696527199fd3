#include "code_generator_notice.h"

#include <fmt/format.h>

#include "tierup/machine.h"

namespace tierup::cli {
namespace {

std::string failure_of(const ModelArguments& model) {
  return v1::code_generator_failure(model.options());
}

}  // namespace

void print_missing_code_generator(const ModelArguments& model) {
  const std::string failure = failure_of(model);
  if (!failure.empty()) fmt::print("no compiled kernels: {}\n", failure);
}

void write_code_generator(JsonWriter& writer, const ModelArguments& model) {
  const std::string failure = failure_of(model);
  writer.key("code_generator").boolean(failure.empty());
  if (!failure.empty()) writer.key("code_generator_error").string(failure);
}

}  // namespace tierup::cli
