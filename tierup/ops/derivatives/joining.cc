// Joining and repeating tensors.
#include <algorithm>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

bool is_skipped(const GradContext& c, size_t k) {
  return c.shape(0, k).size() == 1 && c.shape(0, k)[0] == 0;
}
void cat(GradContext& c) {
  const int64_t dim = wrap_dim(c.int_of("dim"), c.result_rank());
  int64_t start = 0;
  for (size_t k = 0; k < c.list_size(0); ++k) {
    const bool skipped = is_skipped(c, k) && c.result_rank() != 1;
    const int64_t size = skipped ? 0 : c.shape(0, k)[static_cast<size_t>(dim)];
    c.give(0, k, [&] {
      if (skipped) return call(c, "aten::zeros", IntVector{0}, c.dtype(0, k));
      return grad(c).then("aten::narrow", dim, start, size);
    });
    start += size;
  }
}
void stack(GradContext& c) {
  for (size_t k = 0; k < c.list_size(0); ++k) {
    c.give(0, k, [&] {
      return grad(c).then("aten::select.int", c.int_of("dim"), static_cast<int64_t>(k));
    });
  }
}

// All elements brought to `shape(element)` and joined along `dim`.
template <typename Shape>
void joined(GradContext& c, int64_t dim, const Shape& shape) {
  std::vector<GradValue> parts;
  for (size_t k = 0; k < c.list_size(0); ++k)
    parts.push_back(arg(c, 0, k).then("aten::reshape", shape(c.shape(0, k))));
  c.set_result(0, call(c, "aten::cat", std::move(parts), dim));
}
IntVector copied(IntSpan sizes) { return {sizes.begin(), sizes.end()}; }
void hstack(GradContext& c) {
  const bool vectors = c.shape(0, 0).size() <= 1;
  joined(c, vectors ? 0 : 1, [](IntSpan s) { return s.empty() ? IntVector{1} : copied(s); });
}
void vstack(GradContext& c) {
  joined(c, 0, [](IntSpan s) {
    if (s.empty()) return IntVector{1, 1};
    return s.size() == 1 ? IntVector{1, s[0]} : copied(s);
  });
}
void dstack(GradContext& c) {
  joined(c, 2, [](IntSpan s) {
    if (s.empty()) return IntVector{1, 1, 1};
    if (s.size() == 1) return IntVector{1, s[0], 1};
    return s.size() == 2 ? IntVector{s[0], s[1], 1} : copied(s);
  });
}
void column_stack(GradContext& c) {
  joined(c, 1, [](IntSpan s) {
    if (s.empty()) return IntVector{1, 1};
    return s.size() == 1 ? IntVector{s[0], 1} : copied(s);
  });
}

void block_diag(GradContext& c) {
  int64_t row = 0;
  int64_t column = 0;
  for (size_t k = 0; k < c.list_size(0); ++k) {
    const IntSpan s = c.shape(0, k);
    const int64_t rows = s.size() == 2 ? s[0] : 1;
    const int64_t columns = s.empty() ? 1 : s.back();
    c.give(0, k, [&] {
      return grad(c)
          .then("aten::narrow", 0, row, rows)
          .then("aten::narrow", 1, column, columns)
          .then("aten::reshape", c.sizes(0, k));
    });
    row += rows;
    column += columns;
  }
}

// Each vector along its own dimension, spread over all.
std::vector<GradValue> grid(GradContext& c, bool swapped) {
  IntVector sizes;
  const size_t count = c.list_size(0);
  for (size_t k = 0; k < count; ++k) sizes.push_back(c.shape(0, k).empty() ? 1 : c.shape(0, k)[0]);
  if (swapped && count > 1) std::swap(sizes[0], sizes[1]);
  std::vector<GradValue> made;
  for (size_t k = 0; k < count; ++k) {
    IntVector line(count, 1);
    const size_t at = swapped && k < 2 && count > 1 ? 1 - k : k;
    line[at] = sizes[at];
    made.push_back(expand(reshape(arg(c, 0, k), line), sizes));
  }
  return made;
}
void meshgrid(GradContext& c) { c.set_result(0, grid(c, false)); }
void meshgrid_indexing(GradContext& c) {
  c.set_result(0, grid(c, c.string_of("indexing") == "xy"));
}
void cartesian_prod(GradContext& c) {
  if (c.list_size(0) == 1) return c.set_result(0, arg(c, 0, 0).then("aten::alias"));
  std::vector<GradValue> columns;
  for (const GradValue& column : grid(c, false))
    columns.push_back(reshape(Term(c, column), IntVector{-1}));
  c.set_result(0, call(c, "aten::stack", std::move(columns), 1));
}
void combinations(GradContext& c) {
  const Term places = call(c, "aten::arange", c.size(0, 0));
  const Term chosen = places.then("aten::combinations", c.int_of(1), c.bool_of(2));
  c.set_result(0, arg(c, 0).then("aten::take", chosen));
}
void pad_sequence(GradContext& c) {
  int64_t longest = 0;
  for (size_t k = 0; k < c.list_size(0); ++k) longest = std::max(longest, c.shape(0, k)[0]);
  const bool left = c.string_of("padding_side") == "left";
  std::vector<GradValue> padded;
  for (size_t k = 0; k < c.list_size(0); ++k) {
    const IntSpan s = c.shape(0, k);
    IntVector widths(2 * s.size(), 0);
    widths[widths.size() - (left ? 2 : 1)] = longest - s[0];
    padded.push_back(
        arg(c, 0, k).then("aten::constant_pad_nd", widths, c.float_of("padding_value")));
  }
  const bool batch_first = c.bool_of("batch_first");
  c.set_result(0, call(c, "aten::stack", std::move(padded), batch_first ? 0 : 1));
}

