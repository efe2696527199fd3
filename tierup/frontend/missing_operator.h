// MissingOperator: what a program names and this build lacks; collected whole, reported at load.
#pragma once

#include <string>
#include <vector>

#include "tierup/ir/source.h"

namespace tierup::frontend {

struct MissingOperator {
  // "aten::foo", "torchvision::bar", "higher_order::scan"; of a function that does not compile, its
  // name.
  std::string name;
  std::string reason;     // One sentence, or the list of overloads that did not match.
  ir::SourceRange range;  // Where the program first calls it.
  // Every way to it goes through a branch or loop, so runs may do without it.
  bool is_conditional = false;
};

}  // namespace tierup::frontend
