// Layouts: oneDNN memory descriptors over PyTorch's order of dimensions.
#pragma once

#include <dnnl.hpp>
#include <optional>

#include "tierup/base/small_vector.h"
#include "tierup/tensor/dtype.h"

namespace tierup::kernels::net {

using dnnl::memory;

memory::dims dims_of(IntSpan sizes);
IntVector sizes_of(const memory::desc& desc);
memory::data_type element_type(ScalarType dtype);

memory::desc strided(IntSpan sizes, IntSpan strides, ScalarType dtype = ScalarType::kFloat);
memory::desc row_major(IntSpan sizes, ScalarType dtype = ScalarType::kFloat);
// Dimension 1 innermost.
memory::desc channels_last(IntSpan sizes);
// To be chosen by a primitive.
memory::desc any_layout(IntSpan sizes);

// Dimensions in the same order from slow to fast, without gaps; itself where it has blocks.
memory::desc dense_like(const memory::desc& desc);

// Of these sizes, with the dimensions in the order of `desc`, which is plain and has as many; those
// that have one entry there are the slowest.
memory::desc ordered_like(const memory::desc& desc, IntSpan sizes);

// Described by strides alone, without blocks.
bool is_plain(const memory::desc& desc);
IntVector strides_of(const memory::desc& plain);
// The same elements at the same places; strides of dimensions of size 1 do not count.
bool same_layout(const memory::desc& a, const memory::desc& b);
// A copy between two layouts as rows of elements that lie side by side in both; strides in
// elements. Nothing where it takes more than one loop over rows.
struct Rows {
  int64_t count = 1;
  int64_t width = 1;
  int64_t from_stride = 0;
  int64_t to_stride = 0;
};
std::optional<Rows> rows_of(const memory::desc& from, const memory::desc& to);

// The same memory seen with dimensions in another order, or with other sizes; nullopt if strides
// cannot say it.
std::optional<memory::desc> permuted(const memory::desc& desc, IntSpan order);
std::optional<memory::desc> viewed(const memory::desc& desc, IntSpan sizes);
// How a tensor of the sizes `in` has to lie for its view of the sizes `out`, which joins
// dimensions, to have its channels innermost; nullopt where those are not innermost in `desc`.
std::optional<memory::desc> channels_last_of_view(const memory::desc& desc, IntSpan in,
                                                  IntSpan out);

}  // namespace tierup::kernels::net
