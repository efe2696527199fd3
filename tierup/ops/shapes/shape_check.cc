#include "tierup/ops/shapes/shape_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace tierup::ops {
namespace {

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (const Dim& dim : sizes) {
    text += text.size() > 1 ? ", " : "";
    text += is_static(dim) ? fmt::format("{}", dim.value) : fmt::format("s{}", dim.value);
  }
  return text + "]";
}

// Gives sizes names, and notes what they stand for.
void rename(std::optional<Sizes>& sizes, BoundSymbols& bound, int64_t& symbols) {
  if (!sizes) return;
  for (Dim& dim : *sizes) {
    bound.bind(symbols, dim.value);
    dim = {Dim::Kind::kSymbol, symbols++};
  }
}

std::string tensor_mistake(const std::optional<Sizes>& claimed, const IValue& actual,
                           BoundSymbols& symbols) {
  const TensorImpl* tensor = actual.tensor_impl();
  if (!claimed || tensor == nullptr) return {};
  if (symbols.admits(*claimed, tensor->sizes)) return {};
  return fmt::format("its shape function says {}, but it is {}", text_of(*claimed),
                     shape_string(tensor->sizes));
}

std::string numbers_mistake(const Sizes& claimed, const IValue& actual, BoundSymbols& symbols) {
  IntVector items;
  for (const IValue& item : actual.to_list().items) items.push_back(item.to_int());
  if (symbols.admits(claimed, items)) return {};
  return fmt::format("its shape function says {}, but it gives {}", text_of(claimed),
                     shape_string(items));
}

std::string value_mistake(const ShapeValue& claimed, const IValue& actual, BoundSymbols& symbols) {
  if (actual.is_tensor()) return tensor_mistake(claimed.sizes, actual, symbols);
  if (actual.is_int() && claimed.number) {
    if (symbols.admits(*claimed.number, actual.to_int())) return {};
    return fmt::format("its shape function says {}, but it gives {}", text_of({*claimed.number}),
                       actual.to_int());
  }
  if (!actual.is_list()) return {};
  if (claimed.numbers) return numbers_mistake(*claimed.numbers, actual, symbols);
  if (!claimed.parts) return {};
  const auto& items = actual.to_list().items;
  if (items.size() != claimed.parts->size())
    return fmt::format("its shape function says {} parts, but there are {}", claimed.parts->size(),
                       items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    std::string mistake = tensor_mistake((*claimed.parts)[i], items[i], symbols);
    if (!mistake.empty()) return mistake;
  }
  return {};
}

}  // namespace

bool BoundSymbols::admits(const Dim& dim, int64_t size) {
  switch (dim.kind) {
    case Dim::Kind::kUnknown: return true;
    case Dim::Kind::kStatic: return dim.value == size;
    case Dim::Kind::kSymbol: return sizes_.emplace(dim.value, size).first->second == size;
  }
  return false;
}

bool BoundSymbols::admits(const Sizes& sizes, IntSpan actual) {
  if (sizes.size() != actual.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!admits(sizes[i], actual[i])) return false;
  }
  return true;
}

ShapeCheck::ShapeCheck(const Op& op, std::span<const IValue> args) : op_(op) {
  const ir::Schema& schema = op.schema();
  for (size_t i = 0; i < args.size() && i < schema.arguments.size(); ++i) {
    const bool is_kept = schema.arguments[i].alias.is_write && args[i].tensor_impl() != nullptr;
    if (is_kept && !changes_geometry(op))
      written_.emplace_back(args[i].to_tensor(), args[i].tensor_impl()->sizes);
  }
  const ShapeFn function = shape_function(op);
  if (function == nullptr || args.size() != schema.arguments.size()) return;
  for (const Symbols which : {Symbols::kNone, Symbols::kOfFirst, Symbols::kOfAll})
    answers_.push_back(ask(function, args, which));
}

ShapeCheck::Answer ShapeCheck::ask(ShapeFn function, std::span<const IValue> args,
                                   Symbols which) const {
  Answer answer;
  int64_t symbols = 0;
  std::vector<ShapeValue> values;
  for (const IValue& arg : args) {
    ShapeValue& value = values.emplace_back(shape_of_constant(arg));
    if (which == Symbols::kNone || (which == Symbols::kOfFirst && values.size() > 1)) continue;
    rename(value.sizes, answer.symbols, symbols);
    if (value.parts) {
      for (auto& part : *value.parts) rename(part, answer.symbols, symbols);
    }
  }
  answer.results.resize(op_.schema().returns.size());
  ShapeContext context{op_.schema(), values, answer.results, symbols};
  function(context);
  return answer;
}

std::string ShapeCheck::mistake(std::span<const IValue> results) {
  for (const auto& [tensor, sizes] : written_) {
    if (!std::ranges::equal(tensor.sizes(), sizes))
      return "it gave a written argument other sizes, which its row does not say";
  }
  for (Answer& answer : answers_) {
    for (size_t i = 0; i < results.size() && i < answer.results.size(); ++i) {
      std::string mistake = value_mistake(answer.results[i], results[i], answer.symbols);
      if (!mistake.empty()) return mistake;
    }
  }
  return {};
}

}  // namespace tierup::ops
