// Searching and counting: bins, membership, distinct elements, histograms.
#include "tierup/kernels/reduce/histogram.h"
#include "tierup/kernels/reduce/searchsorted.h"
#include "tierup/kernels/reduce/segment.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

std::tuple<Tensor, Tensor> unique_pair(const Tensor& self, bool sorted, bool return_inverse) {
  const auto [values, inverse, counts] = k::unique(self, sorted, return_inverse, false);
  return {values, inverse};
}
k::UniqueResult unique_dim_consecutive(const Tensor& self, int64_t dim, bool return_inverse,
                                       bool return_counts) {
  return k::unique_consecutive(self, return_inverse, return_counts, dim);
}

using Range = std::optional<std::vector<double>>;

std::tuple<Tensor, std::vector<Tensor>> histogramdd_int(const Tensor& self, int64_t bins,
                                                        const Range& range, const Tensor& weight,
                                                        bool density) {
  const int64_t rank = self.dim() == 0 ? 0 : self.size(-1);
  require(rank <= 64, ErrorCode::kInvalidArgument,
          "torch.histogramdd(): a histogram of {} dimensions; 64 are the most", rank);
  return k::histogramdd(self, IntVector(static_cast<size_t>(rank), bins), range, weight, density);
}
std::vector<Tensor> bin_edges(const Tensor& self, const IntVector& bins, const Range& range,
                              const Tensor& /*weight*/, bool /*density*/) {
  return k::histogramdd_bin_edges(self, bins, range);
}
Tensor from_bin_counts(const Tensor& self, const IntVector& bins, const Range& range,
                       const Tensor& weight, bool density) {
  return std::get<0>(k::histogramdd(self, bins, range, weight, density));
}
Tensor from_bin_tensors(const Tensor& self, const std::vector<Tensor>& bins, const Tensor& weight,
                        bool density) {
  return std::get<0>(k::histogramdd_edges(self, bins, std::nullopt, weight, density));
}

constexpr OpRow kRows[] = {
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     boxed<&k::searchsorted>},
    {"aten::searchsorted.Tensor_out(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
     "bool right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::searchsorted>},
    {"aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     boxed<&k::searchsorted>},
    {"aten::searchsorted.Scalar_out(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, "
     "bool right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::searchsorted>},
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
     "right=False) -> Tensor",
     boxed<&k::bucketize>},
    {"aten::bucketize.Tensor_out(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
     "right=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::bucketize>},
    {"aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool "
     "right=False) -> Tensor",
     boxed<&k::bucketize>},
    {"aten::bucketize.Scalar_out(Scalar self, Tensor boundaries, *, bool out_int32=False, bool "
     "right=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::bucketize>},
    {"aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
     "bool invert=False) -> Tensor",
     boxed<&k::isin>},
    {"aten::isin.Tensor_Tensor_out(Tensor elements, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::isin>},
    {"aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
     "bool invert=False) -> Tensor",
     boxed<&k::isin>},
    {"aten::isin.Tensor_Scalar_out(Tensor elements, Scalar test_element, *, bool "
     "assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::isin>},
    {"aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
     "bool invert=False) -> Tensor",
     boxed<&k::isin>},
    {"aten::isin.Scalar_Tensor_out(Scalar element, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::isin>},
    {"aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
     "return_counts=False) -> (Tensor, Tensor, Tensor)",
     boxed<&k::unique>},
    {"aten::_unique2.out(Tensor self, bool sorted=True, bool return_inverse=False, bool "
     "return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), "
     "Tensor(b!), Tensor(c!))",
     out_variant<&k::unique>},
    {"aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
     boxed<&unique_pair>},
    {"aten::_unique.out(Tensor self, bool sorted=True, bool return_inverse=False, *, Tensor(a!) "
     "out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     out_variant<&unique_pair>},
    {"aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
     "return_counts=False) -> (Tensor, Tensor, Tensor)",
     boxed<&k::unique_dim>},
    {"aten::unique_dim.out(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
     "return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), "
     "Tensor(b!), Tensor(c!))",
     out_variant<&k::unique_dim>},
    {"aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
     "int? dim=None) -> (Tensor, Tensor, Tensor)",
     boxed<&k::unique_consecutive>},
    {"aten::unique_consecutive.out(Tensor self, bool return_inverse=False, bool "
     "return_counts=False, int? dim=None, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> "
     "(Tensor(a!), Tensor(b!), Tensor(c!))",
     out_variant<&k::unique_consecutive>},
    {"aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool "
     "return_counts=False) -> (Tensor, Tensor, Tensor)",
     boxed<&unique_dim_consecutive>},
    {"aten::unique_dim_consecutive.out(Tensor self, int dim, bool return_inverse=False, bool "
     "return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), "
     "Tensor(b!), Tensor(c!))",
     out_variant<&unique_dim_consecutive>},
    {"aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
     boxed<&k::bincount>},
    {"aten::bincount.out(Tensor self, Tensor? weights=None, SymInt minlength=0, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&k::bincount>},
    {"aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
     boxed<&k::histc>},
    {"aten::histc.out(Tensor self, int bins=100, Scalar min=0, Scalar max=0, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::histc>},
    {"aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
     "density=False) -> (Tensor hist, Tensor bin_edges)",
     boxed<&k::histogram_edges>},
    {"aten::histogram.bins_tensor_out(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
     "density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> (Tensor(a!) hist, Tensor(b!) "
     "bin_edges)",
     out_variant<&k::histogram_edges>},
    {"aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? "
     "weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
     boxed<&k::histogram_count>},
    {"aten::histogram.bin_ct_out(Tensor self, int bins=100, *, float[]? range=None, Tensor? "
     "weight=None, bool density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> (Tensor(a!) hist, "
     "Tensor(b!) bin_edges)",
     out_variant<&k::histogram_count>},
    {"aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool "
     "density=False) -> (Tensor hist, Tensor[] bin_edges)",
     boxed<&k::histogramdd>},
    {"aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, "
     "bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
     boxed<&histogramdd_int>},
    {"aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? "
     "weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
     boxed<&k::histogramdd_edges>},
    {"aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? "
     "weight=None, bool density=False) -> Tensor[]",
     boxed<&bin_edges>},
    {"aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? "
     "weight=None, bool density=False) -> Tensor",
     boxed<&from_bin_counts>},
    {"aten::_histogramdd_from_bin_cts.out(Tensor self, int[] bins, *, float[]? range=None, Tensor? "
     "weight=None, bool density=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&from_bin_counts>},
    {"aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool "
     "density=False) -> Tensor",
     boxed<&from_bin_tensors>},
    {"aten::_histogramdd_from_bin_tensors.out(Tensor self, Tensor[] bins, *, Tensor? weight=None, "
     "bool density=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&from_bin_tensors>},
    {"aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
     "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
     boxed<&k::segment_reduce>},
    {"aten::segment_reduce.out(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
     "indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::segment_reduce>},
};

}  // namespace

std::span<const OpRow> searching_rows() { return kRows; }

}  // namespace tierup::ops
