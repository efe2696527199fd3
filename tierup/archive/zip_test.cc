// ZipArchive: layouts of PyTorch and of other tools, and files made to mislead it.
#include "tierup/archive/zip.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

using testing::ZipBuilder;
using testing::ZipFile;
using testing::ZipShape;

struct Failure {
  ErrorCode code;
  std::string text;
};

// Opens the file and reads every entry.
Failure failure_of(const std::string& bytes, const ZipLimits& limits = {}) {
  try {
    const ZipArchive zip(own_bytes(bytes), limits);
    for (const auto& entry : zip.entries()) zip.read(entry);
  } catch (const Error& error) {
    return {error.code(), error.message()};
  }
  return {ErrorCode::kInternal, "no error"};
}

void expect_corrupt(const std::string& bytes, const char* words) {
  const Failure failure = failure_of(bytes);
  EXPECT_EQ(failure.code, ErrorCode::kCorruptArchive) << failure.text;
  EXPECT_NE(failure.text.find(words), std::string::npos) << failure.text;
}

std::string content(const std::string& bytes, std::string_view name) {
  const ZipArchive zip(own_bytes(bytes));
  const ZipArchive::Entry* entry = zip.find(name);
  return entry == nullptr ? "no entry" : zip.read(*entry);
}

TEST(Zip, reads_stored_and_deflated_entries_in_order) {
  const std::string long_text(100000, 'x');
  const std::string bytes = ZipBuilder()
                                .add("m/data.pkl", "abc")
                                .add({.name = "m/code.py", .content = long_text, .deflate = true})
                                .add("m/empty", "")
                                .finish();
  EXPECT_LT(bytes.size(), 2000u);
  const ZipArchive zip(own_bytes(bytes));
  ASSERT_EQ(zip.entries().size(), 3u);
  EXPECT_EQ(zip.entries()[0].name, "m/data.pkl");
  EXPECT_EQ(content(bytes, "m/data.pkl"), "abc");
  EXPECT_EQ(content(bytes, "m/code.py"), long_text);
  EXPECT_EQ(content(bytes, "m/empty"), "");
  EXPECT_EQ(zip.data_offset(zip.entries()[0]) % 64, 0u);
}

TEST(Zip, finds_names_by_one_match_that_ignores_case) {
  const std::string bytes = ZipBuilder().add("M/A", "1").add("m/b", "2").add("m/B", "3").finish();
  EXPECT_EQ(content(bytes, "m/a"), "1");
  EXPECT_EQ(content(bytes, "m/B"), "3");
  EXPECT_EQ(content(bytes, "M/b"), "no entry");
}

TEST(Zip, reads_zip64_fields_in_a_small_file) {
  const std::string bytes =
      ZipBuilder()
          .add({.name = "a", .content = "one", .zip64 = true})
          .add({.name = "b", .content = "two", .deflate = true, .zip64 = true})
          .finish();
  EXPECT_EQ(content(bytes, "a"), "one");
  EXPECT_EQ(content(bytes, "b"), "two");
}

TEST(Zip, accepts_directories_trailing_bytes_and_comments) {
  const ZipBuilder builder = ZipBuilder().add("m/", "").add("m/a", "1");
  EXPECT_EQ(content(builder.finish({.trailer = std::string(300, 'x')}), "m/a"), "1");
  EXPECT_EQ(content(builder.finish({.zip64_end = false, .comment = "PK\5\6 in a comment"}), "m/a"),
            "1");
  EXPECT_EQ(ZipArchive(own_bytes(builder.finish())).entries().size(), 1u);
}

TEST(Zip, reads_from_borrowed_memory_and_callbacks) {
  const std::string bytes = ZipBuilder()
                                .add("a", "1")
                                .add({.name = "b", .content = "22222222", .deflate = true})
                                .finish();
  const ZipArchive borrowed(borrow_bytes(std::as_bytes(std::span(bytes))));
  EXPECT_EQ(borrowed.read(*borrowed.find("b")), "22222222");
  const ZipArchive called(callback_source(bytes.size(), [&](uint64_t at, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + at, out.size());
  }));
  EXPECT_EQ(called.read(*called.find("b")), "22222222");
  EXPECT_TRUE(called.storage(*called.find("a"), ScalarType::kByte)->owns_memory());
}

