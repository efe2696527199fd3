// Views, and copies that look like them: the gradient is viewed the other way, or stands in zeros.
#include <algorithm>

#include "tierup/kernels/indexing/view_backward.h"
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

void back_to_sizes(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::reshape", c.sizes(0)); });
}
void same(GradContext& c) {
  c.give(0, [&] { return grad(c); });
}
void conjugated(GradContext& c) {
  c.give(0, [&] { return grad(c).conj(); });
}
void negated(GradContext& c) {
  c.give(0, [&] { return -grad(c); });
}

void t(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::t"); });
}
void transpose_dims(GradContext& c) {
  c.give(0, [&] { return transpose(grad(c), c.int_of(1), c.int_of(2)); });
}
void reversed(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::numpy_T"); });
}
void turned_matrix(GradContext& c) {
  c.give(0, [&] { return c.rank(0) < 2 ? grad(c) : turned(grad(c)); });
}
void adjoint_matrix(GradContext& c) {
  c.give(0, [&] { return c.rank(0) < 2 ? grad(c) : adjoint(grad(c)); });
}
void permute(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = c.ints_of(1);
    const int64_t rank = c.rank(0);
    IntVector inverse(dims.size(), 0);
    for (size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<size_t>(wrap_dim(dims[i], rank))] = static_cast<int64_t>(i);
    return grad(c).then("aten::permute", inverse);
  });
}
void movedim(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::movedim.intlist", c.ints_of(2), c.ints_of(1)); });
}

// By the other's sizes alone, which passes nothing on to it.
void reshape_as(GradContext& c) { c.set_result(0, arg(c, 0).then("aten::reshape", c.sizes(1))); }
void view_as(GradContext& c) { c.set_result(0, arg(c, 0).then("aten::view", c.sizes(1))); }
void expand_as(GradContext& c) { c.set_result(0, arg(c, 0).then("aten::expand", c.sizes(1))); }

// Un-broadcasting is what `give` does.
void expand_formula(GradContext& c) {
  c.give(0, [&] { return grad(c); });
}

void select(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::select_backward", c.sizes(0), c.int_of(1), c.int_of(2));
  });
}
// Bounds as slice_backward takes them.
Term sliced_back(GradContext& c, int64_t dim, int64_t start, int64_t end, int64_t step) {
  return grad(c).then("aten::slice_backward", c.sizes(0), dim, start, end, step);
}
void slice(GradContext& c) {
  c.give(0, [&] {
    const int64_t size = c.size(0, c.int_of(1));
    return sliced_back(c, c.int_of(1), c.int_of(2, 0), c.int_of(3, size), c.int_of(4));
  });
}
void narrow(GradContext& c) {
  c.give(0, [&] {
    const int64_t size = c.size(0, c.int_of(1));
    const int64_t start = c.int_of(2) < 0 ? c.int_of(2) + size : c.int_of(2);
    return sliced_back(c, c.int_of(1), start, start + c.int_of(3), 1);
  });
}
// Where it starts is a value: ones at its places choose where the gradient goes.
void narrow_tensor(GradContext& c) {
  c.give(0, [&] {
    const int64_t dim = wrap_dim(c.int_of(1), c.rank(0));
    const Term start = arg(c, 2);
    const Term places =
        call(c, "aten::arange", c.int_of(3)) + start.then("aten::to.dtype", ScalarType::kLong);
    const Term zeros = call(c, "aten::zeros", c.sizes(0), c.dtype(0));
    return zeros.then("aten::index_copy", dim,
                      places.then("aten::remainder.Scalar", c.size(0, dim)), grad(c));
  });
}
void diagonal(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::diagonal_backward", c.sizes(0), c.int_of("offset"), c.int_of("dim1"),
                        c.int_of("dim2"));
  });
}
void unfold(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::unfold_backward", c.sizes(0), c.int_of(1), c.int_of(2), c.int_of(3));
  });
}

