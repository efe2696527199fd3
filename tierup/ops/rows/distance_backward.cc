// Gradients of distances and of reductions of segments: what their backward passes call.
#include "tierup/kernels/linalg/distance_backward.h"

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    {"aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
     boxed<&k::cdist_backward>},
    {"aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
     boxed<&k::pdist_backward>},
    {"aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, "
     "Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
     boxed<&k::segment_reduce_backward>},
};

}  // namespace

std::span<const OpRow> distance_backward_rows() { return kRows; }

}  // namespace tierup::ops
