// einsum: the gradient of one operand is an einsum of the result's gradient and the other operands,
// two factors at a time.
//
// Labels that stand in no other operand and not in the result are spread afterwards, labels that
// stand twice in the operand put the gradient on a diagonal.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// One letter for each dimension; those of an ellipsis have letters that the equation does not use.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

class Parser {
 public:
  Parser(GradContext& c, std::string_view text) : context_(c) {
    for (const char ch : text)
      if (ch != ' ') text_.push_back(ch);
    for (char ch = 'A'; ch <= 'z'; ++ch) {
      const bool is_letter = (ch <= 'Z') || (ch >= 'a');
      if (is_letter && text_.find(ch) == std::string::npos) free_.push_back(ch);
    }
  }

  Equation parse() {
    const size_t arrow = text_.find("->");
    const std::string left = text_.substr(0, arrow);
    std::vector<std::string> parts(1);
    for (const char ch : left) {
      if (ch == ',')
        parts.emplace_back();
      else
        parts.back().push_back(ch);
    }
    Equation equation;
    for (size_t k = 0; k < parts.size(); ++k) {
      const size_t rank = context_.shape(1, k).size();
      equation.operands.push_back(without_ellipsis(parts[k], rank, true));
    }
    equation.result = arrow == std::string::npos
                          ? implied(left)
                          : without_ellipsis(text_.substr(arrow + 2), 0, false);
    return equation;
  }

 private:
  // The last dimensions of ellipses stand below each other.
  std::string without_ellipsis(std::string part, size_t rank, bool is_operand) {
    const size_t at = part.find("...");
    if (at == std::string::npos) return part;
    part.erase(at, 3);
    const size_t hidden = is_operand ? rank - part.size() : longest_;
    longest_ = std::max(longest_, hidden);
    std::string letters;
    for (size_t i = hidden; i-- > 0;) letters.push_back(free_.at(i));
    return part.insert(at, letters);
  }
  // Labels that stand once, in alphabetical order, behind those of the ellipsis.
  std::string implied(const std::string& left) const {
    std::string result;
    for (size_t i = longest_; i-- > 0;) result.push_back(free_.at(i));
    for (char ch = 'A'; ch <= 'z'; ++ch)
      if (std::count(left.begin(), left.end(), ch) == 1) result.push_back(ch);
    return result;
  }

  GradContext& context_;
  std::string text_;
  std::string free_;
  size_t longest_ = 0;
};

// A factor of a product, and its labels.
struct Factor {
  std::string labels;
  Term value;
};

// The factors around an operand. Operands are multiplied from left to right, as in the forward
// pass: what stands left of one is multiplied once, and the gradient goes from the result through
// each on the right. A product of all factors but one at a time would hold labels of all of them
// at once.
class Chain {
 public:
  Chain(GradContext& c, const Equation& e) : context_(c), equation_(e) {}

  // What the gradient of operand `k` is a product of.
  std::vector<Factor> around(size_t k) {
    std::vector<Factor> factors{behind(k)};
    if (k > 0) factors.push_back(before(k));
    return factors;
  }

  static Term multiplied(GradContext& c, const std::vector<Factor>& factors,
                         const std::string& target) {
    std::string equation;
    std::vector<GradValue> values;
    for (const Factor& factor : factors) {
      equation += (equation.empty() ? "" : ",") + factor.labels;
      values.push_back(factor.value);
    }
    equation += "->" + target;
    return call(c, "aten::einsum", equation.c_str(), std::move(values));
  }

