// Values, tensors and files of the public API beside any model, and what a thread of the caller's
// has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "tierup/api/public/error_fixture.h"
#include "tierup/api/public/facade.h"
#include "tierup/base/parallel.h"
#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;
using namespace tierup::fixture;

Tensor counted(std::initializer_list<int64_t> shape) {
  const std::vector<int64_t> sizes(shape);
  Tensor result = Tensor::empty(sizes, DType::kFloat32);
  std::iota(result.data<float>(), result.data<float>() + result.element_count(), 0.0F);
  return result;
}

std::vector<float> values_of(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  return {dense.data<float>(), dense.data<float>() + dense.element_count()};
}

TEST(PublicValues, json_becomes_plain_values) {
  const Value value =
      Value::from_json(R"({"lr": 1e-3, "steps": 3, "on": true, "rest": ["a", null]})");
  EXPECT_EQ(value.describe(), "{lr: 0.001, steps: 3, on: True, rest: [a, None]}");
  EXPECT_EQ(value.entries()[1].second.kind(), Value::Kind::kInt);
  EXPECT_EQ(Value::from_json("1.0").kind(), Value::Kind::kFloat);
  const Error error = error_of([] { Value::from_json("{\"lr\": }"); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(says(error, "is no JSON")) << error.what();
}

TEST(PublicValues, tell_their_type) {
  EXPECT_EQ(Value(3).type(), "int");
  EXPECT_EQ(Value().type(), "NoneType");
  EXPECT_EQ(Value::list({1.5, 2.5}).type(), "List[float]");
  EXPECT_EQ(Value::dict({{"a", Value(counted({2}))}}).type(), "Dict[str, Tensor]");
}

TEST(PublicValues, members_of_an_enum_have_a_name_and_a_value) {
  const auto type = tierup::EnumType::make("__torch__.Color", tierup::Type::integer());
  const Value red = Access::wrap(
      tierup::IValue(tierup::make_ref<tierup::EnumValue>(type, "RED", tierup::IValue(int64_t{7}))));
  EXPECT_EQ(red.kind(), Value::Kind::kEnum);
  EXPECT_EQ(red.field("name").to_string(), "RED");
  EXPECT_EQ(red.field("value").to_int(), 7);
  EXPECT_EQ(error_of([&] { red.field("other"); }).code(), ErrorCode::kNotFound);
}

TEST(PublicValues, rows_share_the_memory) {
  const Tensor tensor = counted({4, 3});
  const Tensor middle = tensor.rows(1, 3);
  EXPECT_EQ(values_of(middle), (std::vector<float>{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values_of(middle.rows(1, 2)), (std::vector<float>{6, 7, 8}));
  middle.data<float>()[0] = -1;
  EXPECT_EQ(tensor.data<float>()[3], -1);
  EXPECT_EQ(tensor.rows(4, 4).element_count(), 0);
  for (const auto& [begin, end] :
       std::vector<std::pair<int64_t, int64_t>>{{-1, 2}, {3, 5}, {2, 1}}) {
    EXPECT_EQ(error_of([&, begin = begin, end = end] { tensor.rows(begin, end); }).code(),
              ErrorCode::kOutOfRange);
  }
  set_requires_grad(tensor, true);
  EXPECT_FALSE(requires_grad(tensor.rows(0, 1)));
}

TEST(PublicValues, files_of_tensors_come_back) {
  const std::string path = ::testing::TempDir() + "tierup_public_values.safetensors";
  const Tensor whole = counted({2, 4});
  const std::vector<int64_t> shape = {4, 2};
  const std::vector<int64_t> strides = {1, 4};
  const Tensor turned = Tensor::borrow(whole.data(), shape, DType::kFloat32, {}, strides);
  save_safetensors(path, {{"turned", turned}, {"whole", whole}}, {{"made_by", "a test"}});
  const NamedTensors back = load_tensors(path);
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].first, "turned");
  EXPECT_EQ(values_of(back[0].second), (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(values_of(back[1].second), values_of(whole));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(bytes.find(R"("made_by":"a test")"), std::string::npos);
  // What cannot be written leaves the old file.
  EXPECT_EQ(error_of([&] {
              save_safetensors(path, {{"a", whole}, {"a", whole}});
            }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_tensors(path).size(), 2U);
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { load_tensors(path); }).code(), ErrorCode::kNotFound);
}

TEST(PublicValues, the_peak_of_memory_begins_anew_where_asked) {
  { const Tensor large = counted({1 << 20}); }
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  EXPECT_EQ(before.peak_bytes, before.live_bytes);
  { const Tensor small = counted({1 << 10}); }
  const MemoryStats after = memory_stats();
  EXPECT_GE(after.peak_bytes, before.live_bytes + (4 << 10));
  EXPECT_LT(after.peak_bytes, before.live_bytes + (4 << 20));
}

TEST(PublicValues, a_scope_sets_the_threads_of_its_thread) {
  const int outside = tierup::intra_op_threads();
  {
    const ThreadScope scope(3);
    EXPECT_EQ(tierup::intra_op_threads(), 3);
    const ThreadScope inner(0);
    EXPECT_EQ(tierup::intra_op_threads(), machine_info().threads);
  }
  EXPECT_EQ(tierup::intra_op_threads(), outside);
  EXPECT_TRUE(says(error_of([] { const ThreadScope scope(1'000'000'000); }), "threads=1000000000"));
}

TEST(PublicValues, options_that_want_no_kernels_lack_no_code_generator) {
  Options options;
  options.tiering = "compile=off";
  EXPECT_EQ(code_generator_failure(options), "");
  options.tiering = "what=2";
  EXPECT_EQ(error_of([&] { code_generator_failure(options); }).code(), ErrorCode::kInvalidArgument);
}

TEST(PublicValues, errors_are_made_of_a_sentence) {
  const Error error(ErrorCode::kNotFound, "no such key");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.message(), "no such key");
  EXPECT_STREQ(error.what(), "no such key");
  EXPECT_TRUE(error.context().empty());
}

}  // namespace
