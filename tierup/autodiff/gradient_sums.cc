#include "tierup/autodiff/gradient_sums.h"

#include <algorithm>
#include <map>

#include "tierup/autodiff/eager_builder.h"

namespace tierup::autodiff {
namespace {

// A term of a sum: rows' times rows, or the sum of rows.
struct Term {
  TraceId left = 0;
  TraceId right = 0;
};

class SumJoiner {
 public:
  SumJoiner(CallTrace& trace, ops::RunContext& context) : trace_(trace), context_(context) {
    const auto& calls = trace.backward_calls();
    for (size_t i = 0; i < calls.size(); ++i) {
      for (const TracedResult& result : calls[i].results) {
        for (const TraceId id : result.tensors) maker_[id] = i;
      }
    }
  }

  TraceId join_products(TraceId gradient) {
    const auto products = terms_of(gradient, &SumJoiner::product_of);
    return products && is_worth(*products, gradient) ? product_of_all(*products) : gradient;
  }
  // Sums of the rows that a product has brought together: a bias beside its weight.
  TraceId join_sums(TraceId gradient) {
    const auto sums = terms_of(gradient, &SumJoiner::row_sum_of);
    return sums && joined_.contains(ids_of(*sums, &Term::left)) ? sum_of_all(*sums, gradient)
                                                                : gradient;
  }

 private:
  // The call that made a value, if it is one of this row; else null.
  const TracedCall* made_by(TraceId id, const ops::Op& op) const {
    const auto found = maker_.find(id);
    if (found == maker_.end()) return nullptr;
    const TracedCall& call = trace_.backward_calls()[found->second];
    return call.op == &op ? &call : nullptr;
  }
  static bool is_number(const TracedArg& arg, int64_t value) {
    return arg.kind == TracedArg::Kind::kConstant && arg.constant.is_int() &&
           arg.constant.to_int() == value;
  }
  const Tensor& tensor(TraceId id) const { return trace_.tensors()[id]; }

  // The terms of a sum in the order in which they came. The chain may be long: no recursion into
  // its left side.
  void flatten(TraceId sum, std::vector<TraceId>& terms) const {
    while (const TracedCall* add = made_by(sum, ops::named_op("aten::add.Tensor"))) {
      const auto& args = add->args;
      const bool is_plain =
          args[0].kind == TracedArg::Kind::kTensor && args[1].kind == TracedArg::Kind::kTensor &&
          is_number(args[2], 1) &&
          std::ranges::equal(tensor(args[0].tensor).sizes(), tensor(args[1].tensor).sizes());
      if (!is_plain) break;
      terms.push_back(args[1].tensor);
      sum = args[0].tensor;
    }
    terms.push_back(sum);
    std::ranges::reverse(terms);
  }

  // Nothing if the value is no sum of such terms.
  std::optional<std::vector<Term>> terms_of(TraceId sum,
                                            std::optional<Term> (SumJoiner::*find)(TraceId)
                                                const) const {
    std::vector<TraceId> ids;
    flatten(sum, ids);
    if (ids.size() < 2) return std::nullopt;
    std::vector<Term> terms;
    for (const TraceId id : ids) {
      const std::optional<Term> term = (this->*find)(id);
      if (!term) return std::nullopt;
      if (!terms.empty() && !are_alike(terms.front(), *term)) return std::nullopt;
      terms.push_back(*term);
    }
    return terms;
  }
  bool are_alike(const Term& a, const Term& b) const {
    const auto same_columns = [&](TraceId x, TraceId y) {
      return tensor(x).dtype() == tensor(y).dtype() && tensor(x).dim() == tensor(y).dim() &&
             std::ranges::equal(tensor(x).sizes().subspan(1), tensor(y).sizes().subspan(1));
    };
    return same_columns(a.left, b.left) && same_columns(a.right, b.right);
  }

