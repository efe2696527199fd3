// Other forms of views, joins and reductions, by the layers that those have; see resolver.h.
#include <algorithm>

#include "tierup/kernels/net/resolver.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels::net {

// A cast to the dtype of another tensor, where that is float32.
bool Resolver::like() {
  const Tensor other = constant(1);
  const bool is_same = is_value(1) ? is_float(value(1)) : is_dense_float(other);
  return is_same && plain(4).is_none() && set(value(0));
}

bool Resolver::move_dims() {
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  return permute(movedim_order(rank, ints(1), ints(2)));
}

// The matrix, or all matrices, turned. Of vectors, t() gives themselves.
bool Resolver::turn_matrices() { return sizes(value(0)).size() >= 2 && transpose(-2, -1); }
bool Resolver::turn_matrix() { return sizes(value(0)).size() == 2 && transpose(0, 1); }

bool Resolver::narrow() {
  const IntSpan in = sizes(value(0));
  if (in.empty()) return false;
  const auto axis = static_cast<size_t>(wrap_dim(number_int(1), static_cast<int64_t>(in.size())));
  int64_t start = number_int(2);
  const int64_t count = number_int(3);
  if (start < 0) start += in[axis];
  if (start < 0 || count < 1 || start + count > in[axis]) return false;
  return set(slice(value(0), axis, start, count));
}

bool Resolver::view_as() {
  const std::optional<IntVector> wanted = sizes_of_other();
  return wanted && view(*wanted);
}

// Without dimensions of one entry: all of them, or those that are named.
bool Resolver::squeeze(bool all) {
  const IntSpan in = sizes(value(0));
  if (in.empty() || (!all && !plain(1).is_int() && !plain(1).is_list())) return false;
  std::vector<bool> goes(in.size(), all);
  if (!all) {
    for (const int64_t d : ints(1))
      goes[static_cast<size_t>(wrap_dim(d, static_cast<int64_t>(in.size())))] = true;
  }
  IntVector out;
  for (size_t d = 0; d < in.size(); ++d)
    if (!goes[d] || in[d] != 1) out.push_back(in[d]);
  return out.size() == in.size() ? set(value(0)) : view(out);
}

const std::vector<int>* Resolver::list_of_tensors() const {
  const auto list = op_->args[0].is_value() ? lists_.find(op_->args[0].value) : lists_.end();
  return list == lists_.end() || list->second.empty() ? nullptr : &list->second;
}

bool Resolver::join(const std::vector<int>& items, size_t axis) {
  IntVector out(sizes(items[0]).begin(), sizes(items[0]).end());
  if (axis >= out.size()) return false;
  out[axis] = 0;
  for (const int item : items) {
    const IntSpan in = sizes(item);
    if (!is_float(item) || in.size() != out.size()) return false;
    for (size_t d = 0; d < in.size(); ++d)
      if (d != axis && in[d] != sizes(items[0])[d]) return false;
    out[axis] += in[axis];
  }
  Layer& layer = add(LayerKind::kCat, items, out);
  layer.axis = axis;
  return set(layer.output);
}

// Each with a new dimension, joined along it.
bool Resolver::stack_along(int64_t dim) {
  const std::vector<int>* list = list_of_tensors();
  if (list == nullptr || list->size() >= kLayersOfOperator) return false;
  std::vector<int> items;
  for (const int item : *list) {
    IntVector out(sizes(item).begin(), sizes(item).end());
    if (!std::ranges::equal(out, sizes(list->front()))) return false;
    const int64_t at = wrap_dim(dim, static_cast<int64_t>(out.size()) + 1);
    out.insert(out.begin() + at, 1);
    items.push_back(add(LayerKind::kView, {item}, out).output);
  }
  const auto rank = static_cast<int64_t>(sizes(items[0]).size());
  return join(items, static_cast<size_t>(wrap_dim(dim, rank)));
}

// Vectors one behind the other; others along their second dimension, or their first one.
bool Resolver::stack_columns() {
  const std::vector<int>* list = list_of_tensors();
  return list != nullptr && join(*list, sizes(list->front()).size() == 1 ? 0 : 1);
}
bool Resolver::stack_rows() {
  const std::vector<int>* list = list_of_tensors();
  if (list == nullptr) return false;
  return sizes(list->front()).size() == 1 ? stack_along(0) : join(*list, 0);
}

int Resolver::copies_along(int input, size_t axis, int64_t count) {
  IntVector out(sizes(input).begin(), sizes(input).end());
  if (count == 1) return input;
  if (out[axis] == 1) return repeat_entry(input, axis, count);
  out[axis] *= count;
  Layer& layer = add(LayerKind::kCat, std::vector<int>(static_cast<size_t>(count), input), out);
  layer.axis = axis;
  return layer.output;
}

// The whole so many times along each dimension; `tile` takes fewer numbers for the last ones.
bool Resolver::repeat(bool is_tile) {
  IntVector counts = ints(1);
  IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  if (counts.size() < in.size()) {
    if (!is_tile) return false;
    counts.insert(counts.begin(), in.size() - counts.size(), 1);
  }
  if (counts.size() >= kLayersOfOperator || std::ranges::min(counts) < 1) return false;
  int result = value(0);
  if (counts.size() > in.size()) {
    in.insert(in.begin(), counts.size() - in.size(), 1);
    result = add(LayerKind::kView, {result}, in).output;
  }
  for (size_t d = counts.size(); d-- > 0;) result = copies_along(result, d, counts[d]);
  return set(result);
}

// Each entry of a dimension so many times.
bool Resolver::repeat_each() {
  const IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  if (in.empty() || !plain(2).is_int()) return false;
  const auto axis = static_cast<size_t>(wrap_dim(number_int(2), static_cast<int64_t>(in.size())));
  const int64_t count = number_int(1);
  if (count < 1) return false;
  IntVector apart = in;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  const int entries = add(LayerKind::kView, {value(0)}, apart).output;
  IntVector out = in;
  out[axis] *= count;
  return set(add(LayerKind::kView, {repeat_entry(entries, axis + 1, count)}, out).output);
}

// Points of images in the other order.
bool Resolver::flip() {
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  std::vector<bool> turns(static_cast<size_t>(rank), false);
  for (const int64_t d : ints(1)) {
    const int64_t dim = wrap_dim(d, rank);
    if (dim < 2) return false;
    turns[static_cast<size_t>(dim)] = true;
  }
  return points(
      [&](size_t spatial, int64_t size) {
        std::vector<int64_t> from;
        for (int64_t i = 0; i < size; ++i) from.push_back(turns[spatial + 2] ? size - 1 - i : i);
        return from;
      },
      0);
}

}  // namespace tierup::kernels::net
