// Gradients of views and masks: the operators that their backward passes call.
#include "tierup/kernels/indexing/view_backward.h"

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    {"aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> "
     "Tensor",
     boxed<&k::select_backward>},
    {"aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt "
     "end, SymInt step) -> Tensor",
     boxed<&k::slice_backward>},
    {"aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int "
     "dim2) -> Tensor",
     boxed<&k::diagonal_backward>},
    {"aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
     boxed<&k::masked_scatter_backward>},
    {"aten::trace_backward(Tensor grad, SymInt[] sizes) -> Tensor", boxed<&k::trace_backward>},
    {"tierup::as_strided_backward(Tensor grad, int[] input_sizes, int[] input_strides, int "
     "input_offset, int[] sizes, int[] strides, int offset) -> Tensor",
     boxed<&k::as_strided_backward>},
};

}  // namespace

std::span<const OpRow> view_backward_rows() { return kRows; }

}  // namespace tierup::ops
