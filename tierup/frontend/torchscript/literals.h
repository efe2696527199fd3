// The values of number and string tokens.
#pragma once

#include <string>
#include <string_view>

#include "tierup/frontend/torchscript/ast.h"

namespace tierup::frontend::torchscript {

// Sets kind, integer, floating and text of `expr` from a number token ("017", "1e-5", "2.j"), which
// may carry a folded minus sign. Returns an empty text, or what is wrong with it.
std::string decode_number(std::string_view token, Expr& expr);

// Appends the bytes of a string token (with its quotes) to `out`. Returns an empty text, or what
// is wrong; `bad_offset` is then the place within the token.
std::string decode_string(std::string_view token, std::string& out, size_t& bad_offset);

}  // namespace tierup::frontend::torchscript
