#include "tierup/kernels/indexing/scatter.h"

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/indexing/scatter_mode.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

void check_scatter_shapes(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (!(std::max<int64_t>(self.dim(), 1) == std::max<int64_t>(index.dim(), 1) &&
        std::max<int64_t>(src.dim(), 1) == std::max<int64_t>(index.dim(), 1))) {
    fail(ErrorCode::kInvalidArgument,
         "Index tensor must have the same number of dimensions as self tensor and src tensor: "
         "index {}, self {}, src {}",
         shape_string(index.sizes()), shape_string(self.sizes()), shape_string(src.sizes()));
  }
  for (int64_t d = 0; d < index.dim(); ++d) {
    const int64_t self_size = self.dim() == 0 ? 1 : self.sizes()[d];
    const int64_t src_size = src.dim() == 0 ? 1 : src.sizes()[d];
    if (!((d == dim || index.sizes()[d] <= self_size) && index.sizes()[d] <= src_size)) {
      fail(ErrorCode::kInvalidArgument,
           "Expected index {} to be no larger than self {} apart from dimension {} and to be no "
           "larger than src {}",
           shape_string(index.sizes()), shape_string(self.sizes()), dim, shape_string(src.sizes()));
    }
  }
}

void check_same_dtype(const Tensor& self, const Tensor& src, const char* what) {
  require(self.dtype() == src.dtype(), ErrorCode::kInvalidArgument,
          "{}: Expected self.dtype to be equal to src.dtype, but got {} and {}", what,
          scalar_type_name(self.dtype()), scalar_type_name(src.dtype()));
}

// A number as a tensor of this dtype, seen as one of any shape.
Tensor constant(const Scalar& value, ScalarType dtype, IntSpan sizes) {
  Tensor number = Tensor::empty({}, dtype);
  fill(number, value);
  return expand_to(number, sizes);
}

// The element of a 0-dim tensor.
Scalar number_of(const Tensor& value) {
  return dispatch_all(value.dtype(), "index_fill", [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    const T number = *value.data<T>();
    if constexpr (std::is_same_v<T, bool>)
      return number;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(number);
    else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
      return complex128(number);
    else
      return static_cast<double>(number);
  });
}

// An index vector along `dim` seen as an index tensor of the shape of `source`.
Tensor spread_index(const Tensor& index, int64_t dim, const Tensor& source) {
  IntVector sizes(static_cast<size_t>(std::max<int64_t>(source.dim(), 1)), 1);
  sizes[dim] = index.numel();
  const Tensor shaped = view(contiguous(index), sizes);
  return source.dim() == 0 ? shaped : expand_to(shaped, source.sizes());
}

// The sizes of what one index stands for: all dimensions but this one.
IntVector slice_sizes(const Tensor& tensor, int64_t dim) {
  IntVector sizes(tensor.sizes().begin(), tensor.sizes().end());
  if (!sizes.empty()) sizes.erase(sizes.begin() + dim);
  return sizes;
}

// Whether a tensor of one element may stand for a 0-dim one, as index_copy_ alone has it.
enum class Scalars : uint8_t { kAreVectors, kAreNone };

void check_index_operands(const Tensor& self, int64_t dim, const Tensor& index,
                          const Tensor& source, const char* what, Scalars scalars) {
  require(index.dim() <= 1, ErrorCode::kInvalidArgument,
          "{}: Index is supposed to be a vector, but got dim: {} with type: {}", what, index.dim(),
          scalar_type_name(index.dtype()));
  require(self.dtype() == source.dtype(), ErrorCode::kInvalidArgument,
          "{}: self ({}) and source ({}) must have the same scalar type", what,
          scalar_type_name(self.dtype()), scalar_type_name(source.dtype()));
  const int64_t length = source.dim() == 0 ? 1 : source.sizes()[std::min(dim, source.dim() - 1)];
  require(source.dim() == 0 || dim < source.dim(), ErrorCode::kInvalidArgument,
          "{}: Indexing dim {} is out of bounds of the source tensor with dim {}", what, dim,
          source.dim());
  require(index.numel() == length, ErrorCode::kInvalidArgument,
          "{}: Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}", what,
          index.numel(), length, dim);
  const bool same_kind =
      scalars == Scalars::kAreVectors || (self.dim() == 0) == (source.dim() == 0);
  if (!same_kind || slice_sizes(self, dim) != slice_sizes(source, dim)) {
    fail(ErrorCode::kInvalidArgument,
         "{}: source.shape must match self.shape excluding the specified dimension: self {}, "
         "source {}",
         what, shape_string(self.sizes()), shape_string(source.sizes()));
  }
}

