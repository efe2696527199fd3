#include "tierup/kernels/shape/cat.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/memory/short_rows.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// PyTorch lets a tensor of shape [0] join anything.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.sizes()[0] == 0; }

struct CatPlan {
  IntVector sizes;
  int64_t dim = 0;
  ScalarType dtype = ScalarType::kFloat;
  MemoryFormat format = MemoryFormat::kContiguous;
  bool plain = true;  // All inputs are contiguous and of the result's dtype.
};

void check_joinable(const Tensor& first, const Tensor& other, int64_t dim, size_t position) {
  require(first.dim() == other.dim(), ErrorCode::kInvalidArgument,
          "Tensors must have same number of dimensions: got {} and {}", first.dim(), other.dim());
  for (int64_t d = 0; d < first.dim(); ++d) {
    require(d == dim || first.sizes()[d] == other.sizes()[d], ErrorCode::kInvalidArgument,
            "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} "
            "for tensor number {} in the list.",
            dim, first.sizes()[d], other.sizes()[d], position);
  }
}

CatPlan plan_cat(const std::vector<Tensor>& tensors, int64_t dim) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument,
          "torch.cat(): expected a non-empty list of Tensors");
  CatPlan plan;
  TypePromotion promotion;
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    require(tensor.dim() > 0, ErrorCode::kInvalidArgument,
            "zero-dimensional tensor (at position {}) cannot be concatenated", i);
    promotion.add(tensor);
    if (is_skipped(tensor)) continue;
    if (first == nullptr) {
      first = &tensor;
      plan.dim = wrap_dim(dim, tensor.dim());
      plan.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
      plan.format = tensor.suggest_memory_format();
      continue;
    }
    check_joinable(*first, tensor, plan.dim, i);
    plan.sizes[plan.dim] += tensor.sizes()[plan.dim];
    if (tensor.suggest_memory_format() != plan.format) plan.format = MemoryFormat::kContiguous;
  }
  plan.dtype = promotion.result();
  if (first == nullptr) plan.sizes = {0};
  for (const Tensor& tensor : tensors) {
    plan.plain = plan.plain && tensor.dtype() == plan.dtype && tensor.is_contiguous();
  }
  plan.plain = plan.plain && plan.format == MemoryFormat::kContiguous;
  return plan;
}

// Whether each input contributes one number of four bytes to each of the rows, and they are few.
bool is_woven(const std::vector<Tensor>& tensors, int64_t rows) {
  return tensors.size() >= 2 && tensors.size() <= 4 &&
         std::ranges::all_of(tensors, [&](const Tensor& tensor) {
           return static_cast<int64_t>(tensor.bytes()) == 4 * rows;
         });
}

void weave_rows(const std::vector<Tensor>& tensors, int64_t rows, int64_t grain,
                const Tensor& out) {
  const auto parts = static_cast<int64_t>(tensors.size());
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    std::array<const void*, 4> from{};
    for (int64_t p = 0; p < parts; ++p)
      from[p] = static_cast<const char*>(tensors[p].raw()) + 4 * begin;
    weave(static_cast<char*>(out.raw()) + 4 * parts * begin, from.data(), parts, end - begin);
  });
}

// Few rows: threads take parts of the result, wherever their ends stand.
void cat_bytes(const std::vector<Tensor>& tensors, int64_t rows, int64_t row_bytes,
               const Tensor& out) {
  constexpr int64_t kUnit = 4096;
  const int64_t total = rows * row_bytes;
  parallel_for(0, (total - 1) / kUnit + 1, kBytesForThread / kUnit,
               [&](int64_t begin, int64_t end) {
                 const int64_t first = begin * kUnit;
                 const int64_t last = std::min(end * kUnit, total);
                 int64_t at = first / row_bytes * row_bytes;
                 for (int64_t r = first / row_bytes; at < last; ++r) {
                   for (const Tensor& tensor : tensors) {
                     const int64_t run = static_cast<int64_t>(tensor.bytes()) / rows;
                     const int64_t from = std::max(at, first);
                     const int64_t to = std::min(at + run, last);
                     if (from < to) {
                       std::memcpy(static_cast<char*>(out.raw()) + from,
                                   static_cast<const char*>(tensor.raw()) + r * run + (from - at),
                                   static_cast<size_t>(to - from));
                     }
                     at += run;
                   }
                 }
               });
}

