// Arithmetic on sizes, and the functions that say little: as large as another, broadcast.
#include "tierup/ops/shapes/shape_context.h"

#include <algorithm>

#include "tierup/ops/shapes/shape_functions.h"

namespace tierup::ops {
namespace {

constexpr Dim kOne{Dim::Kind::kStatic, 1};

// A product of numbers and symbols.
struct Monomial {
  int64_t factor = 1;
  std::vector<int64_t> symbols;  // Sorted.
};

std::optional<Monomial> monomial_of(std::span<const Dim> sizes) {
  Monomial result;
  for (const Dim& dim : sizes) {
    if (dim.kind == Dim::Kind::kUnknown) return std::nullopt;
    if (dim.kind == Dim::Kind::kSymbol) {
      result.symbols.push_back(dim.value);
    } else if (__builtin_mul_overflow(result.factor, dim.value, &result.factor)) {
      return std::nullopt;
    }
  }
  std::sort(result.symbols.begin(), result.symbols.end());
  return result;
}

Dim dim_of(const ShapeContext& context, const Monomial& product) {
  if (product.symbols.empty()) return static_dim(product.factor);
  if (product.factor == 0) return static_dim(0);
  if (product.factor == 1 && product.symbols.size() == 1)
    return {Dim::Kind::kSymbol, product.symbols[0]};
  return context.fresh();
}

Dim broadcast_dim(const ShapeContext& context, const Dim& a, const Dim& b) {
  if (a == b || b == kOne) return a;
  if (a == kOne) return b;
  // A size other than one does not change; the other is one, or the same.
  if (is_static(a)) return a;
  if (is_static(b)) return b;
  return context.fresh();
}

}  // namespace

const ShapeValue* ShapeContext::named(std::string_view name) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (schema.arguments[i].name == name) return &args[i];
  }
  return nullptr;
}

std::optional<int64_t> ShapeContext::int_named(std::string_view name) const {
  const ShapeValue* value = named(name);
  if (value == nullptr || value->constant == nullptr || !value->constant->is_int())
    return std::nullopt;
  return value->constant->to_int();
}

std::optional<bool> ShapeContext::bool_named(std::string_view name, bool otherwise) const {
  const ShapeValue* value = named(name);
  if (value == nullptr) return otherwise;
  if (value->constant == nullptr || !value->constant->is_bool()) return std::nullopt;
  return value->constant->to_bool();
}

std::optional<std::vector<int64_t>> constant_ints(const ShapeValue& value) {
  if (value.number && is_static(*value.number)) return std::vector<int64_t>{value.number->value};
  if (!value.numbers) return std::nullopt;
  std::vector<int64_t> result;
  for (const Dim& dim : *value.numbers) {
    if (!is_static(dim)) return std::nullopt;
    result.push_back(dim.value);
  }
  return result;
}

std::optional<size_t> place_of_dim(int64_t dim, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  const int64_t place = dim < 0 ? dim + size : dim;
  if (place < 0 || place >= size) return std::nullopt;
  return static_cast<size_t>(place);
}

Dim product_of(const ShapeContext& context, std::span<const Dim> sizes) {
  const auto product = monomial_of(sizes);
  return product ? dim_of(context, *product) : context.fresh();
}

Dim quotient_of(const ShapeContext& context, std::span<const Dim> sizes,
                std::span<const Dim> others) {
  const auto whole = monomial_of(sizes);
  const auto part = monomial_of(others);
  if (!whole || !part || part->factor == 0 || whole->factor % part->factor != 0)
    return context.fresh();
  Monomial rest{whole->factor / part->factor, {}};
  std::set_difference(whole->symbols.begin(), whole->symbols.end(), part->symbols.begin(),
                      part->symbols.end(), std::back_inserter(rest.symbols));
  const bool divides = std::includes(whole->symbols.begin(), whole->symbols.end(),
                                     part->symbols.begin(), part->symbols.end());
  return divides ? dim_of(context, rest) : context.fresh();
}

Sizes broadcast_sizes(const ShapeContext& context, const Sizes& a, const Sizes& b) {
  const Sizes& longer = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  Sizes result = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i)
    result[lead + i] = broadcast_dim(context, longer[lead + i], shorter[i]);
  return result;
}

