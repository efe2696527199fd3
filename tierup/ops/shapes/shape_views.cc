// Shape functions of views, parts and joins.
#include <algorithm>

#include "tierup/ops/shapes/shape_functions.h"

namespace tierup::ops::shapes {
namespace {

constexpr Dim kOne{Dim::Kind::kStatic, 1};

const std::optional<Sizes>& self(const ShapeContext& context) { return context.args[0].sizes; }

void give(ShapeContext& context, Sizes sizes) { context.results[0].sizes = std::move(sizes); }

// The sizes that a list asks for, where -1 stands for the rest of `whole`.
Sizes asked_sizes(ShapeContext& context, const Sizes& list, const std::optional<Sizes>& whole) {
  Sizes sizes = list;
  std::optional<size_t> open;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == static_dim(-1)) open = i;
  }
  if (open) {
    Sizes others = sizes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*open));
    sizes[*open] = whole ? quotient_of(context, *whole, others) : context.fresh();
  }
  for (Dim& dim : sizes) {
    if (dim.kind == Dim::Kind::kUnknown) dim = context.fresh();
  }
  return sizes;
}

// The place of the dimension that the argument "dim" names.
std::optional<size_t> dim_place(const ShapeContext& context) {
  const auto dim = context.int_named("dim");
  if (!dim || !self(context)) return std::nullopt;
  return place_of_dim(*dim, self(context)->size());
}

bool is_whole(const ShapeValue& bound, bool is_start) {
  if (bound.constant != nullptr && bound.constant->is_none()) return true;
  if (!bound.number || !is_static(*bound.number)) return false;
  // Larger than any size.
  return is_start ? bound.number->value == 0 : bound.number->value >= int64_t{1} << 48;
}

std::optional<int64_t> bound_of(const ShapeValue& bound, int64_t size, int64_t otherwise) {
  if (bound.constant != nullptr && bound.constant->is_none()) return otherwise;
  if (!bound.number || !is_static(*bound.number)) return std::nullopt;
  const int64_t value = bound.number->value;
  return std::clamp<int64_t>(value < 0 ? value + size : value, 0, size);
}

Dim sliced(ShapeContext& context, const Dim& dim) {
  const auto step = context.int_named("step");
  if (!step || *step < 1) return context.fresh();
  const ShapeValue& start = context.args[2];
  const ShapeValue& end = context.args[3];
  if (*step == 1 && is_whole(start, true) && (is_whole(end, false) || end.number == dim))
    return dim;
  if (!is_static(dim)) return context.fresh();
  const auto first = bound_of(start, dim.value, 0);
  const auto last = bound_of(end, dim.value, dim.value);
  if (!first || !last) return context.fresh();
  return static_dim(std::max<int64_t>((*last - *first + *step - 1) / *step, 0));
}

void give_parts(ShapeContext& context, size_t place, const std::vector<Dim>& sizes) {
  auto& parts = context.results[0].parts.emplace();
  for (const Dim& size : sizes) {
    Sizes part = *self(context);
    part[place] = size;
    parts.emplace_back(std::move(part));
  }
}

// Ranges of `width` each; the last may be shorter.
void give_ranges(ShapeContext& context, size_t place, int64_t width) {
  const Dim whole = (*self(context))[place];
  std::vector<Dim> sizes;
  if (is_static(whole)) {
    if (whole.value / width > 4096) return;
    for (int64_t at = 0; at < whole.value; at += width)
      sizes.push_back(static_dim(std::min(width, whole.value - at)));
    if (sizes.empty()) sizes.push_back(static_dim(0));
  } else {
    if (context.wanted_parts == 0) return;
    sizes.assign(context.wanted_parts - 1, static_dim(width));
    sizes.push_back(context.fresh());
  }
  give_parts(context, place, sizes);
}

}  // namespace

void view(ShapeContext& context) {
  const auto& list = context.args[1].numbers;
  if (list) give(context, asked_sizes(context, *list, self(context)));
}

