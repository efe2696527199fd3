// Errors of the command itself, as the library's: main() reports both alike.
#pragma once

#include <fmt/format.h>

#include "tierup/error.h"

namespace tierup::cli {

template <typename... Args>
[[noreturn]] void fail(v1::ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw v1::Error(code, fmt::format(text, std::forward<Args>(args)...));
}

// Throws unless `holds`.
template <typename... Args>
void require(bool holds, v1::ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) fail(code, text, std::forward<Args>(args)...);
}

}  // namespace tierup::cli
