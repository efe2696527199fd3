// View operators: new geometry over the same storage, and their in-place twins.
#include "tierup/kernels/shape/view.h"

#include "tierup/kernels/shape/slicing.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// foo_ of a view: `self` takes the geometry of the view.
template <auto View>
struct GeometryInplace;
template <typename... A, Tensor (*View)(const Tensor&, A...)>
struct GeometryInplace<View> {
  static Tensor call(const Tensor& self, A... args) {
    k::adopt_geometry(self, View(self, args...));
    return self;
  }
};
template <auto View>
inline constexpr auto geometry_inplace = &GeometryInplace<View>::call;

template <auto Fn>
std::vector<Tensor> each(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(Fn(tensor));
  return result;
}

// The part with a storage of its own over the same bytes, which count their writes apart.
Tensor counted_apart(const Tensor& part) {
  const Ref<Storage> whole = part.storage();
  Tensor own = part.detach();
  own.impl()->storage = Storage::borrow(
      whole->data(), whole->bytes(), [whole] {}, whole->device());
  return own;
}

// Parts that PyTorch does not take for views: a write to one is none to the others, nor to the
// whole, which nobody is to read any more. A backward pass tells the difference.
template <auto Split>
struct UnsafeParts;
template <typename... A, std::vector<Tensor> (*Split)(const Tensor&, A...)>
struct UnsafeParts<Split> {
  static std::vector<Tensor> call(const Tensor& self, A... args) {
    std::vector<Tensor> parts = Split(self, args...);
    for (Tensor& part : parts) part = counted_apart(part);
    return parts;
  }
};
template <auto Split>
inline constexpr auto unsafe_parts = &UnsafeParts<Split>::call;