void flatten(ShapeContext& context) {
  if (!self(context)) return;
  Sizes sizes = *self(context);
  if (sizes.empty()) return give(context, {kOne});
  const auto start = context.int_named("start_dim");
  const auto end = context.int_named("end_dim");
  if (!start || !end) return;
  const auto first = place_of_dim(*start, sizes.size());
  const auto last = place_of_dim(*end, sizes.size());
  if (!first || !last || *last < *first) return;
  const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(*first);
  const auto stop = sizes.begin() + static_cast<std::ptrdiff_t>(*last) + 1;
  *begin = product_of(context, {begin, stop});
  sizes.erase(begin + 1, stop);
  give(context, std::move(sizes));
}

void unflatten(ShapeContext& context) {
  const auto place = dim_place(context);
  const auto& list = context.args[2].numbers;
  if (!place || !list) return;
  Sizes sizes = *self(context);
  const Sizes inner = asked_sizes(context, *list, Sizes{sizes[*place]});
  const auto at = sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(*place));
  sizes.insert(at, inner.begin(), inner.end());
  give(context, std::move(sizes));
}

void transpose(ShapeContext& context) {
  if (!self(context)) return;
  const auto a = constant_ints(context.args[1]);
  const auto b = constant_ints(context.args[2]);
  if (!a || !b) return;
  Sizes sizes = *self(context);
  if (sizes.empty()) return give(context, std::move(sizes));
  const auto x = place_of_dim(a->at(0), sizes.size());
  const auto y = place_of_dim(b->at(0), sizes.size());
  if (!x || !y) return;
  std::swap(sizes[*x], sizes[*y]);
  give(context, std::move(sizes));
}

void transpose_matrix(ShapeContext& context) {
  if (!self(context) || self(context)->size() > 2) return;
  give(context, {self(context)->rbegin(), self(context)->rend()});
}

void permute(ShapeContext& context) {
  const auto order = constant_ints(context.args[1]);
  if (!self(context) || !order || order->size() != self(context)->size()) return;
  Sizes sizes;
  for (const int64_t dim : *order) {
    const auto place = place_of_dim(dim, order->size());
    if (!place) return;
    sizes.push_back((*self(context))[*place]);
  }
  give(context, std::move(sizes));
}

// A symbol may stand for one: then not even the rank is sure.
void squeeze(ShapeContext& context) {
  if (!self(context)) return;
  const Sizes& sizes = *self(context);
  std::vector<bool> is_asked(sizes.size(), context.named("dim") == nullptr);
  if (const ShapeValue* dims = context.named("dim")) {
    const auto list = constant_ints(*dims);
    if (!list) return;
    for (const int64_t dim : *list) {
      if (const auto place = place_of_dim(dim, sizes.size())) is_asked[*place] = true;
    }
  }
  Sizes kept;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (is_asked[i] && !is_static(sizes[i])) return;
    if (!is_asked[i] || sizes[i] != kOne) kept.push_back(sizes[i]);
  }
  give(context, std::move(kept));
}

void unsqueeze(ShapeContext& context) {
  const auto dim = context.int_named("dim");
  if (!self(context) || !dim) return;
  Sizes sizes = *self(context);
  const auto place = place_of_dim(*dim, sizes.size() + 1);
  if (!place) return;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(*place), kOne);
  give(context, std::move(sizes));
}

void expand(ShapeContext& context) {
  const auto& list = context.args[1].numbers;
  if (!list) return;
  Sizes sizes = *list;
  const auto& own = self(context);
  const size_t lead = own && own->size() <= sizes.size() ? sizes.size() - own->size() : 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool stays = sizes[i] == static_dim(-1) && own && i >= lead;
    // A size that is no number yet may be -1 as well.
    if (stays) sizes[i] = (*own)[i - lead];
    if (sizes[i].kind == Dim::Kind::kUnknown || sizes[i] == static_dim(-1))
      sizes[i] = context.fresh();
  }
  give(context, std::move(sizes));
}

void select(ShapeContext& context) {
  const auto place = dim_place(context);
  if (!place) return;
  Sizes sizes = *self(context);
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(*place));
  give(context, std::move(sizes));
}

void slice(ShapeContext& context) {
  const auto place = dim_place(context);
  if (!place) return;
  Sizes sizes = *self(context);
  sizes[*place] = sliced(context, sizes[*place]);
  give(context, std::move(sizes));
}

void narrow(ShapeContext& context) {
  const auto place = dim_place(context);
  if (!place) return;
  Sizes sizes = *self(context);
  sizes[*place] = context.args[3].number ? *context.args[3].number : context.fresh();
  give(context, std::move(sizes));
}

