#include "tierup/frontend/exported/fast_checks.h"

#include <array>
#include <limits>
#include <string_view>

namespace tierup::frontend::exported {

std::optional<FastChecks> FastChecks::make(const InputChecks& checks, const CheckOptions& options) {
  if (checks.symbols_.size() > kMaxSymbols) return std::nullopt;
  FastChecks fast;
  for (const InputLeaf& leaf : checks.leaves_) {
    if (!fast.add_leaf(leaf)) return std::nullopt;
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  fast.bounds_.assign(checks.symbols_.size(), {0, kMost});
  for (const InputChecks::NamedRange& named : checks.ranges_) {
    if (!named.expression.is_symbol()) return std::nullopt;
    Bounds& bounds = fast.bounds_[named.expression.symbol];
    const int64_t low = named.range.low.value_or(0);
    if (options.strict_ranges || low > 2) bounds.low = low;
    bounds.high = named.range.high.value_or(kMost);
  }
  if (!options.guards) return fast;
  for (const InputChecks::Guard& guard : checks.guards_) {
    if (!fast.add_guard(checks, guard.expression)) return std::nullopt;
  }
  return fast;
}

bool FastChecks::add_leaf(const InputLeaf& leaf) {
  if (leaf.kind != Argument::Kind::kTensor || leaf.is_constant || !leaf.is_used) return false;
  leaves_.push_back(
      {leaf.dtype, static_cast<uint32_t>(sizes_.size()), static_cast<uint32_t>(leaf.sizes.size())});
  for (const Expression& size : leaf.sizes) {
    if (size.is_symbol()) {
      sizes_.push_back({true, static_cast<int64_t>(size.symbol)});
    } else if (size.function == "Number" && !size.number.is_float) {
      sizes_.push_back({false, size.number.integer});
    } else {
      return false;
    }
  }
  return true;
}

std::optional<FastChecks::Term> FastChecks::term_of(const InputChecks& checks,
                                                    const Expression& expression) {
  if (expression.function == "Number" && !expression.number.is_float) {
    return Term{false, 0, 0, expression.number.integer};
  }
  if (!expression.is_symbol()) return std::nullopt;
  const auto& slot = checks.guard_slots_[expression.symbol];
  if (!slot || slot->second < 0) return std::nullopt;
  const InputLeaf& leaf = checks.leaves_[slot->first];
  if (static_cast<size_t>(slot->second) >= leaf.sizes.size()) return std::nullopt;
  return Term{true, static_cast<uint32_t>(slot->first), static_cast<uint32_t>(slot->second), 0};
}

bool FastChecks::add_guard(const InputChecks& checks, const Expression& expression) {
  struct Named {
    std::string_view function;
    Relation relation;
    bool swapped;
  };
  constexpr auto kRelations = std::to_array<Named>({
      {"Equality", Relation::kEqual, false},
      {"Unequality", Relation::kUnequal, false},
      {"StrictLessThan", Relation::kLess, false},
      {"LessThan", Relation::kLessEqual, false},
      {"StrictGreaterThan", Relation::kLess, true},
      {"GreaterThan", Relation::kLessEqual, true},
  });
  if (expression.operands.size() != 2) return false;
  const auto left = term_of(checks, expression.operands[0]);
  const auto right = term_of(checks, expression.operands[1]);
  if (!left || !right) return false;
  for (const Named& named : kRelations) {
    if (named.function != expression.function) continue;
    guards_.push_back(named.swapped ? Guard{named.relation, *right, *left}
                                    : Guard{named.relation, *left, *right});
    return true;
  }
  return false;
}

bool FastChecks::hold(std::span<const IValue> values) const {
  if (values.size() != leaves_.size()) return false;
  std::array<int64_t, kMaxSymbols> symbols;
  symbols.fill(-1);
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    const TensorImpl* tensor = values[i].tensor_impl();
    if (tensor == nullptr || tensor->dtype != leaf.dtype || tensor->sizes.size() != leaf.rank) {
      return false;
    }
    for (uint32_t d = 0; d < leaf.rank; ++d) {
      const Size& size = sizes_[leaf.first_size + d];
      const int64_t found = tensor->sizes[d];
      if (!size.is_symbol) {
        if (found != size.value) return false;
        continue;
      }
      const auto symbol = static_cast<size_t>(size.value);
      if (symbols[symbol] < 0) {
        if (found < bounds_[symbol].low || found > bounds_[symbol].high) return false;
        symbols[symbol] = found;
      } else if (symbols[symbol] != found) {
        return false;
      }
    }
  }
  return guards_hold(values);
}

bool FastChecks::guards_hold(std::span<const IValue> values) const {
  const auto value_of = [&](const Term& term) {
    return term.is_size ? values[term.leaf].tensor_impl()->sizes[term.dim] : term.number;
  };
  for (const Guard& guard : guards_) {
    const int64_t left = value_of(guard.left);
    const int64_t right = value_of(guard.right);
    bool holds = false;
    switch (guard.relation) {
      case Relation::kEqual: holds = left == right; break;
      case Relation::kUnequal: holds = left != right; break;
      case Relation::kLess: holds = left < right; break;
      case Relation::kLessEqual: holds = left <= right; break;
    }
    if (!holds) return false;
  }
  return true;
}

}  // namespace tierup::frontend::exported
