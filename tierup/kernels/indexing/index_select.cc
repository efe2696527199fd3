#include "tierup/kernels/indexing/index_select.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/index_range.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

void check_in_range(const Tensor& index, int64_t size) {
  const int64_t bad = first_out_of_range(index.data<int64_t>(), index.numel(), size);
  require(bad < 0, ErrorCode::kOutOfRange,
          "index out of range in self: index {} is out of bounds for dimension with size {}",
          bad < 0 ? 0 : index.data<int64_t>()[bad], size);
}

// Of the last dimension: `outer` lines of `rows` elements, of each of which `count` are taken.
template <typename U>
void select_elements(const U* from, int64_t outer, int64_t rows, const int64_t* at, int64_t count,
                     U* to) {
  const auto grain = kBytesForThread / static_cast<int64_t>(sizeof(U));
  parallel_for(0, outer * count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin % count; begin < end; first = 0) {
      const U* line = from + begin / count * rows;
      const int64_t last = std::min(count, first + end - begin);
      U* target = to + begin - first;
      for (int64_t i = first; i < last; ++i) target[i] = line[at[i]];
      begin += last - first;
    }
  });
}

// Whole runs of a contiguous tensor.
void select_runs(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  int64_t outer = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= self.sizes()[d];
  const int64_t rows = self.sizes()[dim];
  const int64_t run = static_cast<int64_t>(self.bytes()) / (outer * rows);
  const int64_t count = index.numel();
  const int64_t* at = index.data<int64_t>();
  const char* from = static_cast<const char*>(self.raw());
  char* to = static_cast<char*>(out.raw());
  if (run == static_cast<int64_t>(self.item_size())) {
    return dispatch_width(self.item_size(), [&](auto tag) {
      using U = typename decltype(tag)::type;
      select_elements(static_cast<const U*>(self.raw()), outer, rows, at, count,
                      static_cast<U*>(out.raw()));
    });
  }
  parallel_for(0, outer * count, std::max<int64_t>(1, kBytesForThread / run),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t row = r / count * rows + at[r % count];
                   std::memcpy(to + r * run, from + row * run, static_cast<size_t>(run));
                 }
               });
}

void select_lanes(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  const LaneLoop loop(out.sizes(), dim, {&out, &self});
  const int64_t count = index.numel();
  const int64_t* at = index.data<int64_t>();
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
      for (int64_t i = 0; i < count; ++i) {
        *reinterpret_cast<U*>(lane[0] + i * loop.step(0)) =
            *reinterpret_cast<const U*>(lane[1] + at[i] * loop.step(1));
      }
    });
  });
}

void check_gather_shapes(const Tensor& self, int64_t dim, const Tensor& index) {
  require(std::max<int64_t>(self.dim(), 1) == std::max<int64_t>(index.dim(), 1),
          ErrorCode::kInvalidArgument,
          "Index tensor must have the same number of dimensions as input tensor");
  for (int64_t d = 0; d < std::min(self.dim(), index.dim()); ++d) {
    if (!(d == dim || index.sizes()[d] <= self.sizes()[d])) {
      fail(ErrorCode::kInvalidArgument,
           "Size does not match at dimension {} expected index {} to be no larger than self {} "
           "apart from dimension {}",
           d, shape_string(index.sizes()), shape_string(self.sizes()), dim);
    }
  }
}

// Whether one index of a gather stands for all elements behind its dimension, which lie side by
// side.
bool gathers_rows(const Tensor& self, int64_t d, const Tensor& index) {
  int64_t step = 1;
  for (int64_t k = self.dim() - 1; k > d; --k) {
    if (self.sizes()[k] != index.sizes()[k]) return false;
    if (self.sizes()[k] == 1) continue;
    if (index.strides()[k] != 0 || self.strides()[k] != step) return false;
    step *= self.sizes()[k];
  }
  return step > 1;
}

Tensor gather_whole_rows(const Tensor& self, int64_t d, const Tensor& index) {
  Tensor out = Tensor::empty(index.sizes(), self.dtype());
  const int64_t count = index.sizes()[d];
  int64_t outer = 1;
  for (int64_t k = 0; k < d; ++k) outer *= index.sizes()[k];
  const auto width = static_cast<int64_t>(self.item_size());
  const int64_t run = out.numel() / (outer * count) * width;
  parallel_for(0, outer * count, std::max<int64_t>(1, kBytesForThread / run),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   int64_t at = r % count * index.strides()[d];
                   int64_t from = 0;
                   int64_t rest = r / count;
                   for (int64_t k = d - 1; k >= 0; --k) {
                     at += rest % index.sizes()[k] * index.strides()[k];
                     from += rest % index.sizes()[k] * self.strides()[k];
                     rest /= index.sizes()[k];
                   }
                   const int64_t row = index.data<int64_t>()[at];
                   require(row >= 0 && row < self.sizes()[d], ErrorCode::kOutOfRange,
                           "index {} is out of bounds for dimension {} with size {}", row, d,
                           self.sizes()[d]);
                   std::memcpy(static_cast<char*>(out.raw()) + r * run,
                               static_cast<const char*>(self.raw()) +
                                   (from + row * self.strides()[d]) * width,
                               static_cast<size_t>(run));
                 }
               });
  return out;
}

