// Lexer: the text of a TorchScript file to tokens, with Python's indentation.
//
// The tokens of a file are made at once. "is not" and "not in" stay two tokens each; the parser
// joins them. Comments vanish, except "# type: (...) -> T" and "# type: T", which are kept aside
// for the parser to ask for by position.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tierup/frontend/torchscript/ast.h"
#include "tierup/frontend/torchscript/symbol.h"
#include "tierup/ir/source.h"

namespace tierup::frontend::torchscript {

enum class TokenKind : uint8_t {
  kEnd,
  kNewline,
  kIndent,
  kDedent,
  kIdentifier,
  kKeyword,
  kNumber,
  kString,
  kOperator,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Symbol symbol;  // Of kKeyword and kOperator.
  Span span;
};

struct TypeComment {
  uint32_t hash = 0;  // Where the comment begins.
  Span text;          // What stands after "# type:".
};

struct TokenList {
  std::vector<Token> tokens;  // Ends with kNewline (if there is any line), kDedent..., kEnd.
  std::vector<TypeComment> type_comments;
};

// Tokens of source.text()[begin, end). Throws kSyntax, and kRecursionLimit for more than
// kMaxNesting open brackets or indentation levels.
TokenList tokenize(const ir::Source& source, Span range);

}  // namespace tierup::frontend::torchscript
