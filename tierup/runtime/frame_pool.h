// Frame: the slots of one run of a plan; FramePool: a few frames kept for the next runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>

#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

class Plan;

// Slots, then room for the inputs of one step. Made for one plan, whose constants it holds.
class Frame {
 public:
  static Frame* make(const Plan& plan);
  static void destroy(Frame* frame);

  IValue* slots() { return reinterpret_cast<IValue*>(this + 1); }
  // Raw memory behind the slots: the interpreter makes and destroys the values there.
  IValue* inputs() { return slots() + slot_count_; }
  // Empties all slots but the constants.
  void clear();

 private:
  Frame(uint32_t slot_count, uint32_t constant_count)
      : slot_count_(slot_count), constant_count_(constant_count) {}
  uint32_t slot_count_;
  uint32_t constant_count_;
};

// Thread rule: any thread; no locks. Holds at most kKept frames, each empty but for constants.
class FramePool {
 public:
  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool();

  Frame* acquire(const Plan& plan);
  void release(Frame* frame);

 private:
  static constexpr size_t kKept = 16;
  std::array<std::atomic<Frame*>, kKept> kept_{};
};

}  // namespace tierup::runtime
