// BoundOutputs: the results of a run in buffers of the caller's, without a copy where that can be.
//
// OutputPlaces remembers which allocations of a run became its results: the n-th that the arena did
// not serve. In later runs those allocations get the caller's buffers. Nothing rests on the
// guess being right: a result that came to lie elsewhere is copied, its place learnt and the one
// that misled forgotten; what else came to lie in a buffer is dead by the end, or is moved out of
// it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "tierup/tensor/block_owner.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::kernels {

// Of one model: plans for different sizes may have different places, so each output has a few.
// Thread rule: any thread, no locks.
class OutputPlaces {
 public:
  static constexpr size_t kMaxOutputs = 16;  // Results beyond are copied.
  bool has(size_t output, uint32_t allocation) const;
  void learn(size_t output, uint32_t allocation);
  void unlearn(size_t output, uint32_t allocation);

 private:
  static constexpr size_t kPlaces = 8;
  struct Places {
    std::array<std::atomic<uint32_t>, kPlaces> numbers{};  // From 1 on; 0: none.
    std::atomic<uint32_t> next{0};
  };
  std::array<Places, kMaxOutputs> outputs_;
};

// One run in one thread: made before it, opened while it computes, finished after it.
class BoundOutputs {
 public:
  // Buffers that are not contiguous, not aligned as the allocator aligns, or overlap with an input
  // or each other are written by copying.
  BoundOutputs(OutputPlaces& places, std::span<const Tensor> outputs,
               std::span<const IValue> inputs);
  BoundOutputs(const BoundOutputs&) = delete;
  BoundOutputs& operator=(const BoundOutputs&) = delete;
  ~BoundOutputs();

  // Serves the allocations of the run while it lives.
  class Scope final : public AllocationScope {
   public:
    explicit Scope(BoundOutputs& bound) : bound_(bound) { bound_.begin_run(); }
    Ref<Storage> allocate(size_t bytes) override;

   private:
    BoundOutputs& bound_;
  };

  // Puts the leaves of the result into the buffers. Throws kInvalidArgument, naming the output, if
  // their number, shapes or dtypes differ. Returns how many had to be copied.
  size_t finish(std::vector<IValue> results);

 private:
  struct Buffer {
    void* data = nullptr;  // Null: written by copying.
    size_t bytes = 0;
    Ref<Storage> handed;  // Over `data`, since this run asked for it.
    uint32_t number = 0;  // Of the allocation that got it.
  };
  // An allocation that could have been a result.
  struct Seen {
    uint32_t number = 0;
    const void* data = nullptr;
  };
  static constexpr size_t kSeen = 64;  // The last ones.

  void begin_run();
  Ref<Storage> allocate(size_t bytes);
  Ref<Storage> hand_out(size_t output, uint32_t number);
  void check(const std::vector<IValue>& results) const;
  bool is_in_place(size_t output, const Tensor& result) const;
  void learn(size_t output, const Tensor& result);
  void unlearn(size_t output, const Tensor& result);
  void move_out();

  OutputPlaces& places_;
  const std::span<const Tensor> outputs_;
  Ref<BlockOwner> owner_;
  std::array<Buffer, OutputPlaces::kMaxOutputs> buffers_;
  std::array<Seen, kSeen> seen_;
  size_t seen_count_ = 0;
  uint32_t next_ = 1;
  bool is_asking_ = false;
};

}  // namespace tierup::kernels