// Where a lane's elements lie, in bytes: of the result, the index and the source.
struct LaneSteps {
  int64_t out, index, self;
};

// The place of an index outside of the dimension: as a remainder, or none at all.
int64_t place_of_outside(int64_t index, int64_t dim, int64_t size, bool wrap) {
  if (!wrap || size == 0) fail_index(index, dim, size);
  const int64_t rest = index % size;
  return rest < 0 ? rest + size : rest;
}

// The elements of one lane along the gathered dimension.
template <typename U, bool kDense>
void gather_lane(const LaneLoop::Pointers& lane, const LaneSteps& steps, int64_t count, int64_t dim,
                 int64_t size, bool wrap) {
  const int64_t out_step = kDense ? sizeof(U) : steps.out;
  const int64_t index_step = kDense ? sizeof(int64_t) : steps.index;
  const int64_t self_step = kDense ? sizeof(U) : steps.self;
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = *reinterpret_cast<const int64_t*>(lane[1] + i * index_step);
    if (!is_in_range(k, size)) k = place_of_outside(k, dim, size, wrap);
    *reinterpret_cast<U*>(lane[0] + i * out_step) =
        *reinterpret_cast<const U*>(lane[2] + k * self_step);
  }
}

// gather proper; with `wrap`, indices are taken modulo the size.
Tensor gather_lanes(const Tensor& self, int64_t d, const Tensor& index, bool wrap) {
  Tensor out = Tensor::empty(index.sizes(), self.dtype());
  if (index.numel() == 0) return out;
  const Tensor out_lanes = atleast_1d(out);
  const Tensor index_lanes = atleast_1d(index);
  const Tensor self_lanes = atleast_1d(self);
  const LaneLoop loop(index_lanes.sizes(), d, {&out_lanes, &index_lanes, &self_lanes});
  const int64_t count = index_lanes.sizes()[d];
  const int64_t size = self_lanes.sizes()[d];
  const LaneSteps steps{loop.step(0), loop.step(1), loop.step(2)};
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const bool is_dense =
        steps.out == sizeof(U) && steps.index == sizeof(int64_t) && steps.self == sizeof(U);
    loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
      is_dense ? gather_lane<U, true>(lane, steps, count, d, size, wrap)
               : gather_lane<U, false>(lane, steps, count, d, size, wrap);
    });
  });
  return out;
}

// Elements side by side along another dimension than the gathered one, whose elements lie `step`
// elements of the source apart.
template <typename U, bool kDense>
void gather_line(const LaneLoop::Pointers& line, const LaneSteps& steps, int64_t count,
                 int64_t step, int64_t dim, int64_t size, bool wrap) {
  const int64_t out_step = kDense ? sizeof(U) : steps.out;
  const int64_t index_step = kDense ? sizeof(int64_t) : steps.index;
  const int64_t self_step = kDense ? sizeof(U) : steps.self;
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = *reinterpret_cast<const int64_t*>(line[1] + i * index_step);
    if (!is_in_range(k, size)) k = place_of_outside(k, dim, size, wrap);
    *reinterpret_cast<U*>(line[0] + i * out_step) =
        *(reinterpret_cast<const U*>(line[2] + i * self_step) + k * step);
  }
}

// The dimension along which elements are gathered line by line rather than along d, where each one
// would jump or be alone; nothing if they are not. A line alone is one thread's.
std::optional<int64_t> line_dimension(const Tensor& self, int64_t d, const Tensor& index) {
  const int64_t last = index.dim() - 1;
  if (self.dim() != index.dim() || self.numel() == 0 || index.numel() == 0) return std::nullopt;
  if (d < last && index.sizes()[last] > 1 && index.strides()[last] == 1 &&
      self.strides()[last] == 1)
    return last;
  if (index.sizes()[d] > 1) return std::nullopt;
  const IntSpan sizes = index.sizes();
  const int64_t longest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
  const bool is_worth_it =
      sizes[longest] > 1 && (sizes[longest] <= kNumbersForThread || sizes[longest] < index.numel());
  return is_worth_it ? std::optional(longest) : std::nullopt;
}

