#include "tierup/autodiff/waiting_products.h"

#include <algorithm>

#include "tierup/autodiff/accumulate.h"
#include "tierup/autodiff/eager_builder.h"
#include "tierup/kernels/gemm/add_product.h"

namespace tierup::autodiff {
namespace {

bool is_term(const Tensor& sum, const Tensor& a, const Tensor& b) {
  const ScalarType dtype = sum.dtype();
  return (dtype == ScalarType::kFloat || dtype == ScalarType::kDouble) && a.dtype() == dtype &&
         b.dtype() == dtype && sum.dim() == 2 && a.dim() == 2 && b.dim() == 2 &&
         a.size(0) == sum.size(0) && b.size(1) == sum.size(1) && a.size(1) == b.size(0);
}

}  // namespace

bool WaitingProducts::take(Tensor& sum, const Tensor& a, const Tensor& b,
                           ops::RunContext& context) {
  if (!sum.defined() || !is_term(sum, a, b)) return false;
  terms_.push_back({a, b});
  numbers_ += a.numel() + b.numel();
  if (numbers_ >= sum.numel()) flush(sum, context);
  return true;
}

void WaitingProducts::flush(Tensor& sum, ops::RunContext& context) {
  if (terms_.empty()) return;
  const Term term = terms_.size() == 1 ? terms_.front() : joined(context);
  terms_.clear();
  numbers_ = 0;
  const bool in_place = context.tape == nullptr && is_sole(sum);
  if (in_place && kernels::add_product(sum, term.a, term.b)) return;
  sum = call_named("aten::addmm", {sum, term.a, term.b}, context).to_tensor();
}

// One product of all terms' rows.
WaitingProducts::Term WaitingProducts::joined(ops::RunContext& context) {
  const auto turned = [&](const Tensor& matrix) {
    return call_named("aten::transpose.int", {matrix, 0, 1}, context).to_tensor();
  };
  const auto together = [&](std::vector<Tensor> rows) {
    return call_named("aten::cat", {make_tensor_list(std::move(rows)), 0}, context).to_tensor();
  };
  std::vector<Tensor> left;
  std::vector<Tensor> right;
  for (const Term& term : terms_) {
    left.push_back(turned(term.a));
    right.push_back(term.b);
  }
  return {turned(together(std::move(left))), together(std::move(right))};
}

}  // namespace tierup::autodiff