  // mm(transpose(left, 0, 1), right).
  std::optional<Term> product_of(TraceId id) const {
    const TracedCall* product = made_by(id, ops::named_op("aten::mm"));
    if (product == nullptr) return std::nullopt;
    const TracedCall* turned =
        made_by(product->args[0].tensor, ops::named_op("aten::transpose.int"));
    if (turned == nullptr || tensor(turned->args[0].tensor).dim() != 2) return std::nullopt;
    const bool is_turn = (is_number(turned->args[1], 0) && is_number(turned->args[2], 1)) ||
                         (is_number(turned->args[1], 1) && is_number(turned->args[2], 0));
    if (!is_turn) return std::nullopt;
    return Term{turned->args[0].tensor, product->args[1].tensor};
  }

  // sum(left, [0], keepdim), viewed as the gradient.
  std::optional<Term> row_sum_of(TraceId id) const {
    const TracedCall* view = made_by(id, ops::named_op("aten::reshape"));
    const TraceId summed = view != nullptr ? view->args[0].tensor : id;
    const TracedCall* sum = made_by(summed, ops::named_op("aten::sum.dim_IntList"));
    if (sum == nullptr || sum->args[1].list.size() != 1 || !is_number(sum->args[1].list[0], 0))
      return std::nullopt;
    const TraceId rows = sum->args[0].tensor;
    if (tensor(rows).dim() < 1 || tensor(rows).dtype() != tensor(id).dtype()) return std::nullopt;
    return Term{rows, rows};
  }

  // What is copied together against what adding up reads and writes.
  bool is_worth(const std::vector<Term>& terms, TraceId gradient) const {
    int64_t copied = 0;
    for (const Term& term : terms) copied += tensor(term.left).numel() + tensor(term.right).numel();
    return copied < 2 * static_cast<int64_t>(terms.size() - 1) * tensor(gradient).numel();
  }

  Tensor call(const ops::Op& op, std::vector<IValue> args) {
    for (size_t i = args.size(); i < op.schema().arguments.size(); ++i)
      args.push_back(*op.schema().arguments[i].default_value);
    IValue result;
    call_row(op, args, {&result, 1}, context_);
    return result.to_tensor();
  }

  static std::vector<TraceId> ids_of(const std::vector<Term>& terms, TraceId Term::*side) {
    std::vector<TraceId> ids;
    for (const Term& term : terms) ids.push_back(term.*side);
    return ids;
  }

  Tensor together(const std::vector<Term>& terms, TraceId Term::*side) {
    const std::vector<TraceId> ids = ids_of(terms, side);
    Tensor& joined = joined_[ids];
    if (joined.defined()) return joined;
    std::vector<Tensor> parts;
    for (const TraceId id : ids) parts.push_back(tensor(id));
    joined = call(ops::named_op("aten::cat"), {make_tensor_list(std::move(parts)), 0});
    return joined;
  }

  TraceId product_of_all(const std::vector<Term>& terms) {
    const Tensor left = together(terms, &Term::left);
    const Tensor right = together(terms, &Term::right);
    const Tensor turned = call(ops::named_op("aten::transpose.int"), {left, 0, 1});
    return *trace_.find(call(ops::named_op("aten::mm"), {turned, right}));
  }

  TraceId sum_of_all(const std::vector<Term>& terms, TraceId gradient) {
    const IntVector sizes(tensor(gradient).impl()->sizes);
    const Tensor rows = together(terms, &Term::left);
    const int64_t first[] = {0};
    const Tensor sum =
        call(ops::named_op("aten::sum.dim_IntList"), {rows, make_int_list(first), true});
    return *trace_.find(call(ops::named_op("aten::reshape"), {sum, make_int_list(sizes)}));
  }

  CallTrace& trace_;
  ops::RunContext& context_;
  std::unordered_map<TraceId, size_t> maker_;
  std::map<std::vector<TraceId>, Tensor> joined_;
};

}  // namespace

std::vector<TraceId> join_gradient_sums(CallTrace& trace, std::vector<TraceId> gradients,
                                        ops::RunContext& context) {
  SumJoiner joiner(trace, context);
  for (TraceId& gradient : gradients) gradient = joiner.join_products(gradient);
  for (TraceId& gradient : gradients) gradient = joiner.join_sums(gradient);
  return gradients;
}

}  // namespace tierup::autodiff
