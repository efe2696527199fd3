// Ref<T>: an intrusive reference-counted pointer, one word wide.
//
// Counts are atomic, so handles to one object may live in many threads; the object
// itself is not protected. Objects derive from RefCounted and are born with count 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "tierup/base/object_memory.h"

namespace tierup {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  // Of who made the object: no other thread knows it, unless its constructor told one.
  void retain_new() const {
    if (count_.load(std::memory_order_relaxed) != 0) return retain();
    count_.store(1, std::memory_order_relaxed);
  }
  void release() const {
    // The common case of a sole owner needs no locked read-modify-write.
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }
  uint32_t use_count() const { return count_.load(std::memory_order_acquire); }

  static void* operator new(size_t bytes) { return allocate_object(bytes); }
  static void operator delete(void* object, size_t bytes) { free_object(object, bytes); }
  static void* operator new(size_t bytes, std::align_val_t alignment) {
    return ::operator new(bytes, alignment);
  }
  static void operator delete(void* object, size_t, std::align_val_t alignment) {
    ::operator delete(object, alignment);
  }

 private:
  mutable std::atomic<uint32_t> count_{0};
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): null is a Ref.
  explicit Ref(T* pointer) : pointer_(pointer) {
    if (pointer_ != nullptr) pointer_->retain();
  }
  Ref(const Ref& other) : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  template <typename U>
  requires std::is_convertible_v<U*, T*> Ref(const Ref<U>& other)
      : Ref(other.get()) {}  // NOLINT(google-explicit-constructor)
  Ref& operator=(const Ref& other) {
    Ref(other).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref(std::move(other)).swap(*this);
    return *this;
  }
  ~Ref() {
    if (pointer_ != nullptr) pointer_->release();
  }

  void swap(Ref& other) noexcept { std::swap(pointer_, other.pointer_); }
  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.pointer_ == b.pointer_; }

  // Gives up ownership without releasing; adopt() is the reverse.
  T* leak() { return std::exchange(pointer_, nullptr); }
  static Ref adopt(T* pointer) {
    Ref result;
    result.pointer_ = pointer;
    return result;
  }

 private:
  T* pointer_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make_ref(Args&&... args) {
  T* const object = new T(std::forward<Args>(args)...);
  object->retain_new();
  return Ref<T>::adopt(object);
}

// A Ref in a shared object that whichever thread first needs it may fill while others read it.
// Thread rule: get and fill from any thread; assigning and taking are the owner's, while nobody
// else looks, for what readers saw is then let go.
template <typename T>
class LateRef {
 public:
  LateRef() = default;
  LateRef(const LateRef&) = delete;
  LateRef& operator=(Ref<T> value) {
    const Ref<T> old = Ref<T>::adopt(pointer_.load(std::memory_order_relaxed));
    pointer_.store(value.leak(), std::memory_order_release);
    return *this;
  }
  ~LateRef() {
    if (T* const last = get(); last != nullptr) last->release();
  }

  T* get() const { return pointer_.load(std::memory_order_acquire); }
  explicit operator bool() const { return get() != nullptr; }
  Ref<T> ref() const { return Ref<T>(get()); }
  Ref<T> take() {
    Ref<T> taken = Ref<T>::adopt(get());
    pointer_.store(nullptr, std::memory_order_relaxed);
    return taken;
  }
  // Puts `value` in if nothing is there yet. Returns what is there then.
  T* fill(Ref<T> value) {
    T* there = nullptr;
    if (!pointer_.compare_exchange_strong(there, value.get(), std::memory_order_acq_rel))
      return there;
    return value.leak();
  }

 private:
  std::atomic<T*> pointer_{nullptr};
};

}  // namespace tierup