// Indices counted from the end, made positive.
Tensor wrap_indices(const Tensor& index, int64_t size) {
  Tensor wrapped = clone(index, MemoryFormat::kContiguous);
  int64_t* at = wrapped.data<int64_t>();
  for (int64_t i = 0; i < wrapped.numel(); ++i) {
    require(at[i] >= -size && at[i] < size, ErrorCode::kOutOfRange,
            "index {} is out of bounds for dimension with size {}", at[i], size);
    if (at[i] < 0) at[i] += size;
  }
  return wrapped;
}

int64_t size_at(const Tensor& self, int64_t dim) { return self.dim() == 0 ? 1 : self.sizes()[dim]; }

void scatter_checked(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     ScatterMode mode, bool include_self, const char* what) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_same_dtype(self, src, what);
  if (index.numel() == 0) return;  // Of whatever dtype, as for gather.
  const Tensor at = index_as_long(index, what);
  check_scatter_shapes(self, d, index, src);
  scatter_lanes(self, d, at, src, mode, include_self);
}

// Writes a number to all of self, which is contiguous, at these places of one dimension. Each place
// is written once, however often it is named: by one thread only.
void fill_slices(const Tensor& self, int64_t dim, const Tensor& places, const Scalar& value) {
  const int64_t size = self.sizes()[dim];
  std::vector<int64_t> once(places.data<int64_t>(), places.data<int64_t>() + places.numel());
  if (places.numel() > size) {
    std::vector<char> is_named(static_cast<size_t>(size));
    for (const int64_t at : once) is_named[static_cast<size_t>(at)] = 1;
    once.clear();
    for (int64_t at = 0; at < size; ++at) {
      if (is_named[static_cast<size_t>(at)] != 0) once.push_back(at);
    }
  }
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < self.dim(); ++d) inner *= self.sizes()[d];
  const int64_t outer = self.numel() / size / inner;
  dispatch_all(self.dtype(), "index_fill_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T number = *constant(value, self.dtype(), {}).data<T>();
    T* to = self.data<T>();
    parallel_for(0, outer, grain_of(static_cast<int64_t>(once.size()) * inner),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin; o < end; ++o) {
                     for (const int64_t at : once)
                       std::fill_n(to + (o * size + at) * inner, inner, number);
                   }
                 });
  });
  self.bump_version();
}

}  // namespace

ScatterMode parse_scatter_mode(std::string_view reduce) {
  if (reduce == "sum" || reduce == "add") return ScatterMode::kSum;
  if (reduce == "prod" || reduce == "multiply") return ScatterMode::kProd;
  if (reduce == "mean") return ScatterMode::kMean;
  if (reduce == "amax") return ScatterMode::kAmax;
  if (reduce == "amin") return ScatterMode::kAmin;
  fail(ErrorCode::kInvalidArgument,
       "reduce argument must be either sum, prod, mean, amax or amin, got {}", reduce);
}

void scatter_src_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_checked(self, dim, index, src, ScatterMode::kAssign, true, "scatter");
}

void scatter_value_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter_src_(self, dim, index, constant(value, self.dtype(), index.sizes()));
}

void scatter_src_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce) {
  require(reduce == "add" || reduce == "multiply", ErrorCode::kInvalidArgument,
          "reduce argument must be either add or multiply, got {}", reduce);
  scatter_checked(self, dim, index, src, parse_scatter_mode(reduce), true, "scatter");
}

void scatter_value_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                           const Scalar& value, std::string_view reduce) {
  scatter_src_reduce_(self, dim, index, constant(value, self.dtype(), index.sizes()), reduce);
}

void scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_checked(self, dim, index, src, ScatterMode::kSum, true, "scatter_add");
}

void scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     std::string_view reduce, bool include_self) {
  scatter_checked(self, dim, index, src, parse_scatter_mode(reduce), include_self,
                  "scatter_reduce");
}

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Scalar& alpha) {
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor at = index_as_long(index, "index_add_");
  check_index_operands(self, d, at, source, "index_add_()", Scalars::kAreNone);
  if (at.numel() == 0 || self.numel() == 0) return;
  Tensor scaled = source;
  if (alpha.is_complex() || alpha.to_double() != 1) {
    scaled = clone(source, MemoryFormat::kContiguous);
    dispatch_all(self.dtype(), "index_add", [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T factor = alpha.to<T>();
      T* p = scaled.data<T>();
      for (int64_t i = 0; i < scaled.numel(); ++i) p[i] = static_cast<T>(p[i] * factor);
    });
  }
  scatter_lanes(self, d, spread_index(at, d, scaled), scaled, ScatterMode::kSum, true);
}

void index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor at = index_as_long(index, "index_copy_");
  check_index_operands(self, d, at, source, "index_copy_()", Scalars::kAreVectors);
  if (at.numel() == 0) return;
  scatter_lanes(self, d, spread_index(at, d, source), source, ScatterMode::kAssign, true);
}

void index_fill_scalar_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const int64_t d = wrap_dim(dim, self.dim());
  require(index.dtype() == ScalarType::kLong, ErrorCode::kOutOfRange,
          "index_fill_(): the index must have dtype int64, but has {}", dtype_name(index.dtype()));
  require(index.dim() <= 1, ErrorCode::kInvalidArgument, "Index has to be a vector/scalar");
  const Tensor at = wrap_indices(index, size_at(self, d));
  if (at.numel() == 0 || self.numel() == 0) return;
  if (self.dim() == 0) return fill(self, value);
  if (self.is_contiguous()) return fill_slices(self, d, contiguous(at), value);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[d] = at.numel();
  const Tensor source = constant(value, self.dtype(), sizes);
  scatter_lanes(self, d, spread_index(at, d, source), source, ScatterMode::kAssign, true);
}

void index_fill_tensor_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  require(value.dim() == 0, ErrorCode::kInvalidArgument,
          "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} "
          "dimension(s).",
          value.dim());
  index_fill_scalar_(self, dim, index, number_of(value));
}

void index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                   std::string_view reduce, bool include_self) {
  require(reduce != "sum" && reduce != "add", ErrorCode::kInvalidArgument,
          "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {}.",
          reduce);
  const int64_t d = wrap_dim(dim, self.dim());
  const ScatterMode mode = parse_scatter_mode(reduce);
  const Tensor at = index_as_long(index, "index_reduce_");
  check_index_operands(self, d, at, source, "index_reduce_()", Scalars::kAreNone);
  if (at.numel() == 0) return;
  scatter_lanes(self, d, spread_index(at, d, source), source, mode, include_self);
}

void put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  const Tensor at = index_as_long(index, "put_");
  require(self.dtype() == source.dtype(), ErrorCode::kInvalidArgument,
          "put_(): self and source expected to have the same dtype, but got self.dtype = {} and "
          "source.dtype = {}",
          scalar_type_name(self.dtype()), scalar_type_name(source.dtype()));
  require(index.numel() == source.numel(), ErrorCode::kInvalidArgument,
          "put_(): Expected source and index to have the same number of elements, but got "
          "source.numel() = {}, index.numel() = {}",
          source.numel(), index.numel());
  if (index.numel() == 0) return;
  const Tensor flat = reshape(self, {-1});  // A copy if self has gaps.
  const Tensor wrapped = reshape(wrap_indices(at, self.numel()), {-1});
  scatter_lanes(flat, 0, wrapped, reshape(source, {-1}),
                accumulate ? ScatterMode::kSum : ScatterMode::kAssign, true);
  if (flat.storage() != self.storage()) {
    copy_into(self, view(flat, IntVector(self.sizes().begin(), self.sizes().end())));
  }
}

}  // namespace tierup::kernels
