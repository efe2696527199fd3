// How the front end reports a place in a source: name, line, column, the line and a caret.
#pragma once

#include <string>
#include <string_view>

#include "tierup/base/error.h"
#include "tierup/ir/source.h"

namespace tierup::frontend::torchscript {

// Throws Error(code, message) whose context is the place: "code/a.py:3:7", the line, a caret.
[[noreturn]] void fail_at(const ir::Source& source, size_t begin, size_t end, std::string message,
                          ErrorCode code = ErrorCode::kSyntax);

}  // namespace tierup::frontend::torchscript
