// LaneLoop: visits the one-dimensional lanes along one dimension of several tensors at once.
//
// A lane is what remains when all other coordinates are fixed: what gather, sort or cumsum work on.
// The operands may have different sizes; the loop runs over a given shape, the lane dimension
// excluded, and only uses their strides. Lanes are spread over threads.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "tierup/base/parallel.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

class LaneLoop {
 public:
  static constexpr size_t kMaxOperands = 6;
  using Pointers = std::array<char*, kMaxOperands>;

  // All operands have the rank of `shape`; a rank of 0 is one lane of one element. No lane is
  // visited where no operand has elements. The loop keeps addresses, not tensors.
  LaneLoop(IntSpan shape, int64_t dim, std::initializer_list<const Tensor*> operands);

  int64_t lanes() const { return lanes_; }
  // Bytes from one element of a lane to the next.
  int64_t step(size_t operand) const { return step_[operand]; }

  // Calls body(const Pointers&) for each lane, with the addresses of its first elements; in
  // parallel above `grain` lanes.
  template <typename Body>
  void run(int64_t grain, const Body& body) const {
    run_ranges(grain, [&](const auto& for_each) { for_each(body); });
  }
  // The same for bodies that need scratch memory: calls range(for_each) once for each range of
  // lanes, and for_each(body) there calls body for the lanes of the range.
  template <typename Range>
  void run_ranges(int64_t grain, const Range& range) const {
    parallel_for(0, lanes_, grain, [&](int64_t begin, int64_t end) {
      range([&](const auto& body) {
        Cursor cursor(*this, begin);
        for (int64_t lane = begin; lane < end; ++lane) {
          body(static_cast<const Pointers&>(cursor.pointers));
          cursor.advance(*this);
        }
      });
    });
  }

 private:
  struct Cursor {
    Cursor(const LaneLoop& loop, int64_t lane);
    void advance(const LaneLoop& loop) {
      if (index.empty() || index.back() + 1 == loop.sizes_.back()) return carry(loop);
      ++index.back();
      for (size_t i = 0; i < loop.operands_; ++i) pointers[i] += loop.strides_.back()[i];
    }
    void carry(const LaneLoop& loop);  // Steps over the ends of dimensions.
    Pointers pointers;
    IntVector index;
  };

  size_t operands_ = 0;
  int64_t lanes_ = 0;
  Pointers base_{};
  std::array<int64_t, kMaxOperands> step_{};
  IntVector sizes_;                                            // Without the lane dimension.
  SmallVector<std::array<int64_t, kMaxOperands>, 6> strides_;  // In bytes.
};

}  // namespace tierup::kernels