// The parts of a split along `dim`, in order: zeros stand for those without a gradient.
Term joined_parts(GradContext& c, int64_t dim) {
  std::vector<GradValue> parts;
  for (size_t k = 0; k < c.result_list_size(); ++k) parts.push_back(c.grad_or_zeros_of(0, k));
  return call(c, "aten::cat", std::move(parts), dim);
}
void split_along(GradContext& c) {
  c.give(0, [&] { return joined_parts(c, c.int_of("dim")); });
}
// tensor_split: parts may lie anywhere, in any order.
void cut(GradContext& c, int64_t dim, const IntVector& bounds) {
  c.give(0, [&] {
    Term sum(c, GradValue());
    const int64_t size = c.size(0, dim);
    for (size_t k = 0; k < c.result_list_size(); ++k) {
      const auto clamped = [&](int64_t at) {
        return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
      };
      const int64_t first = k == 0 ? 0 : clamped(bounds[k - 1]);
      const int64_t last = k < bounds.size() ? clamped(bounds[k]) : size;
      const Term part(c, c.grad_of(0, k));
      const Term whole =
          part.then("aten::slice_backward", c.sizes(0), dim, first, std::max(first, last), 1);
      sum = sum + whole;
    }
    return sum;
  });
}
void tensor_split_indices(GradContext& c) { cut(c, c.int_of("dim"), c.ints_of(1)); }
// Parts cut at places that were not in order overlap; each goes back to where it began.
Term overlapping_parts(GradContext& c, int64_t dim) {
  const int64_t size = c.size(0, dim);
  const Term indices = arg(c, 1);
  const Term bounds =
      choose(less(indices, 0), indices + size, indices).then("aten::clamp", 0, size);
  Term sum = call(c, "aten::zeros", c.sizes(0), c.dtype(0));
  for (size_t k = 0; k < c.result_list_size(); ++k) {
    const Term part(c, c.grad_of(0, k));
    if (!part.defined()) continue;
    Term places = call(c, "aten::arange", c.result_shape(0, k)[static_cast<size_t>(dim)]);
    if (k > 0) places = places + bounds.then("aten::select.int", 0, static_cast<int64_t>(k) - 1);
    sum = sum.then("aten::index_add", dim, places, part);
  }
  return sum;
}
void tensor_split_tensor(GradContext& c) {
  c.give(0, [&] {
    const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
    int64_t covered = 0;
    for (size_t k = 0; k < c.result_list_size(); ++k)
      covered += c.result_shape(0, k)[static_cast<size_t>(dim)];
    return covered == c.size(0, dim) ? joined_parts(c, dim) : overlapping_parts(c, dim);
  });
}
int64_t split_dim(GradContext& c, int64_t axis) { return axis == 1 && c.rank(0) == 1 ? 0 : axis; }
template <int64_t kAxis>
void split_axis(GradContext& c) {
  c.give(0, [&] { return joined_parts(c, split_dim(c, kAxis)); });
}
template <int64_t kAxis>
void split_axis_at(GradContext& c) {
  cut(c, split_dim(c, kAxis), c.ints_of(1));
}

void unbind(GradContext& c) {
  c.give(0, [&] {
    std::vector<GradValue> parts;
    for (size_t k = 0; k < c.result_list_size(); ++k) parts.push_back(c.grad_or_zeros_of(0, k));
    return call(c, "aten::stack", std::move(parts), c.int_of("dim"));
  });
}

void broadcast_tensors(GradContext& c) {
  IntVector sizes;  // From the last dimension on.
  for (size_t k = 0; k < c.list_size(0); ++k) {
    const IntSpan own = c.shape(0, k);
    if (own.size() > sizes.size()) sizes.resize(own.size(), 1);
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t& size = sizes[d];
      if (size == 1) size = own[own.size() - 1 - d];
    }
  }
  std::reverse(sizes.begin(), sizes.end());
  std::vector<GradValue> made;
  for (size_t k = 0; k < c.list_size(0); ++k) made.push_back(expand(arg(c, 0, k), sizes));
  c.set_result(0, std::move(made));
}
// Each by itself: those of the list that require no gradient give some that require none.
template <int kRank>
void atleast_sequence(GradContext& c) {
  std::vector<GradValue> made;
  for (size_t k = 0; k < c.list_size(0); ++k) {
    const Term x = arg(c, 0, k);
    if constexpr (kRank == 1) made.push_back(x.then("aten::atleast_1d"));
    if constexpr (kRank == 2) made.push_back(x.then("aten::atleast_2d"));
    if constexpr (kRank == 3) made.push_back(x.then("aten::atleast_3d"));
  }
  c.set_result(0, std::move(made));
}

