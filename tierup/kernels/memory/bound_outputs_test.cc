// Results in buffers of the caller's: where they are computed, copied, and moved out again.
#include "tierup/kernels/memory/bound_outputs.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

Tensor filled(int64_t size, float value) {
  const Tensor tensor = Tensor::empty(std::array{size}, ScalarType::kFloat);
  for (int64_t i = 0; i < size; ++i) tensor.data<float>()[i] = value;
  return tensor;
}

class BoundOutputsTest : public ::testing::Test {
 protected:
  // A "model": makes tensors in a scope of its own, and gives its results.
  using Body = std::function<std::vector<IValue>()>;
  size_t run(const Body& body, std::vector<Tensor> outputs, std::vector<IValue> inputs = {}) {
    BoundOutputs bound(places_, outputs, inputs);
    std::vector<IValue> results;
    {
      const BoundOutputs::Scope scope(bound);
      results = body();
    }
    return bound.finish(std::move(results));
  }
  OutputPlaces places_;
  const Tensor a_ = filled(4, -1);
  const Tensor b_ = filled(4, -1);
};

TEST_F(BoundOutputsTest, results_are_computed_in_place_from_the_second_run_on) {
  const void* where = nullptr;
  const Body body = [&]() -> std::vector<IValue> {
    filled(4, 5);  // Of the same size, and dead before the result is made.
    Tensor result = filled(4, 7);
    where = result.raw();
    return {result};
  };
  EXPECT_EQ(run(body, {a_}), 1U);
  EXPECT_EQ(a_.data<float>()[3], 7);
  EXPECT_EQ(run(body, {b_}), 0U);
  EXPECT_EQ(where, b_.raw());
  EXPECT_EQ(b_.data<float>()[3], 7);
}

TEST_F(BoundOutputsTest, equal_buffers_are_told_apart_by_when_they_were_allocated) {
  const Body body = []() -> std::vector<IValue> {
    Tensor second = filled(4, 2);
    Tensor first = filled(4, 1);
    return {first, second};
  };
  EXPECT_EQ(run(body, {a_, b_}), 2U);
  EXPECT_EQ(run(body, {a_, b_}), 0U);
  EXPECT_EQ(a_.data<float>()[0], 1);
  EXPECT_EQ(b_.data<float>()[0], 2);
}

TEST_F(BoundOutputsTest, results_that_change_places_are_copied_once) {
  bool swapped = false;
  const Body body = [&]() -> std::vector<IValue> {
    Tensor x = filled(4, swapped ? 2 : 1);
    Tensor y = filled(4, swapped ? 1 : 2);
    return swapped ? std::vector<IValue>{y, x} : std::vector<IValue>{x, y};
  };
  run(body, {a_, b_});
  swapped = true;
  for (const size_t copies : {2U, 0U, 0U}) {
    EXPECT_EQ(run(body, {a_, b_}), copies);
    EXPECT_EQ(a_.data<float>()[0], 1);
    EXPECT_EQ(b_.data<float>()[0], 2);
  }
}

// Another plan of the model made its result by this allocation; here it is a neighbour that lives
// on.
TEST_F(BoundOutputsTest, a_place_that_misled_is_forgotten) {
  const Body former = []() -> std::vector<IValue> { return {filled(4, 1)}; };
  run(former, {a_});
  EXPECT_EQ(run(former, {a_}), 0U);
  const Body now = []() -> std::vector<IValue> {
    const Tensor neighbour = filled(4, 2);
    Tensor result = filled(4, 3);
    return {result};
  };
  EXPECT_EQ(run(now, {a_}), 1U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(now, {b_}), 0U);
  EXPECT_EQ(b_.data<float>()[3], 3);
}

TEST_F(BoundOutputsTest, views_of_another_result_are_copied) {
  const Body body = []() -> std::vector<IValue> {
    Tensor whole = filled(4, 3);
    return {whole, whole.as_view(std::array<int64_t, 1>{4}, std::array<int64_t, 1>{0}, 2)};
  };
  run(body, {a_, b_});
  EXPECT_EQ(run(body, {a_, b_}), 1U);
  EXPECT_EQ(a_.data<float>()[0], 3);
  EXPECT_EQ(b_.data<float>()[3], 3);
}

TEST_F(BoundOutputsTest, what_is_kept_behind_the_run_leaves_the_buffer) {
  std::vector<Tensor> kept;
  const Body body = [&]() -> std::vector<IValue> {
    kept.push_back(filled(4, 9));
    return {kept.back()};
  };
  run(body, {a_});
  EXPECT_EQ(run(body, {b_}), 0U);
  EXPECT_NE(kept[1].raw(), b_.raw());
  b_.data<float>()[0] = 0;  // The caller's again.
  EXPECT_EQ(kept[1].data<float>()[0], 9);
}

TEST_F(BoundOutputsTest, buffers_that_share_memory_are_written_by_copying) {
  const Tensor shared = filled(16, 0);
  const auto part = [&](int64_t offset) {
    return shared.as_view(std::array<int64_t, 1>{4}, std::array<int64_t, 1>{1}, offset);
  };
  const Body body = [&]() -> std::vector<IValue> { return {filled(4, 1), filled(4, 2)}; };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(body, {part(0), part(0)}), 2U);
    EXPECT_EQ(run(body, {a_, b_}, {a_}), i == 0 ? 2U : 1U) << "an input lies in a buffer";
    EXPECT_EQ(run(body, {part(1), b_}), 1U) << "the buffer is not aligned";
  }
}

TEST_F(BoundOutputsTest, a_failing_run_leaves_nothing_in_the_buffer) {
  const Body body = [] { return std::vector<IValue>{filled(4, 1)}; };
  run(body, {a_});
  Tensor survivor;
  const Body failing = [&]() -> std::vector<IValue> {
    survivor = filled(4, 8);
    fail(ErrorCode::kInvalidArgument, "no");
  };
  EXPECT_THROW(run(failing, {b_}), Error);
  EXPECT_NE(survivor.raw(), b_.raw());
  EXPECT_EQ(survivor.data<float>()[2], 8);
}

TEST_F(BoundOutputsTest, misfits_are_named) {
  const auto failure = [&](const Tensor& output) {
    try {
      run([] { return std::vector<IValue>{filled(4, 1)}; }, {output});
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(failure(filled(3, 0)), "output 0 is float32[4], its buffer float32[3]");
}

}  // namespace
}  // namespace tierup::kernels