// Every input contributes one run of bytes to each of the rows before `dim`.
void cat_rows(const CatPlan& plan, const std::vector<Tensor>& tensors, const Tensor& out) {
  int64_t rows = 1;
  for (int64_t d = 0; d < plan.dim; ++d) rows *= plan.sizes[d];
  const auto row_bytes = static_cast<int64_t>(out.bytes()) / std::max<int64_t>(rows, 1);
  if (row_bytes == 0) return;
  const int64_t grain = std::max<int64_t>(1, kBytesForThread / row_bytes);
  if (is_woven(tensors, rows)) return weave_rows(tensors, rows, grain, out);
  if (row_bytes > kBytesForThread) return cat_bytes(tensors, rows, row_bytes, out);
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    int64_t at = 0;
    for (const Tensor& tensor : tensors) {
      const auto run = static_cast<int64_t>(tensor.bytes()) / rows;
      if (run == 0) continue;
      const char* from = static_cast<const char*>(tensor.raw());
      char* to = static_cast<char*>(out.raw()) + at;
      if (run <= kMostSpread) {
        spread_short_rows(to + begin * row_bytes, row_bytes, from + begin * run, run, end - begin);
      } else {
        for (int64_t r = begin; r < end; ++r)
          std::memcpy(to + r * row_bytes, from + r * run, static_cast<size_t>(run));
      }
      at += run;
    }
  });
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  const CatPlan plan = plan_cat(tensors, dim);
  Tensor out = Tensor::empty(plan.sizes, plan.dtype, plan.format);
  if (out.numel() == 0) return out;
  if (plan.plain && plan.dim > 0) {
    cat_rows(plan, tensors, out);
    return out;
  }
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (is_skipped(tensor)) continue;
    const int64_t length = tensor.sizes()[plan.dim];
    if (length > 0) copy_into(narrow(out, plan.dim, start, length), tensor);
    start += length;
  }
  return out;
}

void check_stack(const std::vector<Tensor>& tensors) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument, "stack expects a non-empty TensorList");
  const IntSpan expected = tensors[0].sizes();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const IntSpan sizes = tensors[i].sizes();
    if (!(std::equal(expected.begin(), expected.end(), sizes.begin(), sizes.end()))) {
      fail(ErrorCode::kInvalidArgument,
           "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
           shape_string(expected), shape_string(sizes), i);
    }
  }
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  check_stack(tensors);
  std::vector<Tensor> columns;
  columns.reserve(tensors.size());
  for (const Tensor& tensor : tensors) columns.push_back(unsqueeze(tensor, dim));
  return contiguous(cat(columns, wrap_dim(dim, tensors[0].dim() + 1)));
}

Tensor hstack(const std::vector<Tensor>& tensors) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument, "hstack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(atleast_1d(tensor));
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(const std::vector<Tensor>& tensors) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument, "vstack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(atleast_2d(tensor));
  return cat(parts, 0);
}

Tensor dstack(const std::vector<Tensor>& tensors) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument, "dstack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(atleast_3d(tensor));
  return cat(parts, 2);
}