constexpr OpRow kRows[] = {
    {"aten::alias(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::alias>, ir::kNoEffect,
     &shapes::same, facts(OpKind::kSelf, Role::kRearrangement)},
    {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", boxed_lazy<&k::view>, ir::kNoEffect,
     &shapes::view, facts(Role::kView, OpKind::kView)},
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", boxed_lazy<&k::view_dtype>},
    {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", boxed_lazy<&k::reshape>,
     ir::kNoEffect, &shapes::view, facts(Role::kView, OpKind::kView)},
    {"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", boxed_lazy<&k::view_as>,
     ir::kNoEffect, &shapes::other, facts(OpKind::kViewAs)},
    {"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", boxed_lazy<&k::reshape_as>,
     ir::kNoEffect, &shapes::other, facts(OpKind::kViewAs)},
    {"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", boxed_lazy<&k::view>,
     ir::kNoEffect, &shapes::view, facts(OpKind::kView)},
    {"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
     boxed_lazy<&k::reshape_alias>, ir::kNoEffect, &shapes::view},
    {"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
     boxed_lazy<&k::flatten>, ir::kNoEffect, &shapes::flatten,
     facts(Role::kFlatten, OpKind::kFlatten)},
    {"aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
     boxed_lazy<&k::unflatten>, ir::kNoEffect, &shapes::unflatten,
     facts(Role::kRearrangement, OpKind::kUnflatten)},
    {"aten::ravel(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::ravel>, ir::kNoEffect, nullptr,
     facts(OpKind::kRavel)},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     boxed_lazy<&k::transpose>, ir::kNoEffect, &shapes::transpose,
     facts(Role::kTranspose, Fits::kTwoDims, OpKind::kTranspose)},
    {"aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
     boxed_lazy<geometry_inplace<&k::transpose>>, ir::kNoEffect, nullptr,
     facts(Geometry::kChanged)},
    other_name("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
               "aten::transpose.int"),
    other_name("aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)",
               "aten::transpose_"),
    other_name("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
               "aten::transpose.int"),
    other_name("aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
               "aten::transpose_"),
    {"aten::t(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::t>, ir::kNoEffect,
     &shapes::transpose_matrix, facts(OpKind::kTurnMatrix, Role::kRearrangement, Fits::kMatrix)},
    {"aten::t_(Tensor(a!) self) -> Tensor(a!)", boxed_lazy<geometry_inplace<&k::t>>, ir::kNoEffect,
     nullptr, facts(Geometry::kChanged)},
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", boxed_lazy<&k::permute>,
     ir::kNoEffect, &shapes::permute,
     facts(Role::kRearrangement, Fits::kPermutation, OpKind::kPermute)},
    {"aten::numpy_T(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::reverse_dims>, ir::kNoEffect,
     &shapes::transpose_matrix, facts(OpKind::kTurnMatrix, Fits::kMatrix)},
    {"aten::numpy_T.a(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::reverse_dims>},
    {"aten::mT(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::matrix_transpose>, ir::kNoEffect,
     nullptr, facts(OpKind::kTurnMatrices)},
    {"aten::mT.a(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::matrix_transpose>},
    {"aten::mH(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::adjoint>, ir::kNoEffect, nullptr,
     facts(OpKind::kTurnMatrices)},
    {"aten::mH.a(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::adjoint>},
    {"aten::adjoint(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::adjoint>, ir::kNoEffect, nullptr,
     facts(OpKind::kTurnMatrices)},
    {"aten::matrix_H(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::matrix_adjoint>},
    {"aten::matrix_H.a(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::matrix_adjoint>},
    {"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     boxed_lazy<&k::movedim>, ir::kNoEffect, nullptr, facts(OpKind::kMovedim)},
    {"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     boxed_lazy<&k::movedim_int>, ir::kNoEffect, nullptr,
     facts(OpKind::kMovedim, Role::kRearrangement)},
    other_name(
        "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        "aten::movedim.intlist"),
    other_name("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
               "aten::movedim.int"),
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::squeeze>, ir::kNoEffect,
     &shapes::squeeze, facts(OpKind::kSqueezeAll, Fits::kDims)},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", boxed_lazy<&k::squeeze_dim>,
     ir::kNoEffect, &shapes::squeeze, facts(Role::kRearrangement, Fits::kDims, OpKind::kSqueeze)},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", boxed_lazy<&k::squeeze_dims>,
     ir::kNoEffect, &shapes::squeeze, facts(OpKind::kSqueeze, Fits::kDims)},
    {"aten::squeeze_(Tensor(a!) self) -> Tensor(a!)", boxed_lazy<geometry_inplace<&k::squeeze>>,
     ir::kNoEffect, nullptr, facts(Geometry::kChanged)},
    {"aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)",
     boxed_lazy<geometry_inplace<&k::squeeze_dim>>, ir::kNoEffect, nullptr,
     facts(Geometry::kChanged, OpKind::kSqueeze)},
    {"aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
     boxed_lazy<geometry_inplace<&k::squeeze_dims>>, ir::kNoEffect, nullptr,
     facts(Geometry::kChanged)},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", boxed_lazy<&k::unsqueeze>,
     ir::kNoEffect, &shapes::unsqueeze,
     facts(Role::kRearrangement, Fits::kNewDim, OpKind::kUnsqueeze)},
    {"aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)",
     boxed_lazy<geometry_inplace<&k::unsqueeze>>, ir::kNoEffect, nullptr,
     facts(Geometry::kChanged, OpKind::kUnsqueeze)},
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     boxed_lazy<&k::expand>, ir::kNoEffect, &shapes::expand, facts(Role::kExpand, OpKind::kExpand)},
    {"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", boxed_lazy<&k::expand_as>,
     ir::kNoEffect, &shapes::other, facts(OpKind::kExpandAs)},
    {"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", boxed_lazy<&k::broadcast_to>,
     ir::kNoEffect, &shapes::expand},
    {"aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", boxed_lazy<&k::broadcast_tensors>},
    {"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor(a)",
     boxed_lazy<&k::as_strided>},
    {"aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor(a!)",
     boxed_lazy<geometry_inplace<&k::as_strided>>, ir::kNoEffect, nullptr,
     facts(Geometry::kChanged)},
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", boxed_lazy<&k::select>,
     ir::kNoEffect, &shapes::select, facts(Role::kSelect, Fits::kIndex, OpKind::kSelect)},
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor(a)",
     boxed_lazy<&k::slice>, ir::kNoEffect, &shapes::slice,
     facts(Role::kSlice, Fits::kStep, OpKind::kSlice)},
    {"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
     boxed_lazy<&k::narrow>, ir::kNoEffect, &shapes::narrow,
     facts(OpKind::kNarrow, Role::kRearrangement)},
    {"aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
     boxed_lazy<&k::narrow_tensor>},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
     boxed_lazy<&k::diagonal>},
    {"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
     boxed_lazy<&k::diagonal>},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
     boxed_lazy<&k::unfold>},
    {"aten::atleast_1d(Tensor self) -> Tensor", boxed_lazy<&k::atleast_1d>},
    {"aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", boxed_lazy<&each<&k::atleast_1d>>},
    {"aten::atleast_2d(Tensor self) -> Tensor", boxed_lazy<&k::atleast_2d>},
    {"aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", boxed_lazy<&each<&k::atleast_2d>>},
    {"aten::atleast_3d(Tensor self) -> Tensor", boxed_lazy<&k::atleast_3d>},
    {"aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", boxed_lazy<&each<&k::atleast_3d>>},

    {"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::chunk>, ir::kNoEffect, &shapes::chunk, facts(Role::kParts, OpKind::kChunk)},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
     boxed_lazy<unsafe_parts<&k::chunk>>, ir::kNoEffect, &shapes::chunk},
    {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::split>, ir::kNoEffect, &shapes::split, facts(Role::kParts, OpKind::kSplit)},
    {"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::split_with_sizes>, ir::kNoEffect, &shapes::split_by_sizes, facts(Role::kParts)},
    {"aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::split_with_sizes>, ir::kNoEffect, &shapes::split_by_sizes, facts(Role::kParts)},
    {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::split_with_sizes>, ir::kNoEffect, &shapes::split_by_sizes,
     facts(Role::kParts, OpKind::kSplit)},
    {"aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
     boxed_lazy<unsafe_parts<&k::split>>, ir::kNoEffect, &shapes::split},
    {"aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
     boxed_lazy<unsafe_parts<&k::split_with_sizes>>, ir::kNoEffect, &shapes::split_by_sizes},
    {"aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::tensor_split_sections>},
    {"aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::tensor_split_indices>},
    {"aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
     "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
     boxed_lazy<&k::tensor_split_tensor>},
    {"aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     boxed_lazy<&k::hsplit_sections>},
    {"aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
     boxed_lazy<&k::hsplit_indices>},
    {"aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     boxed_lazy<&k::vsplit_sections>},
    {"aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
     boxed_lazy<&k::vsplit_indices>},
    {"aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     boxed_lazy<&k::dsplit_sections>},
    {"aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
     boxed_lazy<&k::dsplit_indices>},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", boxed_lazy<&k::unbind>,
     ir::kNoEffect, &shapes::unbind, facts(Role::kUnbind, OpKind::kUnbind)},
};

}  // namespace

std::span<const OpRow> view_rows() { return kRows; }

}  // namespace tierup::ops
