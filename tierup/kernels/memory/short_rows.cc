#include "tierup/kernels/memory/short_rows.h"

#include <algorithm>
#include <cstring>

#include "tierup/base/error.h"

namespace tierup::kernels {
namespace {

struct Rows {
  char* to;
  const char* from;
  int64_t count, step, rows, row_step;
};

struct Wide {
  uint64_t parts[2];
};

template <typename Word>
Word word_at(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Dense rows by words of 16 bytes, of which the last one may cover some of those before again: for
// rows of so few bytes a call takes longer.
void copy_dense_rows(const Rows& r, int64_t bytes) {
  constexpr int64_t kWord = 16;
  char* to = r.to;
  const char* from = r.from;
  for (int64_t row = 0; row < r.rows; ++row, to += bytes, from += r.row_step) {
    for (int64_t at = 0; at + kWord < bytes; at += kWord) {
      const Wide word = word_at<Wide>(from + at);
      std::memcpy(to + at, &word, kWord);
    }
    const Wide word = word_at<Wide>(from + bytes - kWord);
    std::memcpy(to + bytes - kWord, &word, kWord);
  }
}

// kCount elements a row; 0: as many as it says.
template <typename Word, int kCount>
void copy_rows(const Rows& r) {
  constexpr int64_t kMostInWords = 256;  // Bytes.
  const int64_t count = kCount > 0 ? kCount : r.count;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(Word));
  const bool is_dense = kCount == 0 && r.step == static_cast<int64_t>(sizeof(Word));
  if (is_dense && bytes >= 16 && bytes <= kMostInWords) return copy_dense_rows(r, bytes);
  char* to = r.to;
  const char* from = r.from;
  for (int64_t row = 0; row < r.rows; ++row, from += r.row_step) {
    if (is_dense) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
      to += bytes;
      continue;
    }
    for (int64_t i = 0; i < count; ++i, to += sizeof(Word)) {
      const Word word = word_at<Word>(from + i * r.step);
      std::memcpy(to, &word, sizeof(word));
    }
  }
}

// Each row is one element, repeated.
template <typename Word, int kCount>
void repeat_elements(const Rows& r) {
  const int64_t count = kCount > 0 ? kCount : r.count;
  char* to = r.to;
  const char* from = r.from;
  for (int64_t row = 0; row < r.rows; ++row, from += r.row_step) {
    const Word word = word_at<Word>(from);
    for (int64_t i = 0; i < count; ++i, to += sizeof(Word)) std::memcpy(to, &word, sizeof(word));
  }
}

// The same for rows of at least kPiece bytes: pieces of the element, of which the last one may
// cover some of those before again.
constexpr int64_t kPiece = 32;
template <typename Word>
void repeat_in_pieces(const Rows& r) {
  constexpr int64_t kWords = kPiece / static_cast<int64_t>(sizeof(Word));
  struct Piece {
    Word words[kWords];
  };
  const int64_t bytes = r.count * static_cast<int64_t>(sizeof(Word));
  char* to = r.to;
  const char* from = r.from;
  for (int64_t row = 0; row < r.rows; ++row, from += r.row_step, to += bytes) {
    Piece piece;
    const Word word = word_at<Word>(from);
    for (Word& each : piece.words) each = word;
    for (int64_t at = 0; at + kPiece < bytes; at += kPiece) std::memcpy(to + at, &piece, kPiece);
    std::memcpy(to + bytes - kPiece, &piece, kPiece);
  }
}

template <typename Word, int kCount>
void take_rows(const Rows& r) {
  if (r.step != 0) return copy_rows<Word, kCount>(r);
  if (kCount == 0 && r.count * static_cast<int64_t>(sizeof(Word)) >= kPiece) {
    return repeat_in_pieces<Word>(r);
  }
  repeat_elements<Word, kCount>(r);
}

// The first row, then what is there already behind itself.
template <typename Word>
void take_row_again(const Rows& r) {
  take_rows<Word, 0>({r.to, r.from, r.count, r.step, 1, 0});
  const int64_t bytes = r.rows * r.count * static_cast<int64_t>(sizeof(Word));
  int64_t done = r.count * static_cast<int64_t>(sizeof(Word));
  for (int64_t more; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    std::memcpy(r.to + done, r.to, static_cast<size_t>(more));
  }
}

template <typename Word>
void take(const Rows& r) {
  constexpr int64_t kWidth = sizeof(Word);
  if (r.step == kWidth && r.row_step == r.count * kWidth) {
    std::memcpy(r.to, r.from, static_cast<size_t>(r.rows * r.row_step));
    return;
  }
  if (r.row_step == 0 && r.rows > 1) return take_row_again<Word>(r);
  switch (r.count) {
    case 1: return take_rows<Word, 1>(r);
    case 2: return take_rows<Word, 2>(r);
    case 3: return take_rows<Word, 3>(r);
    case 4: return take_rows<Word, 4>(r);
    case 5: return take_rows<Word, 5>(r);
    case 6: return take_rows<Word, 6>(r);
    case 7: return take_rows<Word, 7>(r);
    case 8: return take_rows<Word, 8>(r);
    default: return take_rows<Word, 0>(r);
  }
}

// Of words of kBytes together, the last one may cover some of those before again.
template <int kBytes>
void spread_rows(char* to, int64_t step, const char* from, int64_t bytes, int64_t rows) {
  struct Word {
    char bytes[kBytes];
  };
  if (bytes == kBytes) {
    for (int64_t row = 0; row < rows; ++row) {
      const Word word = word_at<Word>(from + row * kBytes);
      std::memcpy(to + row * step, &word, kBytes);
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row, to += step, from += bytes) {
    for (int64_t at = 0; at + kBytes < bytes; at += kBytes) {
      const Word word = word_at<Word>(from + at);
      std::memcpy(to + at, &word, kBytes);
    }
    const Word word = word_at<Word>(from + bytes - kBytes);
    std::memcpy(to + bytes - kBytes, &word, kBytes);
  }
}

}  // namespace

void spread_short_rows(char* to, int64_t step, const char* from, int64_t bytes, int64_t rows) {
  if (bytes >= 16) return spread_rows<16>(to, step, from, bytes, rows);
  if (bytes >= 8) return spread_rows<8>(to, step, from, bytes, rows);
  if (bytes >= 4) return spread_rows<4>(to, step, from, bytes, rows);
  spread_rows<1>(to, step, from, bytes, rows);
}

void copy_short_rows(char* to, const char* from, int64_t width, int64_t count, int64_t step,
                     int64_t rows, int64_t row_step) {
  const Rows all{to, from, count, step, rows, row_step};
  switch (width) {
    case 1: return take<uint8_t>(all);
    case 2: return take<uint16_t>(all);
    case 4: return take<uint32_t>(all);
    case 8: return take<uint64_t>(all);
    case 16: return take<Wide>(all);
    default: TIERUP_CHECK(false);
  }
}

}  // namespace tierup::kernels