void as_strided(GradContext& c) {
  c.give(0, [&] {
    const IntSpan strides = c.strides(0);
    return grad(c).then("tierup::as_strided_backward", c.sizes(0), strides, c.offset(0),
                        c.ints_of(1), c.ints_of(2), c.int_of(3, c.offset(0)));
  });
}
void copy_into(GradContext& c) {
  c.give_zeros(0);
  c.give(1, [&] { return grad(c); });
}

// --- a part of self is replaced by src

void select_scatter(GradContext& c) {
  const int64_t dim = c.int_of("dim");
  const int64_t index = c.int_of("index");
  c.give(0, [&] {
    const Term nothing = call(c, "aten::zeros", c.sizes(1), c.dtype(1));
    return grad(c).then("aten::select_scatter", nothing, dim, index);
  });
  c.give(1, [&] { return grad(c).then("aten::select.int", dim, index); });
}
void slice_scatter(GradContext& c) {
  const auto bounds = [&](ArgIndex i) { return c.value_of(i); };
  c.give(0, [&] {
    const Term nothing = call(c, "aten::zeros", c.sizes(1), c.dtype(1));
    return grad(c).then("aten::slice_scatter", nothing, c.int_of("dim"), bounds("start"),
                        bounds("end"), c.int_of("step"));
  });
  c.give(1, [&] {
    return grad(c).then("aten::slice.Tensor", c.int_of("dim"), bounds("start"), bounds("end"),
                        c.int_of("step"));
  });
}
void diagonal_scatter(GradContext& c) {
  c.give(0, [&] {
    const Term nothing = call(c, "aten::zeros", c.sizes(1), c.dtype(1));
    return grad(c).then("aten::diagonal_scatter", nothing, c.int_of("offset"), c.int_of("dim1"),
                        c.int_of("dim2"));
  });
  c.give(1, [&] {
    return grad(c).then("aten::diagonal", c.int_of("offset"), c.int_of("dim1"), c.int_of("dim2"));
  });
}
void as_strided_scatter(GradContext& c) {
  c.give(0, [&] {
    const Term nothing = call(c, "aten::zeros", c.sizes(1), c.dtype(1));
    return grad(c)
        .then("aten::contiguous")
        .then("aten::as_strided_scatter", nothing, c.ints_of(2), c.ints_of(3), c.value_of(4));
  });
  c.give(1, [&] {
    return grad(c)
        .then("aten::contiguous")
        .then("aten::as_strided_copy", c.ints_of(2), c.ints_of(3), c.value_of(4));
  });
}

// In place alone.
void fill_diagonal(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::clone").then("aten::fill_diagonal_", 0, c.bool_of("wrap"));
  });
}

// --- the parts' own gradients

void select_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::select.int", c.int_of(2), c.int_of(3)); });
}
void slice_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::slice.Tensor", c.int_of(2), c.int_of(3), c.int_of(4), c.int_of(5));
  });
}
void diagonal_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::diagonal", c.int_of(2), c.int_of(3), c.int_of(4)); });
}
void unfold_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::unfold", c.int_of(2), c.int_of(3), c.int_of(4)); });
}
// The same way back through the storage: places that several elements of the input share sum what
// these got, divided by how many they are.
void as_strided_backward(GradContext& c) {
  c.give(0, [&] {
    const IntVector sizes = c.ints_of(1);
    const IntVector strides = c.ints_of(2);
    const int64_t first = std::min(c.int_of(3), c.int_of(6));
    const int64_t own = c.int_of(3) - first;
    const int64_t viewed = c.int_of(6) - first;
    const int64_t length = std::max(kernels::strided_reach(sizes, strides, own),
                                    kernels::strided_reach(c.ints_of(4), c.ints_of(5), viewed));
    const auto stored = [&](const Term& values) {
      return values.then("tierup::as_strided_backward", IntVector{length}, IntVector{1}, 0, sizes,
                         strides, own);
    };
    const Term g = grad(c);
    Term storage = stored(g);
    if (kernels::may_overlap(sizes, strides)) storage = storage / stored(ones_like(g));
    return storage.then("aten::as_strided_copy", c.ints_of(4), c.ints_of(5), viewed);
  });
}
void trace_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::trace"); });
}

// --- shuffles: the same elements in other places