TEST(Zip, aliases_stored_weights_and_copies_what_cannot_be_aliased) {
  const std::string four_floats(16, '\0');
  const std::string bytes =
      ZipBuilder()
          .add("aligned", four_floats)
          .add({.name = "shifted", .content = four_floats + "x", .alignment = 1})
          .add({.name = "small", .content = four_floats, .deflate = true})
          .finish();
  const ZipArchive zip(own_bytes(bytes));
  EXPECT_FALSE(zip.storage(*zip.find("aligned"), ScalarType::kFloat)->owns_memory());
  const ZipArchive::Entry& shifted = *zip.find("shifted");
  const bool aligned = zip.data_offset(shifted) % 16 == 0;
  EXPECT_NE(zip.storage(shifted, ScalarType::kComplexDouble)->owns_memory(), aligned);
  EXPECT_TRUE(zip.storage(*zip.find("small"), ScalarType::kFloat)->owns_memory());
}

TEST(Zip, checks_crc_of_text_but_not_of_weights) {
  const std::string bytes = ZipBuilder().add({.name = "a", .content = "1234", .crc = 7}).finish();
  expect_corrupt(bytes, "CRC");
  const ZipArchive zip(own_bytes(bytes));
  EXPECT_EQ(zip.storage(*zip.find("a"), ScalarType::kFloat)->bytes(), 4u);
}

TEST(Zip, makes_bools_of_bytes) {
  const ZipArchive zip(own_bytes(ZipBuilder().add("a", std::string("\0\1\2\377", 4)).finish()));
  const Ref<Storage> storage = zip.storage(*zip.find("a"), ScalarType::kBool);
  EXPECT_EQ(std::memcmp(storage->data(), "\0\1\1\1", 4), 0);
}

TEST(Zip, refuses_encryption_other_methods_and_disks_by_name) {
  const auto text = [](ZipFile file) {
    const Failure failure = failure_of(ZipBuilder().add(std::move(file)).finish());
    EXPECT_EQ(failure.code, ErrorCode::kUnsupported);
    return failure.text;
  };
  EXPECT_NE(text({.name = "a", .flags = 1}).find("encrypted"), std::string::npos);
  EXPECT_NE(text({.name = "a", .method = 12}).find("method 12"), std::string::npos);
  std::string split = ZipBuilder().add("a", "").finish({.zip64_end = false});
  split[split.size() - 18] = 1;
  EXPECT_EQ(failure_of(split).code, ErrorCode::kUnsupported);
}

TEST(Zip, refuses_names_that_play_tricks) {
  for (const char* name : {"../a", "m/../../a", "/etc/passwd", "m\\..\\a", "C:/a", "m/.."}) {
    expect_corrupt(ZipBuilder().add(name, "").finish(), name);
  }
  expect_corrupt(ZipBuilder().add(std::string("a\0b", 3), "").finish(), "NUL");
  expect_corrupt(ZipBuilder().add("", "").finish(), "empty");
  expect_corrupt(ZipBuilder().add(std::string(5000, 'n'), "").finish(), "too long");
  EXPECT_EQ(failure_of(ZipBuilder().add("m/..a/b..", "").finish()).text, "no error");
}

TEST(Zip, refuses_repeated_and_overlapping_entries) {
  expect_corrupt(ZipBuilder().add("a", "1").add("a", "2").finish(), "twice");
  expect_corrupt(
      ZipBuilder().add("a", "1").add({.name = "b", .content = "1", .header_offset = 0}).finish(),
      "overlap");
}

