// The text form of graphs: what dumps show and what pass tests are written in.
//
//   graph @forward(%x : Tensor, %n : int) {
//     %1 : int = prim::Constant[value=2]()
//     %y : Tensor = prim::Loop(%n, %go, %x)
//       block0(%i : int, %acc : Tensor):
//         %5 : Tensor = aten::mul.Scalar(%acc, %1)
//         -> (%go, %5)
//     return (%y)
//   }
//
// Operators always carry their overload. A value is written by its name, or by its id where it
// has none; a name that several values share is followed by "#id". Never an address.
#pragma once

#include <string>

#include "tierup/ir/graph.h"

namespace tierup::ir {

struct TextOptions {
  bool ranges = false;  // A comment "# model.py:12" behind each node that has a range.
  bool ids = false;     // "#id" behind every name.
  // Receives constants that have no text (large tensors, objects, functions), written "<Tensor $0>"
  // by their place here; parse_graph takes them back. Without it they are only described.
  std::vector<IValue>* constants = nullptr;
};

std::string print_graph(const Graph& graph, const TextOptions& options = {});
// One node with its blocks, as print_graph writes it, without the newline at its end.
std::string print_node(const Node& node, const TextOptions& options = {});

// Pieces of the text form: the shortest digits that read back to the same double, with a point or
// exponent ("1.", "1e-05", "inf", "nan"); and a text in double quotes with escapes.
std::string float_text(double value);
std::string quote_text(std::string_view text);

}  // namespace tierup::ir
