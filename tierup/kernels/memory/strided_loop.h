// StridedLoop: one traversal of several tensors at once, the ground of every point-wise kernel.
//
// The operands are broadcast to one shape; dimensions are ordered from the fastest (smallest
// strides of the first operand, then the next) to the slowest and merged where all operands allow
// it, so that a contiguous traversal becomes one run. The kernel sees only runs: a pointer and a
// byte stride for each operand, and a count. Ranges of elements are spread over threads; since
// each element is computed alone, the cut does not show in the result.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "tierup/base/parallel.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

class StridedLoop {
 public:
  static constexpr size_t kMaxOperands = 16;
  static constexpr size_t kMaxRank = 64;

  // Operands must be broadcastable to `shape` (outputs first, and of exactly that shape). They are
  // only read here; the loop keeps addresses, not tensors. Throws kInvalidArgument for a shape
  // that does not fit and for more than kMaxRank dimensions.
  StridedLoop(IntSpan shape, std::span<const Tensor* const> operands);
  StridedLoop(IntSpan shape, std::initializer_list<const Tensor*> operands)
      : StridedLoop(shape, std::span<const Tensor* const>(operands.begin(), operands.size())) {}

  int64_t numel() const { return numel_; }
  size_t rank() const { return rank_; }  // After merging; 1 for a single run.
  // Of an operand within every run, in bytes; and how long runs are.
  int64_t inner_stride(size_t operand) const { return strides_[0][operand]; }
  int64_t inner_size() const { return sizes_[0]; }
  // Whether the operand's elements, of so many bytes, lie one after another in the loop's order.
  bool is_dense(size_t operand, int64_t width) const;
  // Brings the operand's elements from the `first` one on together, in the loop's order.
  void gather(size_t operand, int64_t width, int64_t first, int64_t count, char* to) const;
  char* base(size_t operand) const { return base_[operand]; }

  // Calls body(char* const* pointers, const int64_t* byte_strides, int64_t count) over runs that
  // cover all elements once, in parallel above `grain` elements.
  template <typename Body>
  void run(int64_t grain, const Body& body) const {
    if (numel_ == 0) return;
    const RunBody call = [](const void* context, char* const* pointers, const int64_t* strides,
                            int64_t count) {
      (*static_cast<const Body*>(context))(pointers, strides, count);
    };
    parallel_for(0, numel_, grain,
                 [&](int64_t begin, int64_t end) { run_range(begin, end, call, &body); });
  }
  // As run(), but of adjacent runs at a time, for bodies that do something once for many: calls
  // body(const Rows&).
  struct Rows {
    char* const* pointers;
    const int64_t* strides;
    int64_t count;
    const int64_t* run_strides;  // From a run to the next one, in bytes.
    int64_t runs;
  };
  template <typename Body>
  void run_rows(int64_t grain, const Body& body) const {
    if (numel_ == 0) return;
    const RowsBody call = [](const void* context, const Rows& rows) {
      (*static_cast<const Body*>(context))(rows);
    };
    parallel_for(0, numel_, grain,
                 [&](int64_t begin, int64_t end) { run_rows_range(begin, end, call, &body); });
  }

 private:
  using RunBody = void (*)(const void* context, char* const* pointers, const int64_t* strides,
                           int64_t count);
  using RowsBody = void (*)(const void* context, const Rows& rows);
  using Pointers = std::array<char*, kMaxOperands>;
  using Index = std::array<int64_t, kMaxRank>;
  using StrideRow = std::array<int64_t, kMaxOperands>;

  bool set_single_run(IntSpan shape, std::span<const Tensor* const> operands);
  void read_dimensions(IntSpan shape, std::span<const Tensor* const> operands);
  void order_dimensions();
  void merge_dimensions();
  void start_at(int64_t element, Pointers& pointers, Index& index) const;
  // To the dimension's place after the next so many, and on from its end.
  void advance(size_t dim, int64_t steps, Pointers& pointers, Index& index) const;
  void run_range(int64_t begin, int64_t end, RunBody body, const void* context) const;
  void run_rows_range(int64_t begin, int64_t end, RowsBody body, const void* context) const;

  size_t operand_count_ = 0;
  size_t rank_ = 0;
  int64_t numel_ = 0;
  std::array<char*, kMaxOperands> base_;
  // By dimension, fastest first; left uninitialised beyond rank_.
  std::array<int64_t, kMaxRank> sizes_;
  std::array<StrideRow, kMaxRank> strides_;
};

// The strides of a dense tensor of `shape` with dimensions in the order that PyTorch gives the
// result of a point-wise operator on these inputs.
IntVector pointwise_strides(IntSpan shape, std::span<const Tensor* const> inputs);
// A fresh tensor of `shape` laid out as PyTorch lays out the result of a point-wise operator on
// these inputs: dense, with dimensions in the order of the inputs' strides.
Tensor empty_pointwise(IntSpan shape, ScalarType dtype, std::span<const Tensor* const> inputs);
inline Tensor empty_pointwise(IntSpan shape, ScalarType dtype,
                              std::initializer_list<const Tensor*> inputs) {
  return empty_pointwise(shape, dtype,
                         std::span<const Tensor* const>(inputs.begin(), inputs.size()));
}

namespace detail {

template <typename Out, typename... In, typename F, size_t... I>
inline void map_run(char* const* pointers, const int64_t* strides, int64_t count, const F& f,
                    std::index_sequence<I...>) {
  const bool dense = strides[0] == static_cast<int64_t>(sizeof(Out)) &&
                     ((strides[I + 1] == static_cast<int64_t>(sizeof(In))) && ...);
  if (dense) {
    Out* out = reinterpret_cast<Out*>(pointers[0]);
    const std::tuple<const In*...> in(reinterpret_cast<const In*>(pointers[I + 1])...);
    for (int64_t i = 0; i < count; ++i) out[i] = f(std::get<I>(in)[i]...);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<Out*>(pointers[0] + i * strides[0]) =
        f(*reinterpret_cast<const In*>(pointers[I + 1] + i * strides[I + 1])...);
  }
}

}  // namespace detail

// out[i] = f(inputs[i]...) with inputs broadcast to out; Out and In... are the element types.
//   map_elements<float, float, bool>(out, [](float x, bool m) { return m ? x : 0.0F; }, x, mask);
template <typename Out, typename... In, typename F, typename... Tensors>
void map_elements(const Tensor& out, const F& f, const Tensors&... inputs) {
  static_assert(sizeof...(In) == sizeof...(Tensors));
  const StridedLoop loop(out.sizes(), {&out, &inputs...});
  loop.run(kNumbersForThread, [&](char* const* pointers, const int64_t* strides, int64_t count) {
    detail::map_run<Out, In...>(pointers, strides, count, f, std::index_sequence_for<In...>{});
  });
}

}  // namespace tierup::kernels
