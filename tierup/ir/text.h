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

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// A constant as print_graph writes it behind "value=".
std::string print_constant(const IValue& value);

// What a text may refer to. All parts are optional; a name that is not found is an error.
struct TextContext {
  const OperatorLookup* operators = nullptr;
  std::function<TypePtr(std::string_view)> types;  // Classes, enums, named tuples.
  std::function<Ref<Callable>(std::string_view)> functions;
  const std::vector<IValue>* constants = nullptr;  // As print_graph filled it.
  bool ranges = false;                             // Read "# at model.py:12" comments.
  std::map<const Node*, int>* lines = nullptr;     // Receives the line of each node.
  int first_line = 1;                              // For errors.
};

// print_graph's reverse: print(parse(text)) == text for anything it wrote (with the same options,
// and the table of constants where one was needed). Throws kSyntax with line and column.
std::shared_ptr<Graph> parse_graph(std::string_view text, const TextContext& context = {});
// All graphs of a text, one after the other.
std::vector<std::shared_ptr<Graph>> parse_graphs(std::string_view text,
                                                 const TextContext& context = {});

// One constant ("list[int](1, 2)"), with nothing behind it.
IValue parse_constant_text(std::string_view text, const TextContext& context = {});
TypePtr parse_type_text(std::string_view text, const TextContext& context = {});

// Pieces of the text form: the shortest digits that read back to the same double, with a point or
// exponent ("1.", "1e-05", "inf", "nan"); and a text in double quotes with escapes.
std::string float_text(double value);
std::string quote_text(std::string_view text);

}  // namespace tierup::ir
