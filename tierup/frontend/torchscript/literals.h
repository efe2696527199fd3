// The values of number and string tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tierup/frontend/torchscript/ast.h"

namespace tierup::frontend::torchscript {

// Sets kind, integer and floating of `expr` from its text, a number token ("017", "1e-5", "2.j")
// that may carry a folded minus sign. Returns an empty text, or what is wrong with it.
std::string_view decode_number(Expr& expr);

// What stands between the quotes of a string token, if it has no escapes.
std::optional<std::string_view> plain_string(std::string_view token);

// Appends the bytes of a string token (with its quotes) to `out`. Returns an empty text, or what
// is wrong; `bad_offset` is then the place within the token.
std::string decode_string(std::string_view token, std::string& out, size_t& bad_offset);

}  // namespace tierup::frontend::torchscript
