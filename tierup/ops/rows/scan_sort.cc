// Scans and sorts along a dimension.
#include "tierup/kernels/reduce/scan.h"

#include "tierup/kernels/reduce/scan_backward.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// Every sort here is stable.
std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool> /*stable*/,
                                       int64_t dim, bool descending) {
  return k::sort(self, dim, descending);
}
Tensor argsort_stable(const Tensor& self, bool /*stable*/, int64_t dim, bool descending) {
  return k::argsort(self, dim, descending);
}

constexpr OpRow kRows[] = {
    {"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", boxed<&k::cumsum>,
     ir::kNoEffect, &shapes::same, facts(Role::kRowwise)},
    {"aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::cumsum>},
    {"aten::cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
     inplace<&k::cumsum>},
    {"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", boxed<&k::cumprod>,
     ir::kNoEffect, &shapes::same, facts(Role::kRowwise)},
    {"tierup::cumprod_backward(Tensor grad, Tensor self, int dim) -> Tensor",
     boxed<&k::cumprod_backward>},
    {"aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::cumprod>},
    {"aten::cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
     inplace<&k::cumprod>},
    {"aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", boxed<&k::cummax>,
     ir::kNoEffect, &shapes::all_same, facts(Role::kRowwise)},
    {"aten::cummax.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
     "(Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::cummax>},
    {"aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", boxed<&k::cummin>,
     ir::kNoEffect, &shapes::all_same, facts(Role::kRowwise)},
    {"aten::cummin.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
     "(Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::cummin>},
    {"aten::logcumsumexp(Tensor self, int dim) -> Tensor", boxed<&k::logcumsumexp>, ir::kNoEffect,
     &shapes::same},
    {"aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::logcumsumexp>},
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
     "indices)",
     boxed<&k::sort>, ir::kNoEffect, &shapes::all_same},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
     "(Tensor values, Tensor indices)",
     boxed<&sort_stable>, ir::kNoEffect, &shapes::all_same},
    {"aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, "
     "Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&sort_stable>},
    {"aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, "
     "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::sort>},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", boxed<&k::argsort>,
     ir::kNoEffect, &shapes::same},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> "
     "Tensor",
     boxed<&argsort_stable>},
    {"aten::argsort.stable_out(Tensor self, *, bool stable, int dim=-1, bool descending=False, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&argsort_stable>},
    {"aten::msort(Tensor self) -> Tensor", boxed<&k::msort>},
    {"aten::msort.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::msort>},
    {"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
     "(Tensor values, Tensor indices)",
     boxed<&k::topk>, ir::kNoEffect, &shapes::top},
    {"aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, "
     "Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::topk>},
};

}  // namespace

std::span<const OpRow> scan_sort_rows() { return kRows; }

}  // namespace tierup::ops
