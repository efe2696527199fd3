// Views, and what parts or joins tensors; see resolver.h.
#include "tierup/kernels/net/resolver.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels::net {

bool Resolver::view(IntVector wanted) {
  const int input = value(0);
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& size : wanted) {
    if (size == -1) {
      if (open != nullptr) return false;
      open = &size;
    } else {
      known *= size;
    }
  }
  const int64_t count = numel_of(sizes(input));
  if (open != nullptr) {
    if (known <= 0 || count % known != 0) return false;
    *open = count / known;
    known *= *open;
  }
  if (known != count) return false;
  return set(add(LayerKind::kView, {input}, wanted).output);
}

bool Resolver::flatten() {
  const IntSpan in = sizes(value(0));
  const auto rank = static_cast<int64_t>(in.size());
  if (rank == 0) return false;
  const int64_t start = wrap_dim(number_int(1), rank);
  const int64_t end = wrap_dim(number_int(2), rank);
  if (start > end) return false;
  IntVector out;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = in[static_cast<size_t>(d)];
    if (d > start && d <= end) {
      out.back() *= size;
    } else {
      out.push_back(size);
    }
  }
  return view(out);
}

bool Resolver::unsqueeze() {
  IntVector out(sizes(value(0)).begin(), sizes(value(0)).end());
  const int64_t at = wrap_dim(number_int(1), static_cast<int64_t>(out.size()) + 1);
  out.insert(out.begin() + at, 1);
  return set(add(LayerKind::kView, {value(0)}, out).output);
}

bool Resolver::unflatten() {
  const IntSpan in = sizes(value(0));
  const int64_t at = wrap_dim(number_int(1), static_cast<int64_t>(in.size()));
  IntVector parts = ints(2);
  int64_t known = 1;
  for (const int64_t part : parts) known *= part == -1 ? 1 : part;
  for (int64_t& part : parts) {
    if (part != -1) continue;
    if (known <= 0 || in[static_cast<size_t>(at)] % known != 0) return false;
    part = in[static_cast<size_t>(at)] / known;
    break;
  }
  IntVector out(in.begin(), in.begin() + at);
  out.insert(out.end(), parts.begin(), parts.end());
  out.insert(out.end(), in.begin() + at + 1, in.end());
  return view(out);
}

bool Resolver::permute(IntVector order) {
  const IntSpan in = sizes(value(0));
  if (order.size() != in.size()) return false;
  IntVector out;
  for (int64_t& d : order) {
    d = wrap_dim(d, static_cast<int64_t>(in.size()));
    out.push_back(in[static_cast<size_t>(d)]);
  }
  Layer& layer = add(LayerKind::kPermute, {value(0)}, out);
  layer.order = order;
  return set(layer.output);
}

bool Resolver::transpose(int64_t a, int64_t b) {
  const auto rank = static_cast<int64_t>(sizes(value(0)).size());
  IntVector order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  std::swap(order[static_cast<size_t>(wrap_dim(a, rank))],
            order[static_cast<size_t>(wrap_dim(b, rank))]);
  return permute(order);
}

int Resolver::slice(int input, size_t axis, int64_t first, int64_t count, int64_t step) {
  IntVector out(sizes(input).begin(), sizes(input).end());
  out[axis] = count;
  Layer& layer = add(LayerKind::kSlice, {input}, out);
  layer.axis = axis;
  layer.first = first;
  layer.step = step;
  return layer.output;
}

