// match_text: whether a printed graph is as the directives check, next, not and count say.
//
//   check: PATTERN   some line behind the last match holds the pattern
//   next: PATTERN    the very next line does
//   not: PATTERN     no line between the last match and the next one (or the end) does
//   count: N PATTERN exactly N lines of the whole text do
//
// In a pattern, "$name" stands for one value: the first match fixes which; "..." stands for
// anything.
#pragma once

#include <string>
#include <vector>

#include "tests/tir/tir_file.h"

namespace tierup::tests {

// What is wrong, with line numbers of the file; empty if nothing is.
std::vector<std::string> match_text(const std::string& text,
                                    const std::vector<Directive>& directives);

}  // namespace tierup::tests
