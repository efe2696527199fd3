// What gradients of linear algebra call.
#include "tierup/kernels/cofactors.h"
#include "tierup/ops/boxing.h"
#include "tierup/ops/families.h"

namespace tierup::ops {
namespace {

constexpr OpRow kRows[] = {
    {"tierup::cofactors(Tensor A) -> Tensor", boxed<&kernels::cofactors>},
};

}  // namespace

std::span<const OpRow> linalg_backward_rows() { return kRows; }

}  // namespace tierup::ops
