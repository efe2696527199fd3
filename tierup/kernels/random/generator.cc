#include "tierup/kernels/random/generator.h"

#include <cstring>

#include "tierup/base/error.h"

namespace tierup::kernels {
namespace {

constexpr size_t kShift = 397;
constexpr uint32_t kMatrix = 0x9908b0df;
constexpr uint32_t kUpper = 0x80000000;
constexpr uint32_t kLower = 0x7fffffff;

uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t mixed = (high & kUpper) | (low & kLower);
  return (mixed >> 1) ^ ((low & 1U) != 0 ? kMatrix : 0U);
}

// Where the parts of a saved state lie, in bytes.
constexpr size_t kStateBytes = 5056;
constexpr size_t kLeftAt = 8;
constexpr size_t kSeededAt = 12;
constexpr size_t kNextAt = 16;
constexpr size_t kWordsAt = 24;
constexpr size_t kNormalAt = 5024;
constexpr size_t kHasNormalAt = 5040;
constexpr size_t kFloatNormalAt = 5048;
constexpr size_t kHasFloatNormalAt = 5052;

template <typename T>
void put_at(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}
template <typename T>
T get_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace

Generator::Generator(uint64_t seed) { set_seed(seed); }

void Generator::set_seed(uint64_t seed) {
  seed_ = seed;
  has_words_ = false;
  left_ = 1;
  next_ = 0;
  cached_normal.reset();
  cached_normal_float.reset();
}

Generator::Words Generator::words() const {
  if (has_words_) return words_;
  Words words;
  words[0] = static_cast<uint32_t>(seed_);
  for (size_t i = 1; i < kWords; ++i) {
    const uint32_t last = words[i - 1];
    words[i] = 1812433253U * (last ^ (last >> 30)) + static_cast<uint32_t>(i);
  }
  return words;
}

std::string Generator::state() const {
  const Words words = this->words();
  std::string bytes(kStateBytes, '\0');
  put_at(bytes, 0, seed_);
  put_at(bytes, kLeftAt, static_cast<int32_t>(left_));
  put_at(bytes, kSeededAt, int32_t{1});
  put_at(bytes, kNextAt, uint64_t{next_});
  for (size_t i = 0; i < kWords; ++i) {
    put_at(bytes, kWordsAt + i * sizeof(uint64_t), uint64_t{words[i]});
  }
  put_at(bytes, kNormalAt, cached_normal.value_or(0));
  put_at(bytes, kHasNormalAt, int32_t{cached_normal.has_value()});
  put_at(bytes, kFloatNormalAt, cached_normal_float.value_or(0));
  put_at(bytes, kHasFloatNormalAt, cached_normal_float.has_value());
  return bytes;
}

void Generator::set_state(std::string_view bytes) {
  require(bytes.size() == kStateBytes, ErrorCode::kInvalidArgument,
          "a generator's state has {} bytes, not {}", kStateBytes, bytes.size());
  const auto left = get_at<int32_t>(bytes, kLeftAt);
  const auto next = get_at<uint64_t>(bytes, kNextAt);
  const bool stands = left >= 1 && static_cast<size_t>(left) <= kWords && next <= kWords &&
                      next + static_cast<size_t>(left) <= kWords + 1;
  require(stands, ErrorCode::kInvalidArgument, "the bytes are no generator's state");
  seed_ = get_at<uint64_t>(bytes, 0);
  left_ = static_cast<size_t>(left);
  next_ = next;
  has_words_ = true;
  for (size_t i = 0; i < kWords; ++i) {
    words_[i] = static_cast<uint32_t>(get_at<uint64_t>(bytes, kWordsAt + i * sizeof(uint64_t)));
  }
  cached_normal.reset();
  cached_normal_float.reset();
  if (get_at<int32_t>(bytes, kHasNormalAt) != 0) cached_normal = get_at<double>(bytes, kNormalAt);
  if (bytes[kHasFloatNormalAt] != 0) cached_normal_float = get_at<float>(bytes, kFloatNormalAt);
}

void Generator::refill() {
  if (!has_words_) words_ = words();
  has_words_ = true;
  size_t i = 0;
  for (; i < kWords - kShift; ++i) {
    words_[i] = words_[i + kShift] ^ twist(words_[i], words_[i + 1]);
  }
  for (; i < kWords - 1; ++i) {
    words_[i] = words_[i + kShift - kWords] ^ twist(words_[i], words_[i + 1]);
  }
  words_[i] = words_[kShift - 1] ^ twist(words_[i], words_[0]);
  left_ = kWords;
  next_ = 0;
}

}  // namespace tierup::kernels
