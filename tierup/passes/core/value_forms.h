// ValueForms: what passes believe of tensors' dtypes and shapes in a graph.
//
// From types and hints where they say something, from constants, and through operators that can be
// asked; else a guess. Beliefs choose what is compiled; steps check the
// actual inputs themselves, so a wrong one costs time and nothing else.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "tierup/ir/value_hints.h"
#include "tierup/ops/regions/pointwise_meaning.h"

namespace tierup::passes {

using Shape = std::optional<std::vector<Dim>>;

class ValueForms {
 public:
  // The hints must outlive this.
  explicit ValueForms(const ir::ValueHints& hints) : hints_(hints) {}

  // Values are to be asked for in program order.
  const ops::ValueForm& form(const ir::Value* value);
  const Shape& shape(const ir::Value* value);
  // Of a value that was asked for or set before.
  const Shape& known_shape(const ir::Value* value) const { return beliefs_.at(value).shape; }
  // What is known from elsewhere.
  void set(const ir::Value* value, ops::ValueForm form, Shape shape);

 private:
  struct Belief {
    ops::ValueForm form;
    Shape shape;
  };
  const Belief& belief(const ir::Value* value);
  Belief believed(const ir::Value* value) const;
  const ir::ValueHints& hints_;
  std::unordered_map<const ir::Value*, Belief> beliefs_;
};

// Of the result of a point-wise operator: dimensions that are not sure are unknown.
Shape broadcast(const Shape& a, const Shape& b);
// Whether two shapes, two dimensions, cannot be the same.
bool differ(const Dim& a, const Dim& b);
bool differ(const Shape& a, const Shape& b);

}  // namespace tierup::passes
