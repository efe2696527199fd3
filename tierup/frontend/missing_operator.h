// MissingOperator: what a program names and this build lacks; collected whole, reported at load.
#pragma once

#include <string>
#include <vector>

#include "tierup/ir/source.h"

namespace tierup::frontend {

struct MissingOperator {
  std::string name;       // "aten::foo", "torchvision::bar", "higher_order::scan".
  std::string reason;     // One sentence, or the list of overloads that did not match.
  ir::SourceRange range;  // Where the program calls it first.
};

}  // namespace tierup::frontend