Tensor gather_lines(const Tensor& self, int64_t d, const Tensor& index, int64_t along, bool wrap) {
  Tensor out = Tensor::empty(index.sizes(), self.dtype());
  IntVector strides(self.strides().begin(), self.strides().end());
  strides[d] = 0;
  const Tensor base = self.as_view(index.sizes(), strides, self.offset());
  const LaneLoop loop(index.sizes(), along, {&out, &index, &base});
  const LaneSteps steps{loop.step(0), loop.step(1), loop.step(2)};
  const int64_t count = index.sizes()[along];
  const int64_t size = self.sizes()[d];
  const int64_t step = self.strides()[d];
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const bool is_dense =
        steps.out == sizeof(U) && steps.index == sizeof(int64_t) && steps.self == sizeof(U);
    loop.run(grain_of(count), [&](const LaneLoop::Pointers& line) {
      is_dense ? gather_line<U, true>(line, steps, count, step, d, size, wrap)
               : gather_line<U, false>(line, steps, count, step, d, size, wrap);
    });
  });
  return out;
}

Tensor gather_any(const Tensor& self, int64_t d, const Tensor& index, bool wrap) {
  const std::optional<int64_t> along = line_dimension(self, d, index);
  return along ? gather_lines(self, d, index, *along, wrap) : gather_lanes(self, d, index, wrap);
}

}  // namespace

Tensor index_as_long(const Tensor& index, std::string_view what) {
  require(index.dtype() == ScalarType::kLong || index.dtype() == ScalarType::kInt,
          ErrorCode::kInvalidArgument, "{}(): Expected dtype int32/int64 for index, got {}", what,
          dtype_name(index.dtype()));
  return to_dtype(index, ScalarType::kLong);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const int64_t d = wrap_dim(dim, self.dim());
  require(index.dim() <= 1, ErrorCode::kInvalidArgument,
          "index_select(): Index is supposed to be a vector, but got {} dimensions", index.dim());
  const Tensor at = contiguous(index_as_long(index, "index_select"));
  const int64_t size = self.dim() == 0 ? 1 : self.sizes()[d];
  check_in_range(at, size);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  if (self.dim() > 0)
    sizes[d] = at.numel();
  else
    require(at.numel() == 1, ErrorCode::kInvalidArgument,
            "index_select(): Index to scalar can have only 1 value, got {} value(s)", at.numel());
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  if (self.dim() == 0)
    copy_into(out, self);
  else if (self.is_contiguous())
    select_runs(self, d, at, out);
  else
    select_lanes(self, d, at, out);
  return out;
}

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (index.numel() == 0) return Tensor::empty(index.sizes(), self.dtype());
  const Tensor at = index_as_long(index, "gather");
  check_gather_shapes(self, d, at);
  return gathers_rows(self, d, at) ? gather_whole_rows(self, d, at)
                                   : gather_any(self, d, at, false);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  require(indices.dtype() == ScalarType::kLong, ErrorCode::kInvalidArgument,
          "torch.take_along_dim(): dtype of indices should be Long but got {}",
          scalar_type_name(indices.dtype()));
  if (!dim) {
    const Tensor all = reshape(self, {-1});
    const Tensor places = reshape(indices, {-1});
    check_gather_shapes(all, 0, places);
    return gather_lanes(all, 0, places, false);
  }
  require(
      self.dim() == indices.dim(), ErrorCode::kInvalidArgument,
      "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
      "got {} dimensions for input, and {} dimensions for indices",
      self.dim(), indices.dim());
  const int64_t d = wrap_dim(*dim, self.dim());
  IntVector self_sizes(self.sizes().begin(), self.sizes().end());
  IntVector index_sizes(indices.sizes().begin(), indices.sizes().end());
  if (self.dim() > 0) self_sizes[d] = indices.sizes()[d];
  const IntVector index_shape = broadcast_shapes(self_sizes, indices.sizes());
  if (self.dim() > 0) index_sizes[d] = self.sizes()[d];
  const IntVector self_shape = broadcast_shapes(index_sizes, self.sizes());
  const Tensor whole = expand_to(self, self_shape);
  const Tensor places = expand_to(indices, index_shape);
  if (places.numel() > 0) check_gather_shapes(whole, d, places);
  return gather_any(whole, d, places, true);
}

Tensor take(const Tensor& self, const Tensor& index) {
  require(index.dtype() == ScalarType::kLong, ErrorCode::kInvalidArgument,
          "take(): Expected a long tensor for index, but got {}", scalar_type_name(index.dtype()));
  require(self.numel() != 0 || index.numel() == 0, ErrorCode::kOutOfRange,
          "take(): tried to take from an empty tensor");
  Tensor out = Tensor::empty(index.sizes(), self.dtype());
  const Tensor source = contiguous(self);
  const Tensor indices = contiguous(index);
  const int64_t* at = indices.data<int64_t>();
  const int64_t size = self.numel();
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const U* from = static_cast<const U*>(source.raw());
    U* to = static_cast<U*>(out.raw());
    parallel_for(0, out.numel(), kNumbersForThread, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = at[i] < 0 ? at[i] + size : at[i];
        require(k >= 0 && k < size, ErrorCode::kOutOfRange,
                "out of range: tried to access index {} on a tensor of {} elements.", at[i], size);
        to[i] = from[k];
      }
    });
  });
  return out;
}

}  // namespace tierup::kernels