namespace {

Sizes sizes_of(const TensorImpl& tensor) {
  Sizes result;
  for (const int64_t size : tensor.sizes) result.push_back(static_dim(size));
  return result;
}

}  // namespace

ShapeValue shape_of_constant(const IValue& value) {
  ShapeValue result;
  result.constant = &value;
  result.is_tensor = value.tensor_impl() != nullptr;
  if (result.is_tensor) result.sizes = sizes_of(*value.tensor_impl());
  if (value.is_int()) result.number = static_dim(value.to_int());
  if (!value.is_list()) return result;
  const auto& items = value.to_list().items;
  const auto all = [&](bool (*fits)(const IValue&)) {
    return std::all_of(items.begin(), items.end(), fits);
  };
  if (all([](const IValue& item) { return item.is_int(); })) {
    result.numbers.emplace();
    for (const IValue& item : items) result.numbers->push_back(static_dim(item.to_int()));
  } else if (all([](const IValue& item) { return item.tensor_impl() != nullptr; })) {
    result.parts.emplace();
    for (const IValue& item : items) result.parts->emplace_back(sizes_of(*item.tensor_impl()));
  }
  return result;
}

ShapeFn shape_function(const Op& op) {
  if (op.row().shape != nullptr) return op.row().shape;
  return op.body() != nullptr ? &shapes::broadcast : nullptr;
}

bool changes_geometry(const ir::Operator& op) {
  const auto& arguments = op.schema().arguments;
  const bool has_out = std::any_of(arguments.begin(), arguments.end(),
                                   [](const auto& argument) { return argument.is_out; });
  return has_out || op_of(op).facts().changes_geometry;
}

namespace shapes {

void same(ShapeContext& context) { context.results[0].sizes = context.args[0].sizes; }

void all_same(ShapeContext& context) {
  for (ShapeValue& result : context.results) result.sizes = context.args[0].sizes;
}

void other(ShapeContext& context) { context.results[0].sizes = context.args[1].sizes; }

void broadcast(ShapeContext& context) {
  std::optional<Sizes> sizes;
  for (const ShapeValue& arg : context.args) {
    if (!arg.is_tensor) continue;
    if (!arg.sizes) return;
    sizes = sizes ? broadcast_sizes(context, *sizes, *arg.sizes) : *arg.sizes;
  }
  context.results[0].sizes = std::move(sizes);
}

void filled(ShapeContext& context) {
  const ShapeValue* asked = context.named("size");
  if (asked == nullptr || !asked->numbers) return;
  Sizes sizes = *asked->numbers;
  for (Dim& dim : sizes) {
    if (dim.kind == Dim::Kind::kUnknown) dim = context.fresh();
  }
  context.results[0].sizes = std::move(sizes);
}

void square(ShapeContext& context) {
  Sizes sizes;
  for (const char* name : {"n", "m"}) {
    const ShapeValue* asked = context.named(name);
    if (asked != nullptr) sizes.push_back(asked->number.value_or(context.fresh()));
  }
  if (sizes.size() == 1) sizes.push_back(sizes.front());
  context.results[0].sizes = std::move(sizes);
}

void one_dimension(ShapeContext& context) { context.results[0].sizes = Sizes{context.fresh()}; }

void size(ShapeContext& context) {
  const auto& sizes = context.args[0].sizes;
  const auto dim = context.int_named("dim");
  if (!sizes || !dim) return;
  if (const auto place = place_of_dim(*dim, sizes->size()))
    context.results[0].number = (*sizes)[*place];
}

void sizes(ShapeContext& context) { context.results[0].numbers = context.args[0].sizes; }

void rank(ShapeContext& context) {
  const auto& sizes = context.args[0].sizes;
  if (sizes) context.results[0].number = static_dim(static_cast<int64_t>(sizes->size()));
}

void element_count(ShapeContext& context) {
  const auto& sizes = context.args[0].sizes;
  if (sizes) context.results[0].number = product_of(context, *sizes);
}

void number_itself(ShapeContext& context) {
  context.results[0].number = context.args[0].number;
  if (!context.args[0].is_tensor) context.results[0].sizes = Sizes{};
}

}  // namespace shapes
}  // namespace tierup::ops
