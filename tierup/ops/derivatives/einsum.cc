// einsum: the gradient of one operand is an einsum of the result's gradient and the other operands.
//
// Labels that stand in no other operand and not in the result are spread afterwards, labels that
// stand twice in the operand put the gradient on a diagonal.
#include <algorithm>
#include <string>

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

// The gradient with its labels in the order of the operand, each once, and spread where nothing but
// this operand has a label.
Term spread_over(GradContext& c, const Equation& e, size_t k, const std::string& unique) {
  std::string inputs = e.result;
  std::vector<GradValue> operands{grad(c)};
  for (size_t j = 0; j < e.operands.size(); ++j) {
    if (j == k) continue;
    inputs += "," + e.operands[j];
    operands.push_back(arg(c, 1, j).conj());
  }
  std::string target;
  for (const char label : unique)
    if (inputs.find(label) != std::string::npos) target.push_back(label);
  const std::string equation = inputs + "->" + target;
  Term g = call(c, "aten::einsum", equation.c_str(), std::move(operands));
  for (size_t d = 0; d < unique.size(); ++d)
    if (target.find(unique[d]) == std::string::npos) g = unsqueeze(g, static_cast<int64_t>(d));
  IntVector sizes;
  for (const char label : unique) {
    const bool is_there = target.find(label) != std::string::npos;
    sizes.push_back(is_there ? -1 : c.shape(1, k)[e.operands[k].find(label)]);
  }
  return expand(g, sizes);
}

void einsum(GradContext& c) {
  const Equation e = Parser(c, c.string_of(0)).parse();
  for (size_t k = 0; k < e.operands.size(); ++k) {
    c.give(1, k, [&] {
      std::string held;
      for (const char label : e.operands[k])
        if (held.find(label) == std::string::npos) held.push_back(label);
      Term g = spread_over(c, e, k, held);
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