Tensor column_stack(const std::vector<Tensor>& tensors) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument,
          "column_stack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    parts.push_back(tensor.dim() <= 1 ? reshape(tensor, {tensor.numel(), 1}) : tensor);
  }
  return hstack(parts);
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return Tensor::empty(IntVector{1, 0}, ScalarType::kFloat);
  std::vector<Tensor> blocks;
  TypePromotion promotion;
  int64_t rows = 0;
  int64_t columns = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    require(tensors[i].dim() <= 2, ErrorCode::kInvalidArgument,
            "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {} has {} "
            "dimensions",
            i, tensors[i].dim());
    promotion.add(tensors[i]);
    blocks.push_back(atleast_2d(tensors[i]));
    rows += blocks.back().sizes()[0];
    columns += blocks.back().sizes()[1];
  }
  Tensor out = Tensor::empty(IntVector{rows, columns}, promotion.result());
  fill(out, Scalar(0));
  int64_t row = 0;
  int64_t column = 0;
  for (const Tensor& block : blocks) {
    copy_into(narrow(narrow(out, 0, row, block.sizes()[0]), 1, column, block.sizes()[1]), block);
    row += block.sizes()[0];
    column += block.sizes()[1];
  }
  return out;
}

Tensor chunk_cat(const std::vector<Tensor>& tensors, int64_t dim, int64_t num_chunks) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument,
          "_chunk_cat expects a non-empty input tensor list");
  require(num_chunks > 0, ErrorCode::kInvalidArgument, "_chunk_cat expects positive num_chunks");
  require(tensors[0].dim() > 0, ErrorCode::kInvalidArgument,
          "_chunk_cat expects tensors with at least one dimension");
  const int64_t d = wrap_dim(dim, tensors[0].dim());
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    require(tensor.numel() > 0, ErrorCode::kInvalidArgument, "_chunk_cat expects non-empty tensor");
    if (!(d < tensor.dim() && tensor.dtype() == tensors[0].dtype())) {
      fail(ErrorCode::kInvalidArgument,
           "_chunk_cat expects tensors of one dtype with more than {} dimensions, got {}", d,
           tensor.describe());
    }
    IntVector sizes(tensor.sizes().begin(), tensor.sizes().end());
    const int64_t length = sizes[d];
    sizes[d] = ((length - 1) / num_chunks + 1) * num_chunks;
    Tensor padded = tensor;
    if (sizes[d] != length) {
      padded = Tensor::empty(sizes, tensor.dtype());
      fill(padded, Scalar(0));
      copy_into(narrow(padded, d, 0, length), tensor);
    }
    IntVector shape(sizes.begin(), sizes.begin() + d);
    shape.push_back(num_chunks);
    shape.push_back(-1);
    parts.push_back(reshape(padded, shape));
  }
  return cat(parts, d + 1);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors) {
  require(!tensors.empty(), ErrorCode::kInvalidArgument, "meshgrid expects a non-empty TensorList");
  IntVector shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 1) {
      fail(ErrorCode::kInvalidArgument,
           "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}",
           tensor.describe());
    }
    require(tensor.dtype() == tensors[0].dtype(), ErrorCode::kInvalidArgument,
            "torch.meshgrid expects all tensors to have the same dtype");
    shape.push_back(tensor.numel());
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < tensors.size(); ++i) {
    IntVector sizes(tensors.size(), 1);
    sizes[i] = tensors[i].numel();
    grids.push_back(expand_to(view(tensors[i], sizes), shape));
  }
  return grids;
}

std::vector<Tensor> meshgrid_indexing(const std::vector<Tensor>& tensors,
                                      std::string_view indexing) {
  require(indexing == "ij" || indexing == "xy", ErrorCode::kInvalidArgument,
          "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {}", indexing);
  if (indexing == "ij" || tensors.size() < 2) return meshgrid(tensors);
  std::vector<Tensor> swapped = tensors;
  std::swap(swapped[0], swapped[1]);
  std::vector<Tensor> grids = meshgrid(swapped);
  std::swap(grids[0], grids[1]);
  return grids;
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() != 1) {
      fail(ErrorCode::kInvalidArgument, "Expect a 1D vector, but got shape {}",
           shape_string(tensor.sizes()));
    }
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors)) columns.push_back(reshape(grid, {-1}));
  return stack(columns, 1);
}