void pixel_shuffle(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::pixel_unshuffle", c.int_of(1)); });
}
void pixel_unshuffle(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::pixel_shuffle", c.int_of(1)); });
}
void channel_shuffle(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::channel_shuffle", c.size(0, 1) / c.int_of(1)); });
}
void flip(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::flip", c.ints_of(1)); });
}
void fliplr(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::fliplr"); });
}
void flipud(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::flipud"); });
}
void roll(GradContext& c) {
  c.give(0, [&] {
    IntVector shifts = c.ints_of(1);
    for (int64_t& shift : shifts) shift = -shift;
    return grad(c).then("aten::roll", shifts, c.ints_of(2));
  });
}
void rot90(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::rot90", -c.int_of(1), c.ints_of(2)); });
}
void fftshift(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::fft_ifftshift", c.value_of(1)); });
}
void ifftshift(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::fft_fftshift", c.value_of(1)); });
}

constexpr auto kNone = DerivativeKind::kNone;

constexpr DerivativeRow kRows[] = {
    {"aten::alias", &same},
    {"aten::alias_copy", &same},
    {"aten::view", &back_to_sizes},
    {"aten::view_copy", &back_to_sizes},
    {"aten::reshape", &back_to_sizes},
    {"aten::_reshape_copy", &back_to_sizes},
    {"aten::_reshape_alias", &back_to_sizes},
    {"aten::_reshape_alias_copy", &back_to_sizes},
    {"aten::reshape_as", DerivativeKind::kDecomposition, &reshape_as},
    {"aten::view_as", DerivativeKind::kDecomposition, &view_as},
    {"aten::_unsafe_view", &back_to_sizes},
    {"aten::flatten.using_ints", &back_to_sizes},
    {"aten::unflatten.int", &back_to_sizes},
    {"aten::ravel", &back_to_sizes},
    {"aten::squeeze", &back_to_sizes},
    {"aten::squeeze.dim", &back_to_sizes},
    {"aten::squeeze.dims", &back_to_sizes},
    {"aten::squeeze_copy", &back_to_sizes},
    {"aten::squeeze_copy.dim", &back_to_sizes},
    {"aten::squeeze_copy.dims", &back_to_sizes},
    {"aten::unsqueeze", &back_to_sizes},
    {"aten::unsqueeze_copy", &back_to_sizes},
    {"aten::atleast_1d", &back_to_sizes},
    {"aten::atleast_2d", &back_to_sizes},
    {"aten::atleast_3d", &back_to_sizes},
    {"aten::atleast_1d.Sequence", DerivativeKind::kDecomposition, &atleast_sequence<1>},
    {"aten::atleast_2d.Sequence", DerivativeKind::kDecomposition, &atleast_sequence<2>},
    {"aten::atleast_3d.Sequence", DerivativeKind::kDecomposition, &atleast_sequence<3>},
    {"aten::t", &t},
    {"aten::t_copy", &t},
    {"aten::transpose.int", &transpose_dims},
    {"aten::transpose_", &transpose_dims},
    {"aten::transpose_copy.int", &transpose_dims},
    {"aten::numpy_T", &reversed},
    {"aten::numpy_T.a", &reversed},
    {"aten::mT", &turned_matrix},
    {"aten::mT.a", &turned_matrix},
    {"aten::mH", &adjoint_matrix},
    {"aten::mH.a", &adjoint_matrix},
    {"aten::adjoint", &adjoint_matrix},
    {"aten::matrix_H", &adjoint_matrix},
    {"aten::matrix_H.a", &adjoint_matrix},
    {"aten::permute", &permute},
    {"aten::permute_copy", &permute},
    {"aten::movedim.intlist", &movedim},
    {"aten::movedim.int", &movedim},
    {"aten::expand", &expand_formula},
    {"aten::expand_copy", &expand_formula},
    {"aten::expand_as", DerivativeKind::kDecomposition, &expand_as},
    {"aten::broadcast_to", &expand_formula},
    {"aten::broadcast_tensors", DerivativeKind::kDecomposition, &broadcast_tensors},
    {"aten::select.int", &select},
    {"aten::select_copy.int", &select},
    {"aten::slice.Tensor", &slice},
    {"aten::slice_copy.Tensor", &slice},
    {"aten::narrow", &narrow},
    {"aten::narrow_copy", &narrow},
    {"aten::narrow.Tensor", &narrow_tensor},
    {"aten::diagonal", &diagonal},
    {"aten::diagonal_copy", &diagonal},
    {"aten::linalg_diagonal", &diagonal},
    {"aten::unfold", &unfold},
    {"aten::unfold_copy", &unfold},
    {"aten::as_strided", &as_strided, kReadsLayout},
    {"aten::as_strided_copy", &as_strided, kReadsLayout},
    {"aten::chunk", &split_along},
    {"aten::unsafe_chunk", &split_along},
    {"aten::split.Tensor", &split_along},
    {"aten::split_copy.Tensor", &split_along},
    {"aten::split.sizes", &split_along},
    {"aten::split", &split_along},
    {"aten::split_with_sizes", &split_along},
    {"aten::split_with_sizes_copy", &split_along},
    {"aten::unsafe_split.Tensor", &split_along},
    {"aten::unsafe_split_with_sizes", &split_along},
    {"aten::tensor_split.sections", &split_along, kViewsOneByOne},
    {"aten::tensor_split.indices", &tensor_split_indices, kViewsOneByOne},
    {"aten::tensor_split.tensor_indices_or_sections", &tensor_split_tensor, kViewsOneByOne},
    {"aten::hsplit.int", &split_axis<1>, kViewsOneByOne},
    {"aten::hsplit.array", &split_axis_at<1>, kViewsOneByOne},
    {"aten::vsplit.int", &split_axis<0>, kViewsOneByOne},
    {"aten::vsplit.array", &split_axis_at<0>, kViewsOneByOne},
    {"aten::dsplit.int", &split_axis<2>, kViewsOneByOne},
    {"aten::dsplit.array", &split_axis_at<2>, kViewsOneByOne},
    {"aten::unbind.int", &unbind},
    {"aten::unbind_copy.int", &unbind},
    {"aten::select_scatter", &select_scatter},
    {"aten::slice_scatter", &slice_scatter},
    {"aten::diagonal_scatter", &diagonal_scatter},
    {"aten::as_strided_scatter", &as_strided_scatter},
    {"aten::fill_diagonal_", &fill_diagonal},
    {"aten::select_backward", &select_backward},
    {"aten::slice_backward", &slice_backward},
    {"aten::diagonal_backward", &diagonal_backward},
    {"aten::unfold_backward", &unfold_backward},
    {"tierup::as_strided_backward", &as_strided_backward},
    {"aten::trace_backward", &trace_backward},
    {"aten::pixel_shuffle", &pixel_shuffle},
    {"aten::pixel_unshuffle", &pixel_unshuffle},
    {"aten::channel_shuffle", &channel_shuffle},
    {"aten::native_channel_shuffle", &channel_shuffle},
    {"aten::flip", &flip},
    {"aten::fliplr", &fliplr},
    {"aten::flipud", &flipud},
    {"aten::roll", &roll},
    {"aten::rot90", &rot90},
    {"aten::fft_fftshift", &fftshift},
    {"aten::fft_ifftshift", &ifftshift},
    {"aten::conj", &conjugated},
    {"aten::_conj", &conjugated},
    {"aten::_conj_copy", &conjugated},
    {"aten::conj_physical", &conjugated},
    {"aten::_conj_physical", &conjugated},
    {"aten::resolve_conj", &same},
    {"aten::resolve_neg", &same},
    {"aten::_neg_view", &negated},
    {"aten::_neg_view_copy", &negated},
    {"aten::detach", kNone},
    {"aten::detach_", kNone, nullptr, kKeepsElements},
    {"aten::detach_copy", kNone},
    {"aten::view.dtype", kNone},
    {"aten::view_copy.dtype", kNone},
    {"prim::data", kNone},
    {"aten::data", kNone},
    {"prim::grad", kNone},
    {"aten::grad", kNone},
    {"aten::resize_", kNone},
    {"aten::resize_as_", kNone},
    {"aten::requires_grad_", kNone, nullptr, kKeepsElements},
    {"aten::retain_grad", kNone, nullptr, kKeepsElements},
    {"aten::set_data", kNone, nullptr, kKeepsElements},
    {"aten::copy_", &copy_into},
};

}  // namespace

std::span<const DerivativeRow> views_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
