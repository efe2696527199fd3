#include "tierup/kernels/net/layouts.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels::net {

memory::dims dims_of(IntSpan sizes) { return {sizes.begin(), sizes.end()}; }

IntVector sizes_of(const memory::desc& desc) {
  IntVector sizes;
  for (int d = 0; d < desc.data.ndims; ++d) sizes.push_back(desc.data.dims[d]);
  return sizes;
}

memory::data_type element_type(ScalarType dtype) {
  return dtype == ScalarType::kBool ? memory::data_type::u8 : memory::data_type::f32;
}

memory::desc strided(IntSpan sizes, IntSpan strides, ScalarType dtype) {
  if (sizes.empty()) return memory::desc({1}, element_type(dtype), memory::dims{1});
  return memory::desc(dims_of(sizes), element_type(dtype), dims_of(strides));
}

memory::desc row_major(IntSpan sizes, ScalarType dtype) {
  return strided(sizes, contiguous_strides(sizes), dtype);
}

memory::desc channels_last(IntSpan sizes) {
  IntVector strides(sizes.begin(), sizes.end());
  int64_t step = sizes[1];
  strides[1] = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d == 1) continue;
    strides[d] = step;
    step *= sizes[d];
  }
  return strided(sizes, strides);
}

memory::desc any_layout(IntSpan sizes) {
  return memory::desc(dims_of(sizes), memory::data_type::f32, memory::format_tag::any);
}

bool is_plain(const memory::desc& desc) {
  return desc.data.format_kind == dnnl_blocked && desc.data.format_desc.blocking.inner_nblks == 0;
}

IntVector strides_of(const memory::desc& plain) {
  const auto* strides = plain.data.format_desc.blocking.strides;
  return IntVector(strides, strides + plain.data.ndims);
}

namespace {

std::vector<size_t> fast_to_slow(const IntVector& strides) {
  std::vector<size_t> order(strides.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  return order;
}

// In the order that the strides give.
memory::desc without_gaps(IntSpan sizes, IntVector strides) {
  int64_t step = 1;
  for (const size_t d : fast_to_slow(strides)) {
    strides[d] = step;
    step *= sizes[d];
  }
  return strided(sizes, strides);
}

}  // namespace

memory::desc dense_like(const memory::desc& desc) {
  if (!is_plain(desc)) return desc;
  const IntVector sizes = sizes_of(desc);
  IntVector strides = strides_of(desc);
  // Where a dimension of one entry stands says nothing: around the one behind it, as row by row.
  // oneDNN's sums and products with what is spread take other places for other layouts.
  for (size_t d = sizes.size() - 1; d-- > 0;) {
    if (sizes[d] == 1) strides[d] = strides[d + 1] * sizes[d + 1];
  }
  return without_gaps(sizes, strides);
}

memory::desc ordered_like(const memory::desc& desc, IntSpan sizes) {
  const IntVector given = sizes_of(desc);
  IntVector strides = strides_of(desc);
  for (size_t d = 0; d < given.size(); ++d)
    if (given[d] == 1) strides[d] = std::numeric_limits<int64_t>::max();
  return without_gaps(sizes, strides);
}

bool same_layout(const memory::desc& a, const memory::desc& b) {
  if (a == b) return true;
  if (!is_plain(a) || !is_plain(b) || a.data.ndims != b.data.ndims ||
      a.data.data_type != b.data.data_type) {
    return false;
  }
  for (int d = 0; d < a.data.ndims; ++d) {
    if (a.data.dims[d] != b.data.dims[d]) return false;
    if (a.data.dims[d] != 1 &&
        a.data.format_desc.blocking.strides[d] != b.data.format_desc.blocking.strides[d]) {
      return false;
    }
  }
  return true;
}

std::optional<Rows> rows_of(const memory::desc& from, const memory::desc& to) {
  if (!is_plain(from) || !is_plain(to) || from.dims() != to.dims()) return std::nullopt;
  const IntVector sizes = sizes_of(to);
  const IntVector from_strides = strides_of(from);
  const IntVector to_strides = strides_of(to);
  Rows rows;
  bool is_in_row = true;
  for (const size_t d : fast_to_slow(to_strides)) {
    if (sizes[d] == 1) continue;
    is_in_row = is_in_row && from_strides[d] == rows.width && to_strides[d] == rows.width;
    if (is_in_row) {
      rows.width *= sizes[d];
    } else if (rows.count == 1) {
      rows = {sizes[d], rows.width, from_strides[d], to_strides[d]};
    } else if (from_strides[d] == rows.count * rows.from_stride &&
               to_strides[d] == rows.count * rows.to_stride) {
      rows.count *= sizes[d];
    } else {
      return std::nullopt;
    }
  }
  return rows;
}

std::optional<memory::desc> permuted(const memory::desc& desc, IntSpan order) {
  if (!is_plain(desc)) return std::nullopt;
  const IntVector sizes = sizes_of(desc);
  const IntVector strides = strides_of(desc);
  IntVector new_sizes;
  IntVector new_strides;
  for (const int64_t d : order) {
    new_sizes.push_back(sizes[static_cast<size_t>(d)]);
    new_strides.push_back(strides[static_cast<size_t>(d)]);
  }
  return strided(new_sizes, new_strides);
}

namespace {

// For each dimension of `out`, the end of those of `in` that it joins; empty if it parts any.
std::vector<size_t> joined_dimensions(IntSpan in, IntSpan out) {
  std::vector<size_t> ends;
  size_t i = 0;
  for (const int64_t wanted : out) {
    int64_t size = 1;
    while (i < in.size() && size < wanted) size *= in[i++];
    if (size != wanted) return {};
    ends.push_back(i);
  }
  while (i < in.size() && in[i] == 1) ++i;
  if (i < in.size() || ends.empty()) return {};
  ends.back() = in.size();
  return ends;
}

}  // namespace

std::optional<memory::desc> channels_last_of_view(const memory::desc& desc, IntSpan in,
                                                  IntSpan out) {
  if (!is_plain(desc) || out.size() < 3) return std::nullopt;
  const std::vector<size_t> ends = joined_dimensions(in, out);
  if (ends.empty()) return std::nullopt;
  const IntVector given = strides_of(desc);
  const auto is_innermost = [&](size_t d) { return given[d] == 1 && in[d] > 1; };
  bool has_channels_inside = false;
  for (size_t d = ends[0]; d < ends[1]; ++d) has_channels_inside |= is_innermost(d);
  if (!has_channels_inside) return std::nullopt;
  IntVector strides(in.size(), 1);
  int64_t stride = 1;
  const auto lay = [&](size_t begin, size_t end) {
    for (size_t d = end; d-- > begin;) {
      strides[d] = stride;
      stride *= in[d];
    }
  };
  lay(ends[0], ends[1]);
  lay(ends[1], in.size());
  lay(0, ends[0]);
  return strided(in, strides);
}

std::optional<memory::desc> viewed(const memory::desc& desc, IntSpan sizes) {
  if (!is_plain(desc)) return std::nullopt;
  const auto strides = view_strides(sizes_of(desc), strides_of(desc), sizes);
  if (!strides) return std::nullopt;
  return strided(sizes, *strides);
}

}  // namespace tierup::kernels::net
