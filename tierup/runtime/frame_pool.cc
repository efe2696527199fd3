#include "tierup/runtime/frame_pool.h"

#include <memory>
#include <new>

#include "tierup/runtime/plan.h"

namespace tierup::runtime {

static_assert(sizeof(Frame) % alignof(IValue) == 0);

Frame* Frame::make(const Plan& plan) {
  const size_t values = plan.slot_count() + plan.max_inputs();
  void* memory = ::operator new(sizeof(Frame) + values * sizeof(IValue));
  const auto& constants = plan.constants();
  auto* frame = new (memory)
      Frame(static_cast<uint32_t>(plan.slot_count()), static_cast<uint32_t>(constants.size()));
  IValue* slots = frame->slots();
  std::uninitialized_copy(constants.begin(), constants.end(), slots);
  std::uninitialized_default_construct(slots + constants.size(), slots + plan.slot_count());
  return frame;
}

void Frame::destroy(Frame* frame) {
  std::destroy_n(frame->slots(), frame->slot_count_);
  ::operator delete(frame);
}

void Frame::clear() {
  for (uint32_t i = constant_count_; i < slot_count_; ++i) slots()[i] = IValue();
}

FramePool::~FramePool() { kept_.take_each(&Frame::destroy); }

Frame* FramePool::acquire(const Plan& plan) {
  Frame* frame = kept_.take();
  return frame != nullptr ? frame : Frame::make(plan);
}

void FramePool::release(Frame* frame) {
  frame->set_last_round(round_.load(std::memory_order_relaxed));
  if (!kept_.put(frame)) Frame::destroy(frame);
}

// Takes each frame out, so that no run can have it meanwhile, and puts back those that were used.
size_t FramePool::trim() {
  const uint32_t round = round_.fetch_add(1, std::memory_order_relaxed);
  size_t freed = 0;
  kept_.take_each([&](Frame* frame) {
    if (frame->last_round() == round && kept_.put(frame)) return;
    Frame::destroy(frame);
    ++freed;
  });
  return freed;
}

size_t FramePool::kept() const { return kept_.count(); }

}  // namespace tierup::runtime