// By numbers that may follow from sizes.
bool Resolver::slice_of() {
  const int input = value(0);
  const IntSpan in = sizes(input);
  const int64_t step = number_int(4);
  if (in.empty() || step < 1) return false;
  const auto axis = static_cast<size_t>(wrap_dim(number_int(1), static_cast<int64_t>(in.size())));
  const int64_t size = in[axis];
  const auto bound = [&](size_t i, int64_t otherwise) {
    const int64_t at = plain(i).is_none() ? otherwise : number_int(i);
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t first = bound(2, 0);
  const int64_t end = bound(3, size);
  if (end <= first) return false;
  if (first == 0 && end == size && step == 1) return set(input);
  return set(slice(input, axis, first, (end - first + step - 1) / step, step));
}

int Resolver::entry_of(int input, size_t axis, int64_t index) {
  IntVector out(sizes(input).begin(), sizes(input).end());
  out.erase(out.begin() + static_cast<int64_t>(axis));
  return add(LayerKind::kView, {slice(input, axis, index, 1)}, out).output;
}

bool Resolver::select() {
  const int input = value(0);
  const auto rank = static_cast<int64_t>(sizes(input).size());
  const auto axis = static_cast<size_t>(wrap_dim(number_int(1), rank));
  const int64_t size = sizes(input)[axis];
  const int64_t index = number_int(2) < 0 ? number_int(2) + size : number_int(2);
  return index >= 0 && index < size && set(entry_of(input, axis, index));
}

bool Resolver::unbind() {
  const int input = value(0);
  const auto rank = static_cast<int64_t>(sizes(input).size());
  const auto axis = static_cast<size_t>(wrap_dim(number_int(1), rank));
  const size_t count = op_->outputs.size();
  if (sizes(input)[axis] != static_cast<int64_t>(count) || 2 * count > kLayersOfOperator)
    return false;
  for (size_t i = 0; i < count; ++i) set(entry_of(input, axis, static_cast<int64_t>(i)), i);
  return true;
}

bool Resolver::glu() {
  IntVector out(sizes(value(0)).begin(), sizes(value(0)).end());
  const auto axis = static_cast<size_t>(wrap_dim(number_int(1), static_cast<int64_t>(out.size())));
  if (out[axis] % 2 != 0 || numel_of(out) == 0) return false;
  out[axis] /= 2;
  Layer& layer = add(LayerKind::kGlu, {value(0)}, out);
  layer.axis = axis;
  return set(layer.output);
}

int Resolver::expanded(int input, const IntVector& wanted) {
  IntVector in(sizes(input).begin(), sizes(input).end());
  if (wanted.size() < in.size()) return -1;
  if (wanted.size() > in.size()) {
    in.insert(in.begin(), wanted.size() - in.size(), 1);
    input = add(LayerKind::kView, {input}, in).output;
  }
  for (size_t d = 0; d < in.size(); ++d) {
    if (wanted[d] == -1 || wanted[d] == in[d]) continue;
    if (in[d] != 1 || wanted[d] < 1) return -1;
    input = repeat_entry(input, d, wanted[d]);
    in[d] = wanted[d];
  }
  return input;
}

std::optional<IntVector> Resolver::sizes_of_other() const {
  const Tensor like = constant(1);
  if (!is_value(1) && !like.defined()) return std::nullopt;
  const IntSpan wanted = is_value(1) ? sizes(value(1)) : like.sizes();
  return IntVector(wanted.begin(), wanted.end());
}

bool Resolver::expand_as() {
  const std::optional<IntVector> wanted = sizes_of_other();
  return wanted && expand(*wanted);
}

bool Resolver::expand(const IntVector& wanted) {
  const int whole = expanded(value(0), wanted);
  return whole >= 0 && set(whole);
}

int Resolver::repeat_entry(int input, size_t axis, int64_t count) {
  IntVector out(sizes(input).begin(), sizes(input).end());
  out[axis] = count;
  Layer& layer = add(LayerKind::kRepeat, {input}, out);
  layer.axis = axis;
  return layer.output;
}

bool Resolver::split() {
  const IntSpan in = sizes(value(0));
  const auto axis = static_cast<size_t>(wrap_dim(number_int(2), static_cast<int64_t>(in.size())));
  const int64_t total = in[axis];
  IntVector counts = ints(1);
  if (plain(1).is_int()) {
    if (counts[0] <= 0 || total % counts[0] != 0) return false;
    counts.assign(static_cast<size_t>(total / counts[0]), counts[0]);
  }
  if (counts.size() != op_->outputs.size()) return false;
  int64_t first = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (first + counts[i] > total || counts[i] < 0) return false;
    set(slice(value(0), axis, first, counts[i]), i);
    first += counts[i];
  }
  return first == total;
}

bool Resolver::chunk() {
  const IntSpan in = sizes(value(0));
  const auto axis = static_cast<size_t>(wrap_dim(number_int(2), static_cast<int64_t>(in.size())));
  const int64_t total = in[axis];
  const auto count = static_cast<int64_t>(op_->outputs.size());
  if (number_int(1) <= 0 || total == 0) return false;
  const int64_t each = (total + number_int(1) - 1) / number_int(1);
  if ((total + each - 1) / each != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = i * each;
    set(slice(value(0), axis, first, std::min(each, total - first)), static_cast<size_t>(i));
  }
  return true;
}

bool Resolver::tensors() {
  std::vector<int> items;
  for (size_t i = 0; i < op_->args.size(); ++i) {
    const Tensor tensor = constant(i);
    if (!is_value(i) && !tensor.defined()) return false;
    items.push_back(is_value(i) ? value(i) : add_constant(tensor));
  }
  lists_[op_->outputs[0]] = std::move(items);
  return true;
}

bool Resolver::cat() {
  const std::vector<int>* list = list_of_tensors();
  if (list == nullptr) return false;
  const auto rank = static_cast<int64_t>(sizes(list->front()).size());
  return join(*list, static_cast<size_t>(wrap_dim(number_int(1), rank)));
}

bool Resolver::constant_view() {
  const Tensor tensor = constant(0);
  if (!tensor.defined()) return false;
  const auto bound = [&](size_t i) {
    return plain(i).is_none() ? std::nullopt : std::optional(number_int(i));
  };
  Tensor view;
  switch (op_->kind) {
    case OpKind::kSlice:
      view = kernels::slice(tensor, number_int(1), bound(2), bound(3), number_int(4));
      break;
    case OpKind::kSelect: view = kernels::select(tensor, number_int(1), number_int(2)); break;
    case OpKind::kUnsqueeze: view = kernels::unsqueeze(tensor, number_int(1)); break;
    case OpKind::kView: view = kernels::reshape(tensor, ints(1)); break;
    case OpKind::kPermute: view = kernels::permute(tensor, ints(1)); break;
    case OpKind::kTranspose: view = kernels::transpose(tensor, number_int(1), number_int(2)); break;
    default: return false;
  }
  known_[static_cast<size_t>(op_->outputs[0])] = IValue(view);
  return true;
}

}  // namespace tierup::kernels::net
