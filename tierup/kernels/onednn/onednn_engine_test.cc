#include "tierup/kernels/onednn/onednn_engine.h"

#include <gtest/gtest.h>

#include <memory>

#include "tierup/base/parallel.h"

namespace tierup::kernels {
namespace {

TEST(ThreadsWorth, SmallWorkIsForTheCallingThreadAlone) {
  const ThreadCountScope threads(2);
  constexpr int64_t kMultiplications = 300'000;
  EXPECT_EQ(threads_worth(kMultiplications, 0), 2);
  EXPECT_EQ(threads_worth(kMultiplications, 0, kMultiplications), 1);
  EXPECT_EQ(threads_worth(kMultiplications + 1, 0, kMultiplications), 2);
  // Moving numbers takes time too.
  EXPECT_EQ(threads_worth(kMultiplications, kMultiplications, kMultiplications), 2);
}

class Primitives {
 public:
  // Whether the primitive of this size had to be made.
  bool makes(int64_t size) {
    bool is_made = false;
    const int64_t value = cache_.get(PrimitiveKey{7, size}, [&] {
      is_made = true;
      return size;
    });
    EXPECT_EQ(value, size);
    return is_made;
  }

 private:
  PrimitiveCache<int64_t> cache_;
};

TEST(PrimitiveCache, has_places_for_a_hundred_sizes_of_all_layers) {
  Primitives primitives;
  for (const bool is_new : {true, false, false}) {
    for (int64_t size = 0; size < 1000; ++size) ASSERT_EQ(primitives.makes(size), is_new) << size;
  }
}

TEST(PrimitiveCache, drops_what_was_unused_for_the_longest_time) {
  Primitives primitives;
  for (int64_t size = 0; size < 1024; ++size) primitives.makes(size);
  EXPECT_FALSE(primitives.makes(0));
  EXPECT_TRUE(primitives.makes(5000));
  EXPECT_FALSE(primitives.makes(0));
  EXPECT_FALSE(primitives.makes(2));
  EXPECT_TRUE(primitives.makes(1));
  EXPECT_FALSE(primitives.makes(5000));
}

TEST(PrimitiveCache, leaves_each_of_many_threads_some_places) {
  // Of two threads: as many as both may have together.
  const auto mine = std::make_unique<Primitives>();
  const auto others = std::make_unique<Primitives>();
  for (int64_t size = 0; size < 1024; ++size) {
    mine->makes(size);
    others->makes(size);
  }
  Primitives last;
  for (const bool is_new : {true, false}) {
    for (int64_t size = 0; size < 128; ++size) ASSERT_EQ(last.makes(size), is_new) << size;
  }
  for (int64_t size = 128; size < 256; ++size) last.makes(size);
  EXPECT_TRUE(last.makes(0));  // There was no more room.
}

}  // namespace
}  // namespace tierup::kernels
