// Function: a callable with a graph: a method or free function of a program.
//
// The front ends derive from it; the runtime and the passes know only this face. What a
// kCallFunction node names and what a class's methods are (tensor/type.h's Callable) is always a
// Function.
#pragma once

#include <memory>

#include "tierup/ir/graph.h"
#include "tierup/ir/schema.h"
#include "tierup/tensor/type.h"

namespace tierup::ir {

// Thread rule: both accessors may be called from any thread at any time.
class Function : public Callable {
 public:
  using Callable::Callable;
  // Parameters (a method's first is `self`), defaults and the one return.
  virtual const Schema& schema() const = 0;
  // The body, made on the first call and the same object ever after. Its inputs are the schema's
  // arguments, its one output the result. Throws kSyntax if the source does not type-check.
  virtual const std::shared_ptr<const Graph>& graph() const = 0;
};

// The function behind a callable. Throws kInternal if it is none.
const Function& as_function(const Callable& callable);

}  // namespace tierup::ir
