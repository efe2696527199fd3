// Shape functions of products, convolutions, pools, reductions and look-ups.
#include <algorithm>
#include <map>

#include "tierup/ops/shapes/einsum_letters.h"
#include "tierup/ops/shapes/shape_functions.h"

namespace tierup::ops::shapes {
namespace {

constexpr Dim kOne{Dim::Kind::kStatic, 1};

const std::optional<Sizes>& self(const ShapeContext& context) { return context.args[0].sizes; }

void give(ShapeContext& context, Sizes sizes) { context.results[0].sizes = std::move(sizes); }

// Sliding windows along one dimension.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  bool is_ceil = false;
};

Dim windows_of(ShapeContext& context, const Dim& dim, const Window& w) {
  const int64_t reach = w.dilation * (w.kernel - 1);
  if (w.stride == 1 && 2 * w.padding == reach) return dim;
  if (!is_static(dim) || w.stride < 1) return context.fresh();
  const int64_t room = dim.value + 2 * w.padding - reach - 1;
  if (room < 0) return context.fresh();
  int64_t count = (room + (w.is_ceil ? w.stride - 1 : 0)) / w.stride + 1;
  // The last window begins inside of the input or the padding on its left.
  if (w.is_ceil && (count - 1) * w.stride >= dim.value + w.padding) --count;
  return static_dim(count);
}

// One number for each of `rank` dimensions, or one for all.
std::optional<int64_t> item(const std::optional<std::vector<int64_t>>& list, size_t i) {
  if (!list || list->empty()) return std::nullopt;
  if (list->size() == 1) return list->front();
  return i < list->size() ? std::optional((*list)[i]) : std::nullopt;
}

std::optional<std::vector<int64_t>> ints_named(const ShapeContext& context, std::string_view name) {
  const ShapeValue* value = context.named(name);
  return value == nullptr ? std::nullopt : constant_ints(*value);
}

// The matrix product's sizes, with vectors as rows or columns that do not stand in the result.
std::optional<Sizes> product_sizes(const ShapeContext& context, const Sizes& a, const Sizes& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  Sizes result;
  if (a.size() > 2 || b.size() > 2) {
    const Sizes left(a.begin(), a.end() - std::min<std::ptrdiff_t>(2, std::ssize(a)));
    const Sizes right(b.begin(), b.end() - std::min<std::ptrdiff_t>(2, std::ssize(b)));
    result = broadcast_sizes(context, left, right);
  }
  if (a.size() >= 2) result.push_back(a[a.size() - 2]);
  if (b.size() >= 2) result.push_back(b.back());
  return result;
}

}  // namespace

void matmul(ShapeContext& context) {
  const auto& a = context.args[0].sizes;
  const auto& b = context.args[1].sizes;
  if (a && b) context.results[0].sizes = product_sizes(context, *a, *b);
}

// Of the letters of a constant equation without an ellipsis.
void einsum(ShapeContext& context) {
  const auto& parts = context.args[1].parts;
  if (!parts) return;
  const auto equation = einsum_letters(context.args[0].constant, parts->size());
  if (!equation) return;
  std::map<int64_t, Dim> dims;
  for (size_t i = 0; i < parts->size(); ++i) {
    const auto& letters = equation->inputs[i];
    const auto& sizes = (*parts)[i];
    if (!sizes || sizes->size() != letters.size()) return;
    for (size_t d = 0; d < letters.size(); ++d) {
      const auto [known, is_new] = dims.emplace(letters[d], (*sizes)[d]);
      if (!is_new) known->second = broadcast_sizes(context, {known->second}, {(*sizes)[d]}).front();
    }
  }
  Sizes result;
  for (const int64_t letter : equation->output) {
    const auto found = dims.find(letter);
    if (found == dims.end()) return;
    result.push_back(found->second);
  }
  give(context, std::move(result));
}

void normalized(ShapeContext& context) {
  same(context);
  auto& sizes = context.results[0].sizes;
  const auto last = ints_named(context, "normalized_shape");
  if (!sizes || !last || last->size() > sizes->size()) return;
  for (size_t i = 0; i < last->size(); ++i)
    (*sizes)[sizes->size() - last->size() + i] = static_dim((*last)[i]);
}

void linear(ShapeContext& context) {
  const auto& weight = context.args[1].sizes;
  if (!self(context) || self(context)->empty() || !weight) return;
  Sizes sizes = *self(context);
  sizes.pop_back();
  if (weight->size() == 2) sizes.push_back(weight->front());
  if (weight->size() == 1 || weight->size() == 2) give(context, std::move(sizes));
}

