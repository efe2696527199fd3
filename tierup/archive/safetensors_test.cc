// Safetensors: round trips, aliasing, and every header check with bytes that break it.
#include "tierup/archive/safetensors.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

Tensor iota(IntSpan sizes) {
  Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

std::string file_bytes(std::string header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + data;
}

ErrorCode code_of(const std::string& bytes) {
  try {
    const Safetensors file = Safetensors::read(own_bytes(bytes));
    file.tensors();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

std::string message_of(const std::string& bytes) {
  try {
    Safetensors::read(own_bytes(bytes)).tensors();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(Safetensors, round_trips_tensors_and_metadata_in_order) {
  const int64_t sizes[] = {2, 3};
  const int64_t none[] = {0, 4};
  const NamedTensors tensors = {{"b", iota(sizes)},
                                {"a", Tensor::scalar(Scalar(int64_t{7}))},
                                {"empty", Tensor::empty(none, ScalarType::kBool)}};
  const TextMetadata metadata = {{"k", "quote \" slash \\ tab \t nul \x01 ü"}, {"x", ""}};
  const Safetensors file = Safetensors::read(own_bytes(to_safetensors(tensors, metadata)));
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].name, "b");
  EXPECT_EQ(file.tensor("b").describe(), "Float[2, 3]");
  EXPECT_EQ(file.tensor("b").data<float>()[5], 5.f);
  EXPECT_EQ(file.tensor("a").dim(), 0);
  EXPECT_EQ(*file.tensor("a").data<int64_t>(), 7);
  EXPECT_EQ(file.tensor("empty").numel(), 0);
}

TEST(Safetensors, writes_strided_tensors_contiguous) {
  const int64_t sizes[] = {2, 3};
  const int64_t turned[] = {3, 2};
  const int64_t strides[] = {1, 3};
  const Tensor view = iota(sizes).as_view(turned, strides, 0);
  const Safetensors file = Safetensors::read(own_bytes(to_safetensors({{"t", view}})));
  const float wanted[] = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::memcmp(file.tensor("t").raw(), wanted, sizeof wanted), 0);
}

TEST(Safetensors, refuses_to_write_what_the_format_lacks) {
  EXPECT_THROW(to_safetensors({{"c", Tensor::scalar(Scalar(complex128{1, 2}))}}), Error);
  EXPECT_THROW(to_safetensors({{"__metadata__", Tensor::scalar(Scalar(1.0))}}), Error);
  EXPECT_THROW(
      to_safetensors({{"x", Tensor::scalar(Scalar(1.0))}, {"x", Tensor::scalar(Scalar(1.0))}}),
      Error);
}

TEST(Safetensors, aliases_private_memory_and_keeps_it_alive) {
  const int64_t sizes[] = {4};
  const std::string path = ::testing::TempDir() + "alias.safetensors";
  write_safetensors(path, {{"w", iota(sizes)}});
  Tensor first;
  {
    const Safetensors file = Safetensors::open(path);
    first = file.tensor("w");
    EXPECT_EQ(first.raw(), file.tensor("w").raw());
  }
  EXPECT_FALSE(first.storage()->owns_memory());
  first.data<float>()[0] = 9.f;  // Copy-on-write: the file keeps its bytes.
  EXPECT_EQ(first.data<float>()[3], 3.f);
  EXPECT_EQ(Safetensors::open(path).tensor("w").data<float>()[0], 0.f);
  std::remove(path.c_str());
}

TEST(Safetensors, copies_misaligned_and_borrowed_bytes) {
  const std::string data(12, '\1');
  const std::string bytes =
      file_bytes(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                 R"("b":{"dtype":"I64","shape":[],"data_offsets":[4,12]}}   )",
                 data);
  const Safetensors file = Safetensors::read(own_bytes(bytes));
  EXPECT_EQ(*file.tensor("b").data<int64_t>(), 0x0101010101010101);
  const Tensor from_borrowed =
      Safetensors::read(borrow_bytes(std::as_bytes(std::span(bytes)))).tensor("a");
  EXPECT_TRUE(from_borrowed.storage()->owns_memory());
}

TEST(Safetensors, reads_through_a_callback) {
  const int64_t sizes[] = {3};
  const std::string bytes = to_safetensors({{"w", iota(sizes)}});
  const auto source = callback_source(bytes.size(), [&](uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
  });
  EXPECT_EQ(Safetensors::read(source).tensor("w").data<float>()[2], 2.f);
}

TEST(Safetensors, names_what_is_wrong_with_a_header) {
  const auto expect = [](const std::string& header, const std::string& data, const char* words) {
    EXPECT_NE(message_of(file_bytes(header, data)).find(words), std::string::npos)
        << header << " gave: " << message_of(file_bytes(header, data));
  };
  const std::string eight(8, '\0');
  expect("[]", "", "not a JSON object");
  expect("{", "", "not JSON");
  expect(R"({"__metadata__":{"a":1}})", "", "not a string");
  expect(R"({"a":{"dtype":"F32","shape":[2]}})", eight, "lacks");
  expect(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", eight, "F31");
  expect(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight, "bad size");
  expect(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", eight, "bad size");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight, "data_offsets");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", eight, "data_offsets");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", eight, "data_offsets");
  expect(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight, "need 12");
  expect(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", eight, "only 8");
  expect(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "",
         "too large");
  expect(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
         eight, "overlaps");
  expect(R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", eight, "no tensor before");
  expect(R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", eight, "follow the last");
  expect(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
         R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
         "", "twice");
}

TEST(Safetensors, bounds_header_size_and_nesting) {
  EXPECT_EQ(code_of(""), ErrorCode::kCorruptArchive);
  EXPECT_EQ(code_of(std::string(8, '\xff')), ErrorCode::kCorruptArchive);
  EXPECT_EQ(code_of(file_bytes("{}", "").substr(0, 9)), ErrorCode::kCorruptArchive);
  EXPECT_EQ(code_of(file_bytes(std::string(100000, '['), "")), ErrorCode::kCorruptArchive);
  EXPECT_EQ(code_of(file_bytes("{\"\xff\":1}", "")), ErrorCode::kCorruptArchive);
}

TEST(Safetensors, answers_every_truncation_and_bit_flip_with_an_error_or_a_value) {
  const int64_t sizes[] = {2, 2};
  const std::string good =
      to_safetensors({{"w", iota(sizes)}, {"v", Tensor::scalar(Scalar(true))}}, {{"k", "v"}});
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_NE(code_of(good.substr(0, n)), ErrorCode::kInternal) << n;
  }
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    try {
      Safetensors::read(own_bytes(bad)).tensors();
    } catch (const Error&) {
    }
  }
}

TEST(Safetensors, says_which_file_is_missing) {
  try {
    Safetensors::open("/nowhere/x.safetensors");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(error.message().find("/nowhere/x.safetensors"), std::string::npos);
  }
}

}  // namespace
}  // namespace tierup::archive
