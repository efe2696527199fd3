// What a reader of times and plans must know first: without the code generator there are no
// compiled kernels.
#pragma once

#include "json_writer.h"
#include "model_options.h"

namespace tierup::cli {

// The report's first line, if the code generator is missing: "no compiled kernels: ...". To be
// called after everything that is measured, since it may load the code generator.
void print_missing_code_generator(const ModelArguments& model);
// "code_generator": true or false, and "code_generator_error" where it is false.
void write_code_generator(JsonWriter& writer, const ModelArguments& model);

}  // namespace tierup::cli
