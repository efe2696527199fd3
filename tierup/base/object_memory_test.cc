#include "tierup/base/object_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tierup/base/block_marks.h"
#include "tierup/base/memory_use.h"
#include "tierup/base/ref.h"

namespace tierup {
namespace {

struct Small final : public RefCounted {
  int64_t value = 7;
};
struct alignas(128) Aligned final : public RefCounted {
  char bytes[128] = {};
};

TEST(ObjectMemory, hands_out_what_was_freed_last) {
  if (kBlocksAreMarked) return;  // The sanitizer's builds keep nothing.
  void* first = allocate_object(100);
  std::memset(first, 1, 100);
  free_object(first, 100);
  void* second = allocate_object(97);  // The same size class.
  EXPECT_EQ(second, first);
  void* other = allocate_object(97);
  EXPECT_NE(other, second);
  free_object(second, 97);
  free_object(other, 97);
}

TEST(ObjectMemory, takes_any_size) {
  std::vector<std::pair<void*, size_t>> blocks;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{31}, size_t{32}, size_t{33}, size_t{1024},
                             size_t{1025}, size_t{100000}}) {
    for (int i = 0; i < 1200; ++i) blocks.emplace_back(allocate_object(bytes), bytes);
  }
  for (const auto& [block, bytes] : blocks) std::memset(block, 2, bytes);
  for (const auto& [block, bytes] : blocks) free_object(block, bytes);
}

TEST(ObjectMemory, counts_what_the_heap_gave) {
  const int64_t before = object_use().bytes;
  void* block = allocate_object(1 << 20);
  EXPECT_EQ(object_use().bytes, before + (1 << 20));
  free_object(block, 1 << 20);
  EXPECT_EQ(object_use().bytes, before);
}

TEST(ObjectMemory, blocks_move_between_threads) {
  std::vector<Ref<Small>> objects;
  std::thread([&] {
    for (int i = 0; i < 2000; ++i) objects.push_back(make_ref<Small>());
  }).join();
  for (const Ref<Small>& object : objects) EXPECT_EQ(object->value, 7);
  std::thread([&] { objects.clear(); }).join();
  EXPECT_EQ(make_ref<Small>()->value, 7);
}

TEST(ObjectMemory, respects_the_alignment_of_types) {
  for (int i = 0; i < 4; ++i) {
    const Ref<Aligned> object = make_ref<Aligned>();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(object.get()) % 128, 0U);
  }
}

TEST(ObjectMemory, keeps_a_mebibyte_of_a_size_at_most) {
  std::thread([] {
    const int64_t before = object_use().bytes;
    std::vector<void*> blocks(3000);
    for (void*& block : blocks) block = allocate_object(1000);
    for (void* block : blocks) free_object(block, 1000);
    EXPECT_LE(object_use().bytes - before, 1 << 20);
    if (!kBlocksAreMarked) {
      EXPECT_GT(object_use().bytes - before, 1 << 19);
    }
  }).join();
}

}  // namespace
}  // namespace tierup