 private:
  // In the dtype of the result, which all factors of a product have.
  Factor operand(size_t k) const {
    const Term x = arg(context_, 1, k).conj();
    const ScalarType dtype = context_.result_dtype();
    const bool is_other = context_.dtype(1, k) != dtype;
    return {equation_.operands[k], is_other ? x.then("aten::to.dtype", dtype) : x};
  }
  // Labels of the product of the first `k` operands that something after them asks for.
  std::string labels_before(size_t k) const {
    std::string later = equation_.result;
    for (size_t j = k; j < equation_.operands.size(); ++j) later += equation_.operands[j];
    std::string labels;
    for (size_t j = 0; j < k; ++j) {
      for (const char label : equation_.operands[j]) {
        const bool is_new = labels.find(label) == std::string::npos;
        if (is_new && later.find(label) != std::string::npos) labels.push_back(label);
      }
    }
    return labels;
  }
  // The product of the first `k` operands, at least one.
  Factor before(size_t k) {
    if (products_.empty()) products_.push_back(operand(0));
    while (products_.size() < k) {
      const size_t done = products_.size();
      const std::string labels = labels_before(done + 1);
      products_.push_back(
          {labels, multiplied(context_, {products_.back(), operand(done)}, labels)});
    }
    return products_[k - 1];
  }
  // The gradient of the product of the first k + 1 operands.
  Factor behind(size_t k) {
    if (gradients_.empty()) gradients_.push_back({equation_.result, grad(context_)});
    while (gradients_.size() < equation_.operands.size() - k) {
      const size_t next = equation_.operands.size() - gradients_.size();
      const std::string labels = labels_before(next);
      gradients_.push_back(
          {labels, multiplied(context_, {gradients_.back(), operand(next)}, labels)});
    }
    return gradients_[equation_.operands.size() - k - 1];
  }

  GradContext& context_;
  const Equation& equation_;
  std::vector<Factor> products_;   // Of the first, the first two, ...
  std::vector<Factor> gradients_;  // Of the product of all, all but the last, ...
};

// The gradient with its labels in the order of the operand, each once, and spread where nothing but
// this operand has a label.
Term spread_over(GradContext& c, Chain& chain, const std::string& operand, size_t k,
                 const std::string& unique) {
  const std::vector<Factor> factors = chain.around(k);
  const auto is_there = [&](char label) {
    return std::any_of(factors.begin(), factors.end(), [&](const Factor& factor) {
      return factor.labels.find(label) != std::string::npos;
    });
  };
  std::string target;
  std::copy_if(unique.begin(), unique.end(), std::back_inserter(target), is_there);
  Term g = Chain::multiplied(c, factors, target);
  IntVector sizes;
  for (size_t d = 0; d < unique.size(); ++d) {
    // A label of size 1 in the factors alone is spread, too; of size 1 here, what it was spread
    // over is summed.
    const int64_t size = c.shape(1, k)[operand.find(unique[d])];
    const bool is_kept = is_there(unique[d]);
    if (!is_kept) g = unsqueeze(g, static_cast<int64_t>(d));
    if (is_kept && size == 1) g = sum_over(g, IntVector{static_cast<int64_t>(d)}, true);
    sizes.push_back(size);
  }
  return expand(g, sizes);
}

void einsum(GradContext& c) {
  const Equation e = Parser(c, c.string_of(0)).parse();
  Chain chain(c, e);
  for (size_t k = 0; k < e.operands.size(); ++k) {
    c.give(1, k, [&] {
      std::string held;
      for (const char label : e.operands[k])
        if (held.find(label) == std::string::npos) held.push_back(label);
      Term g = spread_over(c, chain, e.operands[k], k, held);
      for (size_t d = 0; d < e.operands[k].size(); ++d) {
        const char label = e.operands[k][d];
        const size_t first = held.find(label);
        if (first >= d) continue;  // The first of its kind.
        g = g.then("aten::movedim.int", static_cast<int64_t>(first), -1)
                .then("aten::diag_embed", 0, static_cast<int64_t>(first), static_cast<int64_t>(d));
        held.insert(held.begin() + static_cast<std::ptrdiff_t>(d), label);
      }
      return g;
    });
  }
}

constexpr DerivativeRow kRows[] = {{"aten::einsum", &einsum}};

}  // namespace

std::span<const DerivativeRow> einsum_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