// Its directory and end record are found by nobody, also where the outer ones are cut off.
TEST(Zip, takes_a_zip_inside_of_an_entry_for_bytes) {
  const std::string inner = ZipBuilder().add("evil", "code").finish();
  for (const bool deflate : {false, true}) {
    const std::string outer = ZipBuilder()
                                  .add("m/before", std::string(100, 'b'))
                                  .add({.name = "m/zip", .content = inner, .deflate = deflate})
                                  .finish();
    EXPECT_EQ(content(outer, "m/zip"), inner);
    EXPECT_EQ(content(outer, "evil"), "no entry");
    for (size_t n = 0; n < outer.size(); ++n) {
      EXPECT_EQ(failure_of(outer.substr(0, n)).code, ErrorCode::kCorruptArchive) << n;
    }
  }
}

TEST(Zip, refuses_sizes_that_cannot_be) {
  expect_corrupt(ZipBuilder().add({.name = "a", .content = "1", .bytes = 2}).finish(), "two sizes");
  expect_corrupt(
      ZipBuilder().add({.name = "a", .content = "1", .deflate = true, .bytes = 1 << 20}).finish(),
      "cannot expand");
  expect_corrupt(
      ZipBuilder().add({.name = "a", .content = "1111", .deflate = true, .bytes = 5}).finish(),
      "does not expand to its 5");
  expect_corrupt(
      ZipBuilder().add({.name = "a", .content = "1111", .deflate = true, .bytes = 3}).finish(),
      "does not expand to its 3");
  expect_corrupt(ZipBuilder().add({.name = "a", .content = "x", .header_offset = 1 << 20}).finish(),
                 "reaches behind");
  expect_corrupt(ZipBuilder()
                     .add({.name = "a", .content = "x", .zip64 = true, .header_offset = ~0ULL - 8})
                     .finish(),
                 "reaches behind");
  expect_corrupt(ZipBuilder().add({.name = "a", .header_offset = 3}).finish(), "local header");
}

TEST(Zip, refuses_directories_that_cannot_be) {
  const ZipBuilder one = ZipBuilder().add("a", "1");
  expect_corrupt(one.finish({.count = 1000}), "cannot hold");
  expect_corrupt(one.finish({.count = ~0ULL}), "cannot hold");
  expect_corrupt(one.finish({.directory_offset = 0}), "broken");
  expect_corrupt(one.finish({.directory_offset = ~0ULL}), "reaches behind");
  expect_corrupt(one.finish({.prefix = "bytes before the first header"}), "ZIP64");
  expect_corrupt(one.finish({.zip64_end = false, .prefix = "bytes before"}), "broken");
  expect_corrupt("", "only 0 bytes");
  expect_corrupt(std::string(1000, 'P'), "no end record");
  std::string lost = one.finish({.zip64_end = false});
  for (size_t i = lost.size() - 6; i < lost.size() - 2; ++i) lost[i] = '\xff';
  expect_corrupt(lost, "ZIP64 end record is missing");
}

TEST(Zip, bounds_what_entries_expand_to) {
  const std::string zeros(1 << 20, '\0');
  ZipBuilder builder;
  for (int i = 0; i < 8; ++i) {
    builder.add(
        {.name = std::string(1, static_cast<char>('a' + i)), .content = zeros, .deflate = true});
  }
  const ZipLimits limits{.max_inflated_bytes = 1 << 20, .max_inflated_ratio = 10};
  EXPECT_NE(failure_of(builder.finish(), limits).text.find("bomb"), std::string::npos);
  EXPECT_EQ(failure_of(builder.finish()).text, "no error");
  const ZipLimits small{.max_record_bytes = 1000};
  EXPECT_NE(failure_of(builder.finish(), small).text.find("limit"), std::string::npos);
}

TEST(Zip, answers_every_truncation_with_an_error) {
  const std::string good =
      ZipBuilder()
          .add("m/a", "1234")
          .add({.name = "m/b", .content = std::string(500, 'y'), .deflate = true})
          .finish();
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_NE(failure_of(good.substr(0, n)).text, "no error") << n;
  }
}

TEST(Zip, answers_every_bit_flip_with_an_error_or_the_content) {
  const std::string good = ZipBuilder()
                               .add({.name = "m/a", .content = "1234", .alignment = 1})
                               .add({.name = "b", .content = std::string(99, 'y'), .deflate = true})
                               .finish();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(failure_of(bad).text, "");
  }
}

}  // namespace
}  // namespace tierup::archive
