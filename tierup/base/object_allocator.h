// Vectors of values and tensors, and dictionaries, take their memory from base/object_memory.h:
// every call of an operator or a model makes some. A header of its own, because it must be seen
// before the first use of such a vector.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "tierup/base/object_memory.h"

namespace tierup {

// An allocator, and what a specialisation of std::allocator for a type of ours needs.
template <typename T>
class ObjectAllocator {
 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr ObjectAllocator() noexcept = default;
  template <typename U>
  constexpr ObjectAllocator(const ObjectAllocator<U>&) noexcept {}  // NOLINT

  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_object(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { free_object(memory, count * sizeof(T)); }
  friend bool operator==(const ObjectAllocator&, const ObjectAllocator&) { return true; }
};

}  // namespace tierup

// The standard lets programs specialise its templates for their own types.
#define TIERUP_OBJECT_ALLOCATOR(Type)                                           \
  template <>                                                                   \
  class std::allocator<Type> : public tierup::ObjectAllocator<Type> {           \
   public:                                                                      \
    constexpr allocator() noexcept = default;                                   \
    template <typename U>                                                       \
    constexpr allocator(const std::allocator<U>&) noexcept {} /* NOLINT */      \
    friend bool operator==(const allocator&, const allocator&) { return true; } \
  };
