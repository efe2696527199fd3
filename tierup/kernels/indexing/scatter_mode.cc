#include "tierup/kernels/indexing/scatter_mode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/index_range.h"
#include "tierup/kernels/indexing/scatter_floats.h"
#include "tierup/kernels/indexing/scatter_rows.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// What is scattered where: operands as scatter_lanes() has them, of at least one dimension.
struct Scatter {
  const Tensor& self;
  int64_t dim;
  const Tensor& index;
  const Tensor& src;
};

// Calls visit(target, source) for all elements, lane by lane along the scattered dimension.
template <typename T, typename Visit>
void visit_lanes(const Scatter& s, const Visit& visit) {
  const LaneLoop loop(s.index.sizes(), s.dim, {&s.self, &s.index, &s.src});
  const int64_t count = s.index.sizes()[s.dim];
  const int64_t size = s.self.sizes()[s.dim];
  const int64_t to_step = loop.step(0);
  const int64_t index_step = loop.step(1);
  const int64_t from_step = loop.step(2);
  loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
    // Copies, which a write to an element cannot change.
    char* const to = lane[0];
    const char* at = lane[1];
    const char* from = lane[2];
    const int64_t apart = to_step;
    for (int64_t i = 0; i < count; ++i, at += index_step, from += from_step) {
      const int64_t k = *reinterpret_cast<const int64_t*>(at);
      if (!is_in_range(k, size)) fail_index(k, s.dim, size);
      visit(*reinterpret_cast<T*>(to + k * apart), *reinterpret_cast<const T*>(from));
    }
  });
}

// Whether lines of the last dimension, which is not the scattered one, lie dense in all operands.
bool scatters_dense_lines(const Scatter& s) {
  const int64_t last = s.index.dim() - 1;
  return s.dim < last && s.index.sizes()[last] > 1 && s.self.strides()[last] == 1 &&
         s.index.strides()[last] == 1 && s.src.strides()[last] == 1;
}

// The same line by line along the last dimension, where a lane along the scattered one would jump
// at each element. Each target still sees its sources in the order of the lane.
template <typename T, typename Visit>
void visit_lines(const Scatter& s, const Visit& visit) {
  constexpr int64_t kLeastColumns = 64 / static_cast<int64_t>(sizeof(T));  // A cache line.
  const int64_t last = s.index.dim() - 1;
  const int64_t columns = s.index.sizes()[last];
  const int64_t rows = s.index.sizes()[s.dim];
  const int64_t size = s.self.sizes()[s.dim];
  IntVector sizes(s.index.sizes().begin(), s.index.sizes().end());
  sizes[last] = 1;
  const LaneLoop loop(sizes, s.dim, {&s.self, &s.index, &s.src});
  const int64_t to_step = loop.step(0);
  const int64_t index_step = loop.step(1);
  const int64_t from_step = loop.step(2);
  const auto visit_columns = [&](const LaneLoop::Pointers& lane, int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows; ++i) {
      const auto* at = reinterpret_cast<const int64_t*>(lane[1] + i * index_step);
      const auto* from = reinterpret_cast<const T*>(lane[2] + i * from_step);
      for (int64_t j = begin; j < end; ++j) {
        if (!is_in_range(at[j], size)) fail_index(at[j], s.dim, size);
        visit(reinterpret_cast<T*>(lane[0] + at[j] * to_step)[j], from[j]);
      }
    }
  };
  const int64_t grain = grain_of(rows * columns);
  if (loop.lanes() >= intra_op_threads()) {
    return loop.run(grain, [&](const auto& lane) { visit_columns(lane, 0, columns); });
  }
  const int64_t least = grain_of(rows * loop.lanes());
  parallel_for(0, columns, std::max(kLeastColumns, least), [&](int64_t begin, int64_t end) {
    loop.run(loop.lanes(), [&](const auto& lane) { visit_columns(lane, begin, end); });
  });
}

template <typename T, typename Visit>
void visit_elements(const Scatter& s, const Visit& visit) {
  scatters_dense_lines(s) ? visit_lines<T>(s, visit) : visit_lanes<T>(s, visit);
}