void matrix_product(ShapeContext& context) {
  const auto& a = context.args[0].sizes;
  const auto& b = context.args[1].sizes;
  if (a && b && a->size() == 2 && b->size() == 2) give(context, {a->front(), b->back()});
}

void batch_product(ShapeContext& context) {
  const auto& a = context.args[0].sizes;
  const auto& b = context.args[1].sizes;
  if (a && b && a->size() == 3 && b->size() == 3) give(context, {(*a)[0], (*a)[1], b->back()});
}

void added_product(ShapeContext& context) {
  const auto& a = context.args[1].sizes;
  const auto& b = context.args[2].sizes;
  if (a && b && a->size() == 2 && b->size() == 2) give(context, {a->front(), b->back()});
}

void added_batch_product(ShapeContext& context) {
  const auto& a = context.args[1].sizes;
  const auto& b = context.args[2].sizes;
  if (a && b && a->size() == 3 && b->size() == 3) give(context, {(*a)[0], (*a)[1], b->back()});
}

// [..., L, E] asks [..., S, E] for [..., S, V]. Heads of keys may stand for several of queries.
void attention(ShapeContext& context) {
  const auto& query = context.args[0].sizes;
  const auto& key = context.args[1].sizes;
  const auto& value = context.args[2].sizes;
  if (!query || !key || !value || query->size() < 2) return;
  if (key->size() != query->size() || value->size() != query->size()) return;
  Sizes sizes = *query;
  for (size_t i = 0; i + 2 < sizes.size(); ++i) {
    if ((*key)[i] != sizes[i] || (*value)[i] != sizes[i]) sizes[i] = context.fresh();
  }
  sizes.back() = value->back();
  give(context, std::move(sizes));
}
void attention_with_sums(ShapeContext& context) {
  attention(context);
  if (!context.results[0].sizes) return;
  Sizes rows = *context.results[0].sizes;
  rows.pop_back();
  context.results[1].sizes = std::move(rows);
}

// [N, C, *] or [C, *] with weights [O, C / groups, *], or [C, O / groups, *] of a transposed one.
void convolution(ShapeContext& context) {
  const auto& weight = context.args[1].sizes;
  if (!self(context) || !weight || weight->size() < 3) return;
  const size_t rank = weight->size() - 2;
  if (self(context)->size() < rank + 1 || self(context)->size() > rank + 2) return;
  Sizes sizes = *self(context);
  const bool has_output_padding = context.named("output_padding") != nullptr;
  const auto is_transposed = context.bool_named("transposed", has_output_padding);
  const size_t channel = sizes.size() - rank - 1;
  const auto stride = ints_named(context, "stride");
  const auto padding = ints_named(context, "padding");
  const auto dilation = ints_named(context, "dilation");
  sizes[channel] = is_transposed == false ? (*weight)[0] : context.fresh();
  for (size_t i = 0; i < rank; ++i) {
    Dim& dim = sizes[channel + 1 + i];
    const Dim& kernel = (*weight)[2 + i];
    const auto s = item(stride, i);
    const auto p = item(padding, i);
    const auto d = item(dilation, i);
    const bool is_known = is_transposed == false && is_static(kernel) && s && p && d;
    dim = is_known ? windows_of(context, dim, {kernel.value, *s, *p, *d, false}) : context.fresh();
  }
  give(context, std::move(sizes));
}

void pool(ShapeContext& context) {
  const auto kernel = ints_named(context, "kernel_size");
  if (!self(context) || !kernel) return;
  // One number may stand for all dimensions: how many there are the schema says.
  const auto rank = static_cast<size_t>(
      context.schema.arguments[1].broadcast_size.value_or(static_cast<int64_t>(kernel->size())));
  Sizes sizes = *self(context);
  if (sizes.size() < rank + 1 || sizes.size() > rank + 2) return;
  auto stride = ints_named(context, "stride");
  if (stride && stride->empty()) stride = kernel;
  const auto padding = ints_named(context, "padding");
  auto dilation = ints_named(context, "dilation");
  if (context.named("dilation") == nullptr) dilation = std::vector<int64_t>{1};
  const auto is_ceil = context.bool_named("ceil_mode", false);
  for (size_t i = 0; i < rank; ++i) {
    Dim& dim = sizes[sizes.size() - rank + i];
    const auto k = item(kernel, i);
    const auto s = item(stride, i);
    const auto p = item(padding, i);
    const auto d = item(dilation, i);
    const bool is_known = k && s && p && d && is_ceil;
    dim = is_known ? windows_of(context, dim, {*k, *s, *p, *d, *is_ceil}) : context.fresh();
  }
  for (ShapeValue& result : context.results) result.sizes = sizes;
}

