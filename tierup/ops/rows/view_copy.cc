// Copies of views: foo_copy operators, view scatters and the shuffles of image layers.
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/shape/view_scatter.h"
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// foo_copy of a view: the same values in memory of their own.
template <auto View>
struct CopyOf;
template <typename... A, Tensor (*View)(A...)>
struct CopyOf<View> {
  static Tensor call(A... args) { return k::clone(View(args...), MemoryFormat::kContiguous); }
};
template <typename... A, std::vector<Tensor> (*View)(A...)>
struct CopyOf<View> {
  static std::vector<Tensor> call(A... args) {
    std::vector<Tensor> views = View(args...);
    for (Tensor& view : views) view = k::clone(view, MemoryFormat::kContiguous);
    return views;
  }
};
template <auto View>
inline constexpr auto copy_of = &CopyOf<View>::call;

// foo_copy.out for a list: writes the views into the given tensors.
template <auto View>
struct ListOut;
template <typename... A, std::vector<Tensor> (*View)(A...)>
struct ListOut<View> {
  static void call(A... args, const std::vector<Tensor>& out) {
    const std::vector<Tensor> views = View(args...);
    require(views.size() == out.size(), ErrorCode::kInvalidArgument,
            "expected {} output tensors, got {}", views.size(), out.size());
    for (size_t i = 0; i < out.size(); ++i) detail::write_out(out[i], views[i]);
  }
};
template <auto View>
inline constexpr auto list_out = &ListOut<View>::call;

constexpr OpRow kRows[] = {
    {"aten::view_as_real_copy(Tensor self) -> Tensor", boxed<copy_of<&k::view_as_real>>},
    {"aten::view_as_complex_copy(Tensor self) -> Tensor", boxed<copy_of<&k::view_as_complex>>},
    {"aten::_conj_copy(Tensor self) -> Tensor", boxed<&k::conj_physical>},
    {"aten::_neg_view_copy(Tensor self) -> Tensor", pointwise_row<&k::neg>},
    {"aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor", boxed<copy_of<&k::reshape>>},
    {"aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
     boxed<copy_of<&k::split>>},
    {"aten::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) "
     "-> ()",
     boxed<list_out<&k::split>>},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor",
     boxed<copy_of<&k::slice>>},
    {"aten::slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
     "SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::slice>>},
    {"aten::detach_copy(Tensor self) -> Tensor", boxed<copy_of<&k::alias>>},
    {"aten::detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::alias>>},
    {"aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
     boxed<copy_of<&k::select>>},
    {"aten::select_copy.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<copy_of<&k::select>>},
    {"aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor",
     boxed<copy_of<&k::reshape_alias>>},
    {"aten::_reshape_alias_copy.out(Tensor self, SymInt[] size, SymInt[] stride, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<copy_of<&k::reshape_alias>>},
    {"aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     boxed<&k::channel_shuffle>},
    {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", boxed<copy_of<&k::unsqueeze>>},
    {"aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::unsqueeze>>},
    {"aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
     boxed<copy_of<&k::narrow>>},
    {"aten::narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<copy_of<&k::narrow>>},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     boxed<&k::select_scatter>},
    {"aten::select_scatter.out(Tensor self, Tensor src, int dim, SymInt index, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&k::select_scatter>},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     boxed<copy_of<&k::diagonal>>},
    {"aten::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<copy_of<&k::diagonal>>},
    {"aten::alias_copy(Tensor self) -> Tensor", boxed<copy_of<&k::alias>>},
    {"aten::alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::alias>>},
    {"aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     boxed<copy_of<&k::as_strided>>},
    {"aten::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::as_strided>>},
    {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
     boxed<copy_of<&k::unfold>>},
    {"aten::unfold_copy.out(Tensor self, int dimension, int size, int step, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<copy_of<&k::unfold>>},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", boxed<&k::pixel_shuffle>,
     ir::kNoEffect, nullptr, facts(OpKind::kPixelShuffle)},
    {"aten::pixel_shuffle.out(Tensor self, int upscale_factor, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::pixel_shuffle>},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     boxed<&k::pixel_unshuffle>, ir::kNoEffect, nullptr, facts(OpKind::kPixelUnshuffle)},
    {"aten::pixel_unshuffle.out(Tensor self, int downscale_factor, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::pixel_unshuffle>},
    {"aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", boxed<&k::channel_shuffle>,
     ir::kNoEffect, &shapes::same, facts(OpKind::kChannelShuffle)},
    {"aten::channel_shuffle.out(Tensor self, SymInt groups, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::channel_shuffle>},
    {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", boxed<copy_of<&k::permute>>},
    {"aten::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::permute>>},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1) -> Tensor",
     boxed<&k::slice_scatter>},
    {"aten::slice_scatter.out(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::slice_scatter>},
    {"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> "
     "Tensor",
     boxed<&k::diagonal_scatter>},
    {"aten::diagonal_scatter.out(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::diagonal_scatter>},
    {"aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     boxed<&k::as_strided_scatter>},
    {"aten::as_strided_scatter.out(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
     "SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::as_strided_scatter>},
    {"aten::squeeze_copy(Tensor self) -> Tensor", boxed<copy_of<&k::squeeze>>},
    {"aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", boxed<copy_of<&k::squeeze_dim>>},
    {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", boxed<copy_of<&k::squeeze_dims>>},
    {"aten::squeeze_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::squeeze>>},
    {"aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::squeeze_dim>>},
    {"aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::squeeze_dims>>},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", boxed<copy_of<&k::unbind>>},
    {"aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()",
     boxed<list_out<&k::unbind>>},
    {"aten::view_copy(Tensor self, SymInt[] size) -> Tensor", boxed<copy_of<&k::reshape>>},
    {"aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
     boxed<copy_of<&k::view_dtype>>},
    {"aten::view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::reshape>>},
    {"aten::view_copy.dtype_out(Tensor self, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<copy_of<&k::view_dtype>>},
    {"aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
     boxed<copy_of<&k::expand>>},
    {"aten::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<copy_of<&k::expand>>},
    {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
     boxed<copy_of<&k::transpose>>},
    {"aten::transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<copy_of<&k::transpose>>},
    {"aten::t_copy(Tensor self) -> Tensor", boxed<copy_of<&k::t>>},
    {"aten::t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<copy_of<&k::t>>},
    {"aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
     boxed<copy_of<&k::split_with_sizes>>},
    {"aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, "
     "Tensor(a!)[] out) -> ()",
     boxed<list_out<&k::split_with_sizes>>},
};

}  // namespace

std::span<const OpRow> view_copy_rows() { return kRows; }

}  // namespace tierup::ops