template <typename T>
T identity_of(ScatterMode mode) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return mode == ScatterMode::kProd ? T(1) : T(0);
  } else if constexpr (std::is_same_v<T, bool>) {
    return mode == ScatterMode::kProd || mode == ScatterMode::kAmin;
  } else if constexpr (std::is_integral_v<T>) {
    if (mode == ScatterMode::kAmax) return std::numeric_limits<T>::lowest();
    if (mode == ScatterMode::kAmin) return std::numeric_limits<T>::max();
    return mode == ScatterMode::kProd ? T(1) : T(0);
  } else {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (mode == ScatterMode::kAmax) return T(-kInfinity);
    if (mode == ScatterMode::kAmin) return T(kInfinity);
    return mode == ScatterMode::kProd ? T(1.0F) : T(0.0F);
  }
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::isnan(static_cast<double>(value));
}

// Integers wrap around.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
template <typename T>
T added(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T multiplied(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

// What each target begins with that does not count itself: one element of this type.
std::array<std::byte, sizeof(complex128)> identity_bytes(ScatterMode mode, ScalarType dtype) {
  std::array<std::byte, sizeof(complex128)> bytes{};
  dispatch_all(dtype, "scatter_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T identity = identity_of<T>(mode);
    std::memcpy(bytes.data(), &identity, sizeof(T));
  });
  return bytes;
}

// visit(f) calls f(target, source) for all elements; f for sources that are not just assigned.
template <typename T, typename Visit>
void combine(const Scatter& s, ScatterMode mode, const Visit& visit) {
  if constexpr (kIsReduced<T>) {
    const bool may_meet = s.index.sizes()[s.dim] > 1;
    if (may_meet && mode == ScatterMode::kProd)
      return combine_as_floats<T>(s.self, visit, std::multiplies());
    if (may_meet && (mode == ScatterMode::kSum || mode == ScatterMode::kMean))
      return combine_as_floats<T>(s.self, visit, std::plus());
  }
  switch (mode) {
    case ScatterMode::kSum:
    case ScatterMode::kMean: visit([](T& to, T from) { to = added(to, from); }); return;
    case ScatterMode::kProd: visit([](T& to, T from) { to = multiplied(to, from); }); return;
    default: break;
  }
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    fail(ErrorCode::kTypeError, "amax and amin are not implemented for complex tensors");
  } else if (mode == ScatterMode::kAmax) {
    visit([](T& to, T from) { to = is_nan(to) || to > from ? to : from; });
  } else {
    visit([](T& to, T from) { to = is_nan(to) || to < from ? to : from; });
  }
}

// Divides the sums by how many values went into each; the element's own counts if it was included.
template <typename T>
void divide_by_counts(const Tensor& self, const Tensor& counts) {
  const LaneLoop loop(self.sizes(), 0, {&self, &counts});
  const int64_t length = self.dim() == 0 ? 1 : self.sizes()[0];
  loop.run(grain_of(length), [&](const LaneLoop::Pointers& lane) {
    for (int64_t i = 0; i < length; ++i) {
      T& value = *reinterpret_cast<T*>(lane[0] + i * loop.step(0));
      const int64_t n = *reinterpret_cast<const int64_t*>(lane[1] + i * loop.step(1));
      if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
        value /= T(static_cast<double>(n));
      } else if constexpr (std::is_integral_v<T>) {
        // Rounds down, as floor_divide does.
        const auto wide = static_cast<int64_t>(value);
        value = static_cast<T>(wide / n - (wide % n < 0 ? 1 : 0));
      } else {
        value = static_cast<T>(value / static_cast<T>(static_cast<double>(n)));
      }
    }
  });
}

// Of floats and others: how many values went into each row's elements.
template <typename T>
void divide_rows(const Tensor& self, const Tensor& index, bool include_self) {
  IntVector sizes(static_cast<size_t>(self.dim()), 1);
  sizes[0] = self.sizes()[0];
  const Tensor counts = Tensor::empty(sizes, ScalarType::kLong);
  fill(counts, Scalar(include_self ? 1 : 0));
  auto* n = counts.data<int64_t>();
  const int64_t* at = index.data<int64_t>();
  for (int64_t i = 0; i < index.sizes()[0]; ++i) ++n[at[i * index.strides()[0]]];
  for (int64_t i = 0; i < counts.numel(); ++i) n[i] = std::max<int64_t>(n[i], 1);
  divide_by_counts<T>(self, expand_to(counts, self.sizes()));
}