namespace {

// Ways to choose `r` of `n`. Throws kInvalidArgument for more than an int64 holds.
int64_t binomial(int64_t n, int64_t r) {
  if (r > n) return 0;
  r = std::min(r, n - r);
  __int128 ways = 1;
  for (int64_t i = 1; i <= r; ++i) {
    ways = ways * (n - r + i) / i;
    require(ways <= std::numeric_limits<int64_t>::max(), ErrorCode::kInvalidArgument,
            "too many combinations: {} of {}", r, n);
  }
  return static_cast<int64_t>(ways);
}

// Goes on to the next choice of row.size() of `n`, in lexicographic order; false after the last.
bool next_choice(std::vector<int64_t>& row, int64_t n, bool with_replacement) {
  const auto r = static_cast<int64_t>(row.size());
  int64_t i = r - 1;
  while (i >= 0 && row[i] == (with_replacement ? n - 1 : n - r + i)) --i;
  if (i < 0) return false;
  ++row[i];
  for (int64_t j = i + 1; j < r; ++j) row[j] = with_replacement ? row[i] : row[j - 1] + 1;
  return true;
}

}  // namespace

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  if (self.dim() != 1) {
    fail(ErrorCode::kInvalidArgument, "Expect a 1D vector, but got shape {}",
         shape_string(self.sizes()));
  }
  require(r >= 0, ErrorCode::kInvalidArgument, "Expect a non-negative number, but got {}", r);
  const int64_t n = self.numel();
  if (r == 0) return Tensor::empty(IntVector{0}, self.dtype());
  int64_t choices = n;
  require(!with_replacement || !__builtin_add_overflow(n - 1, r, &choices),
          ErrorCode::kInvalidArgument, "too many combinations: {} of {}", r, n);
  const int64_t rows = n == 0 ? 0 : binomial(choices, r);
  const Tensor out = Tensor::empty(IntVector{rows, r}, self.dtype());
  if (rows == 0) return out;
  std::vector<int64_t> row(static_cast<size_t>(r));
  for (int64_t i = 0; i < r; ++i) row[i] = with_replacement ? 0 : i;
  const Tensor source = contiguous(self);
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const U* from = static_cast<const U*>(source.raw());
    U* to = static_cast<U*>(out.raw());
    int64_t asked = 0;
    do {
      if (asked++ % 4096 == 0) poll_interrupt();
      for (const int64_t i : row) *to++ = from[i];
    } while (next_choice(row, n, with_replacement));
  });
  return out;
}

Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first, double padding,
                    std::string_view side) {
  require(!sequences.empty(), ErrorCode::kInvalidArgument, "received an empty list of sequences");
  require(side == "left" || side == "right", ErrorCode::kInvalidArgument,
          "Expected padding_side to be one of left or right, but got {}.", side);
  const Tensor& first = sequences[0];
  require(first.dim() >= 1, ErrorCode::kInvalidArgument,
          "pad_sequence: expected sequences with at least one dimension");
  int64_t longest = 0;
  for (const Tensor& one : sequences) {
    require(one.dim() == first.dim(), ErrorCode::kInvalidArgument,
            "pad_sequence: sequences of {} and {} dimensions", first.dim(), one.dim());
    longest = std::max(longest, one.size(0));
  }
  const auto count = static_cast<int64_t>(sequences.size());
  IntVector sizes = batch_first ? IntVector{count, longest} : IntVector{longest, count};
  sizes.insert(sizes.end(), first.sizes().begin() + 1, first.sizes().end());
  const Tensor out = Tensor::empty(sizes, first.dtype());
  fill(out, Scalar(padding));
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& one = sequences[static_cast<size_t>(i)];
    const int64_t start = side == "left" ? longest - one.size(0) : 0;
    copy_into(narrow(select(out, batch_first ? 0 : 1, i), 0, start, one.size(0)), one);
  }
  return out;
}

}  // namespace tierup::kernels