// The gradient as [repeats, size, repeats, size, ...]: copies are added up.
Term copies_added(GradContext& c, const IntVector& repeats) {
  const auto rank = static_cast<size_t>(c.rank(0));
  const size_t added = repeats.size() - rank;
  IntVector sizes;
  IntVector dims;
  for (size_t d = 0; d < repeats.size(); ++d) {
    dims.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(repeats[d]);
    if (d >= added) sizes.push_back(c.shape(0)[d - added]);
  }
  const Term g = grad(c);
  if (dims.empty()) return g;
  return sum_over(reshape(g, sizes), dims, false);
}
void repeat(GradContext& c) {
  c.give(0, [&] { return copies_added(c, c.ints_of(1)); });
}
void tile(GradContext& c) {
  c.give(0, [&] {
    IntVector repeats = c.ints_of(1);
    while (static_cast<int64_t>(repeats.size()) < c.rank(0)) repeats.insert(repeats.begin(), 1);
    return copies_added(c, repeats);
  });
}
void repeat_interleave_number(GradContext& c) {
  c.give(0, [&] {
    const int64_t repeats = c.int_of(1);
    if (c.is_none("dim") || c.rank(0) == 0) {
      const Term lines = reshape(grad(c), IntVector{c.numel(0), repeats});
      return sum_over(lines, IntVector{1}, false).then("aten::reshape", c.sizes(0));
    }
    const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
    IntVector sizes(c.shape(0).begin(), c.shape(0).end());
    sizes.insert(sizes.begin() + dim + 1, repeats);
    return sum_over(reshape(grad(c), sizes), IntVector{dim + 1}, false);
  });
}
void repeat_interleave_tensor(GradContext& c) {
  const bool flat = c.is_none("dim");
  const Term x = flat ? reshape(arg(c, 0), IntVector{-1}) : arg(c, 0);
  const int64_t dim = flat ? 0 : c.int_of("dim");
  const int64_t size = flat ? c.numel(0) : c.size(0, dim);
  const Term repeats = expand(reshape(arg(c, 1), IntVector{-1}), IntVector{size});
  const Term places = repeats.then("aten::repeat_interleave.Tensor");
  c.set_result(0, x.then("aten::index_select", dim, places));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::cat", &cat},
    {"aten::stack", &stack},
    {"aten::_stack", &stack},
    {"aten::hstack", kDecomposed, &hstack},
    {"aten::vstack", kDecomposed, &vstack},
    {"aten::dstack", kDecomposed, &dstack},
    {"aten::column_stack", kDecomposed, &column_stack},
    {"aten::block_diag", &block_diag},
    {"aten::meshgrid", kDecomposed, &meshgrid},
    {"aten::meshgrid.indexing", kDecomposed, &meshgrid_indexing},
    {"aten::cartesian_prod", kDecomposed, &cartesian_prod},
    {"aten::combinations", kDecomposed, &combinations},
    {"aten::pad_sequence", kDecomposed, &pad_sequence},
    {"aten::repeat", &repeat},
    {"aten::tile", &tile},
    {"aten::repeat_interleave.self_int", &repeat_interleave_number},
    {"aten::repeat_interleave.self_Tensor", kDecomposed, &repeat_interleave_tensor},
    {"aten::repeat_interleave.Tensor", DerivativeKind::kNone},
};

}  // namespace

std::span<const DerivativeRow> joining_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