void unbind(ShapeContext& context) {
  const auto place = dim_place(context);
  if (!place) return;
  Sizes entry = *self(context);
  const Dim count = entry[*place];
  if (is_static(count) ? count.value > 4096 : context.wanted_parts == 0) return;
  entry.erase(entry.begin() + static_cast<std::ptrdiff_t>(*place));
  context.results[0].parts.emplace(
      is_static(count) ? static_cast<size_t>(count.value) : context.wanted_parts, entry);
}

void chunk(ShapeContext& context) {
  const auto place = dim_place(context);
  const auto chunks = context.int_named("chunks");
  if (!place || !chunks || *chunks < 1) return;
  const Dim whole = (*self(context))[*place];
  if (is_static(whole)) {
    const int64_t width = std::max<int64_t>((whole.value + *chunks - 1) / *chunks, 1);
    // Of nothing there are as many chunks as were asked for.
    if (whole.value == 0) return;
    return give_ranges(context, *place, width);
  }
  std::vector<Dim> sizes;
  for (size_t i = 0; i < context.wanted_parts; ++i) sizes.push_back(context.fresh());
  if (!sizes.empty()) give_parts(context, *place, sizes);
}

void split(ShapeContext& context) {
  const auto place = dim_place(context);
  const auto width = constant_ints(context.args[1]);
  if (place && width && width->at(0) > 0) give_ranges(context, *place, width->at(0));
}

void split_by_sizes(ShapeContext& context) {
  const auto place = dim_place(context);
  const auto& list = context.args[1].numbers;
  if (!place || !list) return;
  Sizes sizes = *list;
  for (Dim& dim : sizes) {
    if (dim.kind == Dim::Kind::kUnknown) dim = context.fresh();
  }
  give_parts(context, *place, sizes);
}

// Tensors without elements and of one dimension do not count among others: where ranks differ, or
// one is not known, nothing is sure.
void cat(ShapeContext& context) {
  const auto& parts = context.args[0].parts;
  const auto dim = context.int_named("dim");
  if (!parts || parts->empty() || !dim) return;
  for (const auto& part : *parts) {
    if (!part || part->size() != parts->front()->size()) return;
  }
  Sizes sizes = *parts->front();
  const auto place = place_of_dim(*dim, sizes.size());
  if (!place) return;
  std::optional<int64_t> sum = 0;
  for (const auto& part : *parts) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i != *place && !is_static(sizes[i])) sizes[i] = (*part)[i];
    }
    const Dim& own = (*part)[*place];
    sum = sum && is_static(own) ? std::optional(*sum + own.value) : std::nullopt;
  }
  if (parts->size() > 1) sizes[*place] = sum ? static_dim(*sum) : context.fresh();
  give(context, std::move(sizes));
}

void stack(ShapeContext& context) {
  const auto& parts = context.args[0].parts;
  const auto dim = context.int_named("dim");
  if (!parts || parts->empty() || !dim || !parts->front()) return;
  Sizes sizes = *parts->front();
  const auto place = place_of_dim(*dim, sizes.size() + 1);
  if (!place) return;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(*place),
               static_dim(static_cast<int64_t>(parts->size())));
  give(context, std::move(sizes));
}

// Two numbers for each dimension, the last one's first.
void pad(ShapeContext& context) {
  const auto& list = context.args[1].numbers;
  if (!self(context) || !list || list->size() > 2 * self(context)->size()) return;
  Sizes sizes = *self(context);
  for (size_t i = 0; i + 1 < list->size(); i += 2) {
    Dim& dim = sizes[sizes.size() - 1 - i / 2];
    const Dim& before = (*list)[i];
    const Dim& after = (*list)[i + 1];
    if (before == static_dim(0) && after == static_dim(0)) continue;
    const bool is_known = is_static(dim) && is_static(before) && is_static(after);
    dim = is_known ? static_dim(dim.value + before.value + after.value) : context.fresh();
  }
  give(context, std::move(sizes));
}

void glue(ShapeContext& context) {
  const auto place = dim_place(context);
  if (!place) return;
  Sizes sizes = *self(context);
  Dim& dim = sizes[*place];
  dim = is_static(dim) ? static_dim(dim.value / 2) : context.fresh();
  give(context, std::move(sizes));
}

}  // namespace tierup::ops::shapes
