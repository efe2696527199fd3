// Differences, integrals, sample statistics, triangles and diagonals.
#include "tierup/kernels/reduce/calculus.h"
#include "tierup/kernels/reduce/segment.h"
#include "tierup/kernels/shape/triangle.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

Tensor trapz_dx(const Tensor& y, double dx, int64_t dim) {
  return k::trapezoid_dx(y, Scalar(dx), dim);
}

using Axes = std::optional<IntVector>;
Axes one_axis(std::optional<int64_t> dim) { return dim ? Axes(IntVector{*dim}) : std::nullopt; }

std::vector<Tensor> gradient_int(const Tensor& self, const std::optional<Scalar>& spacing,
                                 std::optional<int64_t> dim, int64_t edge_order) {
  return k::gradient(self, {spacing.value_or(Scalar(1))}, one_axis(dim), edge_order);
}
std::vector<Tensor> gradient_number(const Tensor& self, const Scalar& spacing,
                                    const IntVector& dims, int64_t edge_order) {
  return k::gradient(self, {spacing}, dims, edge_order);
}
std::vector<Tensor> gradient_plain(const Tensor& self, const IntVector& dims, int64_t edge_order) {
  return k::gradient(self, {Scalar(1)}, dims, edge_order);
}
std::vector<Tensor> gradient_numbers_int(const Tensor& self, const std::vector<Scalar>& spacing,
                                         std::optional<int64_t> dim, int64_t edge_order) {
  return k::gradient(self, spacing, one_axis(dim), edge_order);
}
// A list of spacings has one for each dimension; a number is for all.
void check_spacings(size_t spacings, const IntVector& dims) {
  require(spacings == dims.size(), ErrorCode::kInvalidArgument,
          "torch.gradient expected spacing to be unspecified, a scalar or its spacing and dim "
          "arguments to have the same length, but got {} and {}",
          spacings, dims.size());
}
std::vector<Tensor> gradient_numbers(const Tensor& self, const std::vector<Scalar>& spacing,
                                     const IntVector& dims, int64_t edge_order) {
  check_spacings(spacing.size(), dims);
  return k::gradient(self, spacing, dims, edge_order);
}
std::vector<Tensor> gradient_tensors_int(const Tensor& self, const std::vector<Tensor>& spacing,
                                         std::optional<int64_t> dim, int64_t edge_order) {
  return k::gradient_coordinates(self, spacing, one_axis(dim), edge_order);
}
std::vector<Tensor> gradient_tensors(const Tensor& self, const std::vector<Tensor>& spacing,
                                     const IntVector& dims, int64_t edge_order) {
  check_spacings(spacing.size(), dims);
  return k::gradient_coordinates(self, spacing, dims, edge_order);
}

// The factories' layout, device and pin_memory change nothing on a CPU.
template <auto Fn>
Tensor indices(int64_t rows, int64_t columns, int64_t offset, std::optional<ScalarType> dtype,
               std::optional<int64_t> /*layout*/, std::optional<Device> /*device*/,
               std::optional<bool> /*pin_memory*/) {
  return Fn(rows, columns, offset, dtype.value_or(ScalarType::kLong));
}
template <auto Fn>
Tensor indices_long(int64_t rows, int64_t columns, int64_t offset) {
  return Fn(rows, columns, offset, ScalarType::kLong);
}

Tensor fill_diagonal(const Tensor& self, const Scalar& value, bool wrap) {
  k::fill_diagonal_(self, value, wrap);
  return self;
}

constexpr OpRow kRows[] = {
    {"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "
     "Tensor",
     boxed<&k::diff>},
    {"aten::diff.out(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, "
     "*, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::diff>},
    {"aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", boxed<&k::trapezoid>},
    {"aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", boxed<&k::trapezoid_dx>},
    {"aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", boxed<&k::trapezoid>},
    {"aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", boxed<&trapz_dx>},
    {"aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
     boxed<&k::cumulative_trapezoid>},
    {"aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
     boxed<&k::cumulative_trapezoid_dx>},
    {"aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
     "edge_order=1) -> Tensor[]",
     boxed<&gradient_int>},
    {"aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> "
     "Tensor[]",
     boxed<&gradient_number>},
    {"aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
     boxed<&gradient_plain>},
    {"aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
     "edge_order=1) -> Tensor[]",
     boxed<&gradient_numbers_int>},
    {"aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) "
     "-> Tensor[]",
     boxed<&gradient_numbers>},
    {"aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
     "edge_order=1) -> Tensor[]",
     boxed<&gradient_tensors_int>},
    {"aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> "
     "Tensor[]",
     boxed<&gradient_tensors>},
    {"aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> "
     "Tensor",
     boxed<&k::cov>},
    {"aten::corrcoef(Tensor self) -> Tensor", boxed<&k::corrcoef>},
    {"aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", boxed<&k::dist>},
    {"aten::dist.out(Tensor self, Tensor other, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::dist>},
    {"aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", boxed<&k::vander>},
    {"aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", boxed<&k::linalg_vander>},
    {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", boxed<&k::tril>, ir::kNoEffect,
     &shapes::same},
    {"aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::tril>},
    {"aten::tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", inplace<&k::tril>},
    {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", boxed<&k::triu>, ir::kNoEffect,
     &shapes::same},
    {"aten::triu.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::triu>},
    {"aten::triu_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", inplace<&k::triu>},
    {"aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&indices<&k::tril_indices>>},
    {"aten::tril_indices.out(int row, int col, int offset=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&indices_long<&k::tril_indices>>},
    {"aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&indices<&k::triu_indices>>},
    {"aten::triu_indices.out(int row, int col, int offset=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&indices_long<&k::triu_indices>>},
    {"aten::diag(Tensor self, int diagonal=0) -> Tensor", boxed<&k::diag>},
    {"aten::diag.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::diag>},
    {"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
     boxed<&k::diag_embed>},
    {"aten::diag_embed.out(Tensor self, int offset=0, int dim1=-2, int dim2=-1, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&k::diag_embed>},
    {"aten::diagflat(Tensor self, int offset=0) -> Tensor", boxed<&k::diagflat>},
    {"aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
     boxed<&fill_diagonal>},
    {"aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> "
     "Tensor",
     boxed<&k::unfold_backward>},
    {"aten::unfold_backward.out(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step, "
     "*, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::unfold_backward>},
};

}  // namespace

std::span<const OpRow> calculus_rows() { return kRows; }

}  // namespace tierup::ops