// visit(tag of a type as wide as elements, f) calls f(target, source) for all. Targets become their
// sources, or an identity.
template <typename Visit>
void assign(const Tensor& self, ScatterMode mode, const Visit& visit) {
  const auto identity = mode == ScatterMode::kAssign
                            ? decltype(identity_bytes(mode, self.dtype())){}
                            : identity_bytes(mode, self.dtype());
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    if (mode == ScatterMode::kAssign) return visit(tag, [](U& to, const U& from) { to = from; });
    U value;
    std::memcpy(&value, identity.data(), sizeof(U));
    visit(tag, [value](U& to, const U&) { to = value; });
  });
}

// False, with nothing done, where rows are to be combined element by element.
template <typename T>
bool combine_whole_rows(const Tensor& self, const Tensor& index, const Tensor& src,
                        ScatterMode mode) {
  if constexpr (kIsReduced<T>) {
    if (mode == ScatterMode::kProd) return false;  // To be rounded once.
    if (mode == ScatterMode::kSum && add_wide_rows_as_floats(self, index, src)) return true;
  }
  return combine_wide_rows(self, index, src, mode);
}

void scatter_rows(const Tensor& self, const Tensor& index, const Tensor& src, ScatterMode mode,
                  bool include_self) {
  check_row_indices(index, self.sizes()[0]);
  if (mode == ScatterMode::kAssign || !include_self) {
    assign(self, mode, [&](auto tag, const auto& f) {
      visit_rows<typename decltype(tag)::type>(self, index, src, f);
    });
  }
  if (mode == ScatterMode::kAssign) return;
  dispatch_all(self.dtype(), "scatter_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool is_mean = mode == ScatterMode::kMean;
    const ScatterMode how = is_mean ? ScatterMode::kSum : mode;
    if (!combine_whole_rows<T>(self, index, src, how)) {
      const Scatter rows{self, 0, index, src};
      combine<T>(rows, mode, [&](const auto& f) { visit_rows<T>(self, index, src, f); });
    }
    if (is_mean) divide_rows<T>(self, index, include_self);
  });
}

// Whether the floats of combine_as_floats(), which stand as far apart as their targets, would take
// many times the memory of a dense copy.
bool leaves_gaps_in_floats(const Tensor& self, ScatterMode mode) {
  const bool rounds =
      mode == ScatterMode::kSum || mode == ScatterMode::kMean || mode == ScatterMode::kProd;
  const bool is_narrow = self.dtype() == ScalarType::kHalf || self.dtype() == ScalarType::kBFloat16;
  return rounds && is_narrow && strided_reach(self.sizes(), self.strides(), 0) > 2 * self.numel();
}

}  // namespace

void scatter_lanes(const Tensor& self_tensor, int64_t dim, const Tensor& index_tensor,
                   const Tensor& src_tensor, ScatterMode mode, bool include_self) {
  check_no_internal_overlap(self_tensor);
  if (leaves_gaps_in_floats(self_tensor, mode)) {
    const Tensor dense = clone(self_tensor, MemoryFormat::kContiguous);
    scatter_lanes(dense, dim, index_tensor, src_tensor, mode, include_self);
    copy_into(self_tensor, dense);
    self_tensor.bump_version();
    return;
  }
  const Tensor self = atleast_1d(self_tensor);
  const Tensor index = atleast_1d(index_tensor);
  const Tensor src = atleast_1d(
      memory_overlap(self_tensor, src_tensor) == Overlap::kNone ? src_tensor : clone(src_tensor));
  if (scatters_rows(self, dim, index, src)) {
    scatter_rows(self, index, src, mode, include_self);
    self.bump_version();
    return;
  }
  const Scatter all{self, dim, index, src};
  if (mode == ScatterMode::kAssign || !include_self) {
    assign(self, mode,
           [&](auto tag, const auto& f) { visit_elements<typename decltype(tag)::type>(all, f); });
  }
  self.bump_version();
  if (mode == ScatterMode::kAssign) return;
  dispatch_all(self.dtype(), "scatter_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    combine<T>(all, mode, [&](const auto& f) { visit_elements<T>(all, f); });
    if (mode == ScatterMode::kMean) {
      Tensor counts = Tensor::empty(self.sizes(), ScalarType::kLong);
      fill(counts, Scalar(include_self ? 1 : 0));
      visit_elements<int64_t>({counts, dim, index, index}, [](int64_t& to, int64_t) { ++to; });
      int64_t* n = counts.data<int64_t>();
      for (int64_t i = 0; i < counts.numel(); ++i) n[i] = std::max<int64_t>(n[i], 1);
      divide_by_counts<T>(self, counts);
    }
  });
}

}  // namespace tierup::kernels
