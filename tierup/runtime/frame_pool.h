// Frame: the slots of one run of a plan; FramePool: a few frames kept for the next runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "tierup/base/idle_slots.h"
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
  // The round of FramePool::trim in which it was last released.
  uint32_t last_round() const { return last_round_; }
  void set_last_round(uint32_t round) { last_round_ = round; }
  // Empties all slots but the constants.
  void clear();

 private:
  Frame(uint32_t slot_count, uint32_t constant_count)
      : slot_count_(slot_count), constant_count_(constant_count) {}
  uint32_t slot_count_;
  uint32_t constant_count_;
  uint32_t last_round_ = 0;
  uint32_t padding_ = 0;  // Slots are aligned to eight bytes.
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
  // Frees the kept frames that nobody used since the last call; returns how many.
  size_t trim();
  size_t kept() const;

 private:
  static constexpr size_t kKept = 16;
  IdleSlots<Frame, kKept> kept_;
  std::atomic<uint32_t> round_{1};
};

}  // namespace tierup::runtime