void adaptive_pool(ShapeContext& context) {
  const auto& list = context.args[1].numbers;
  if (!self(context) || !list) return;
  const auto rank = static_cast<size_t>(
      context.schema.arguments[1].broadcast_size.value_or(static_cast<int64_t>(list->size())));
  Sizes sizes = *self(context);
  if (sizes.size() < rank + 1 || list->empty()) return;
  for (size_t i = 0; i < rank; ++i) {
    const Dim& asked = (*list)[std::min(i, list->size() - 1)];
    sizes[sizes.size() - rank + i] = asked.kind == Dim::Kind::kUnknown ? context.fresh() : asked;
  }
  for (ShapeValue& result : context.results) result.sizes = sizes;
}

// Behind batch and channels lie other sizes.
void resample(ShapeContext& context) {
  if (!self(context) || self(context)->size() < 3) return;
  Sizes sizes = *self(context);
  const ShapeValue* asked = context.named("output_size");
  const bool is_asked =
      asked != nullptr && asked->numbers && asked->numbers->size() == sizes.size() - 2;
  for (size_t i = 2; i < sizes.size(); ++i) {
    const bool is_known = is_asked && (*asked->numbers)[i - 2].kind != Dim::Kind::kUnknown;
    sizes[i] = is_known ? (*asked->numbers)[i - 2] : context.fresh();
  }
  give(context, std::move(sizes));
}

void reduce(ShapeContext& context) {
  const auto keeps = context.bool_named("keepdim", false);
  const ShapeValue* dims = context.named("dim");
  if (!self(context) || !keeps || dims == nullptr) return;
  const Sizes& own = *self(context);
  const bool is_none = dims->constant != nullptr && dims->constant->is_none();
  const auto list = is_none ? std::vector<int64_t>{} : constant_ints(*dims);
  if (!list) return;
  std::vector<bool> is_folded(own.size(), list->empty());
  for (const int64_t dim : *list) {
    if (const auto place = place_of_dim(dim, own.size())) is_folded[*place] = true;
  }
  Sizes sizes;
  for (size_t i = 0; i < own.size(); ++i) {
    if (!is_folded[i]) sizes.push_back(own[i]);
    if (is_folded[i] && *keeps) sizes.push_back(kOne);
  }
  for (ShapeValue& result : context.results) result.sizes = sizes;
}

void reduce_listed(ShapeContext& context) {
  const ShapeValue* dims = context.named("dim");
  const auto list = dims != nullptr ? constant_ints(*dims) : std::nullopt;
  return list && list->empty() ? same(context) : reduce(context);
}

void reduce_all(ShapeContext& context) { give(context, {}); }

void top(ShapeContext& context) {
  const auto dim = context.int_named("dim");
  if (!self(context) || !dim) return;
  Sizes sizes = *self(context);
  const auto place = place_of_dim(*dim, sizes.size());
  if (!place) return;
  const ShapeValue* count = context.named("k");
  sizes[*place] = count != nullptr && count->number ? *count->number : context.fresh();
  for (ShapeValue& result : context.results) result.sizes = sizes;
}

namespace {

void give_states(ShapeContext& context, size_t from) {
  const ShapeValue* states = context.named("hx");
  if (states == nullptr) return;
  for (size_t i = from; i < context.results.size(); ++i) {
    if (states->is_tensor) context.results[i].sizes = states->sizes;
    if (states->parts && i - from < states->parts->size())
      context.results[i].sizes = (*states->parts)[i - from];
  }
}

}  // namespace

void recurrent_cell(ShapeContext& context) { give_states(context, 0); }

void recurrent(ShapeContext& context) {
  if (!self(context) || self(context)->empty()) return;
  Sizes sizes = *self(context);
  sizes.back() = context.fresh();
  give(context, std::move(sizes));
  give_states(context, 1);
}

void embedding(ShapeContext& context) {
  const auto& table = context.args[0].sizes;
  const auto& indices = context.args[1].sizes;
  if (!table || table->size() != 2 || !indices) return;
  Sizes sizes = *indices;
  sizes.push_back(table->back());
  give(context, std::move(sizes));
}

void index_select(ShapeContext& context) {
  const auto dim = context.int_named("dim");
  const ShapeValue* index = context.named("index");
  if (!self(context) || self(context)->empty() || !dim || index == nullptr || !index->sizes) return;
  Sizes sizes = *self(context);
  const auto place = place_of_dim(*dim, sizes.size());
  if (!place || index->sizes->size() > 1) return;
  sizes[*place] = index->sizes->empty() ? kOne : index->sizes->front();
  give(context, std::move(sizes));
}

void gather(ShapeContext& context) {
  if (const ShapeValue* index = context.named("index")) context.results[0].sizes = index->sizes;
}

}  // namespace tierup::ops::shapes
