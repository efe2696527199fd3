// Copies of elements that lie some bytes apart.
#pragma once

#include <cstdint>
#include <cstring>

namespace tierup::ops {

template <typename Word>
void copy_strided_words(char* to, int64_t to_step, const char* from, int64_t from_step,
                        int64_t count) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(Word));
  Word word;
  if (from_step == 0) std::memcpy(&word, from, sizeof(word));
  const auto copy = [&](int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      if (from_step != 0) std::memcpy(&word, from + i * from_step, sizeof(word));
      std::memcpy(to + i * step, &word, sizeof(word));
    }
  };
  to_step == kWidth ? copy(kWidth) : copy(to_step);
}

// `count` elements of `width` bytes: 1, 2, 4 or 8. Steps are in bytes.
inline void copy_strided(char* to, int64_t to_step, const char* from, int64_t from_step,
                         int64_t width, int64_t count) {
  switch (width) {
    case 1: return copy_strided_words<uint8_t>(to, to_step, from, from_step, count);
    case 2: return copy_strided_words<uint16_t>(to, to_step, from, from_step, count);
    case 4: return copy_strided_words<uint32_t>(to, to_step, from, from_step, count);
    default: return copy_strided_words<uint64_t>(to, to_step, from, from_step, count);
  }
}

}  // namespace tierup::ops
