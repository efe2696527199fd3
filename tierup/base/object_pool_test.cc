#include "tierup/base/object_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tierup {
namespace {

TEST(ObjectPool, ObjectsStayWhereTheyAreMade) {
  ObjectPool<int> pool;
  std::vector<int*> made;
  for (int i = 0; i < 1000; ++i) {
    made.push_back(&pool.make());
    EXPECT_EQ(*made.back(), 0);
    *made.back() = i;
  }
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(*made[static_cast<size_t>(i)], i);
}

TEST(ObjectPool, ObjectsGoWithIt) {
  const auto held = std::make_shared<int>();
  {
    ObjectPool<std::shared_ptr<int>> pool;
    for (int i = 0; i < 100; ++i) pool.make() = held;
    EXPECT_EQ(held.use_count(), 101);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tierup
