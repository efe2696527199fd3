#include "tierup/passes/core/value_forms.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Value;
using ops::PromotionCategory;
using ops::ValueForm;

namespace {

Shape shape_of(const TensorImpl& tensor) {
  std::vector<Dim> dims;
  for (const int64_t size : tensor.sizes) dims.push_back({Dim::Kind::kStatic, size});
  return dims;
}

const Value* first_tensor(const ir::Node& node) {
  for (const Value* input : node.inputs()) {
    if (input->type()->is(TypeKind::kTensor)) return input;
  }
  return nullptr;
}

}  // namespace

const ValueForm& ValueForms::form(const Value* value) { return belief(value).form; }
const Shape& ValueForms::shape(const Value* value) { return belief(value).shape; }

void ValueForms::set(const Value* value, ValueForm form, Shape shape) {
  beliefs_[value] = {form, std::move(shape)};
}

const ValueForms::Belief& ValueForms::belief(const Value* value) {
  const auto found = beliefs_.find(value);
  if (found != beliefs_.end()) return found->second;
  Belief belief = believed(value);
  return beliefs_.insert_or_assign(value, std::move(belief)).first->second;
}

ValueForms::Belief ValueForms::believed(const Value* value) const {
  Belief belief;
  if (const IValue* constant = constant_of(value)) {
    if (const TensorImpl* tensor = constant->tensor_impl()) {
      return {ops::form_of(*tensor), shape_of(*tensor)};
    }
    return belief;
  }
  if (!value->type()->is(TypeKind::kTensor)) return belief;
  const TensorFacts& facts = value->type()->facts();
  const TensorFacts* hint = hints_.find(value);
  // What was seen says more than a symbol.
  belief.shape = hint != nullptr && hint->sizes ? hint->sizes : facts.sizes;
  if (facts.dtype) {
    belief.form.dtype = *facts.dtype;
  } else if (hint != nullptr && hint->dtype) {
    belief.form.dtype = *hint->dtype;
  } else if (value->node() != nullptr && value->node()->is(ir::NodeKind::kOp)) {
    // Most operators stay in the dtype of what they are given.
    const Value* given = first_tensor(*value->node());
    const auto known = given == nullptr ? beliefs_.end() : beliefs_.find(given);
    if (known != beliefs_.end()) belief.form.dtype = known->second.form.dtype;
  }
  if (belief.shape && belief.shape->empty()) belief.form.category = PromotionCategory::kZeroDim;
  return belief;
}

Shape broadcast(const Shape& a, const Shape& b) {
  if (!a || !b) return std::nullopt;
  const auto& longer = a->size() >= b->size() ? *a : *b;
  const auto& shorter = a->size() >= b->size() ? *b : *a;
  std::vector<Dim> dims = longer;
  const size_t lead = longer.size() - shorter.size();
  const Dim one{Dim::Kind::kStatic, 1};
  for (size_t d = 0; d < shorter.size(); ++d) {
    Dim& dim = dims[lead + d];
    if (dim == shorter[d] || shorter[d] == one) continue;
    if (dim == one) {
      dim = shorter[d];
    } else if (dim.kind != Dim::Kind::kStatic) {
      dim = shorter[d].kind == Dim::Kind::kStatic ? shorter[d] : Dim{};
    }
  }
  return dims;
}

bool differ(const Dim& a, const Dim& b) {
  if (a == b || a.kind == Dim::Kind::kUnknown || b.kind == Dim::Kind::kUnknown) return false;
  // Symbols stand for sizes that were seen to be more than one.
  const Dim one{Dim::Kind::kStatic, 1};
  return (a.kind == Dim::Kind::kStatic && b.kind == Dim::Kind::kStatic) || a == one || b == one;
}

bool differ(const Shape& a, const Shape& b) {
  if (!a || !b) return false;
  return a->size() != b->size() ||
         !std::equal(a->begin(), a->end(), b->begin(),
                     [](const Dim& x, const Dim& y) { return !differ(x, y); });
}

}  // namespace tierup::passes
