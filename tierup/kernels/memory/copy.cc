#include "tierup/kernels/memory/copy.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/short_rows.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/turned_rows.h"

namespace tierup::kernels {
namespace {

// Elements as opaque words of one width.
struct Word16 {
  uint64_t low, high;
};

typedef uint64_t Longs __attribute__((vector_size(16)));
typedef uint16_t Shorts __attribute__((vector_size(16)));

// Sixteen bytes' words in the opposite order.
Longs turned(Longs words, uint64_t /*word*/) { return __builtin_shufflevector(words, words, 1, 0); }
Shorts turned(Shorts words, uint16_t /*word*/) {
  return __builtin_shufflevector(words, words, 7, 6, 5, 4, 3, 2, 1, 0);
}
Shorts turned(Shorts words, uint8_t /*word*/) {
  const Shorts pairs = turned(words, uint16_t{});
  return pairs << 8 | pairs >> 8;
}

// The `count` words that end with *last, in the opposite order.
template <typename Word>
void copy_backwards(Word* to, const Word* last, int64_t count) {
  if constexpr (sizeof(Word) < sizeof(Word16)) {
    using Words = std::conditional_t<sizeof(Word) == sizeof(uint64_t), Longs, Shorts>;
    constexpr int64_t kWords = sizeof(Words) / sizeof(Word);
    for (; count >= kWords; count -= kWords, last -= kWords, to += kWords) {
      Words words;
      std::memcpy(&words, last - (kWords - 1), sizeof(words));
      words = turned(words, Word{});
      std::memcpy(to, &words, sizeof(words));
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = last[-i];
}

template <typename Word>
void move_run(char* const* pointers, const int64_t* strides, int64_t count) {
  constexpr int64_t kWidth = sizeof(Word);
  if (strides[0] == kWidth && strides[1] == kWidth) {
    std::memmove(pointers[0], pointers[1], static_cast<size_t>(count * kWidth));
    return;
  }
  char* out = pointers[0];
  const char* in = pointers[1];
  if (strides[0] == kWidth && strides[1] == 0) {
    const Word value = *reinterpret_cast<const Word*>(in);
    std::fill_n(reinterpret_cast<Word*>(out), count, value);
    return;
  }
  if constexpr (std::is_same_v<Word, uint32_t>) {
    if (strides[0] == kWidth && strides[1] % kWidth == 0)
      return take_strided(out, in, strides[1] / kWidth, count);
  }
  if constexpr (!std::is_same_v<Word, uint32_t>) {
    if (strides[0] == kWidth && strides[1] == -kWidth)
      return copy_backwards(reinterpret_cast<Word*>(out), reinterpret_cast<const Word*>(in), count);
  }
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<Word*>(out + i * strides[0]) =
        *reinterpret_cast<const Word*>(in + i * strides[1]);
  }
}

CastRun move_run_of(size_t width) {
  switch (width) {
    case 1: return &move_run<uint8_t>;
    case 2: return &move_run<uint16_t>;
    case 4: return &move_run<uint32_t>;
    case 8: return &move_run<uint64_t>;
    default: TIERUP_CHECK(width == 16); return &move_run<Word16>;
  }
}

// Negates (or conjugates) all elements in place.
void negate_stored(const Tensor& tensor) {
  dispatch_all(tensor.dtype(), "neg", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      map_elements<T, T>(
          tensor, [](T x) { return static_cast<T>(-x); }, tensor);
    }
  });
}

void conjugate_stored(const Tensor& tensor) {
  dispatch_complex(tensor.dtype(), "conj", [&](auto tag) {
    using T = typename decltype(tag)::type;
    map_elements<T, T>(
        tensor, [](T x) { return std::conj(x); }, tensor);
  });
}

// The dimension in which a tensor's elements lie side by side; -1 if there is none.
int64_t dense_dim(const Tensor& tensor) {
  for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
    if (tensor.strides()[d] == 1 && tensor.sizes()[d] > 1) return d;
  }
  return -1;
}

// turn_rows() of words of any width.
template <typename Word>
void turn_words(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                int64_t columns) {
  auto* const target = reinterpret_cast<Word*>(to);
  const auto* const source = reinterpret_cast<const Word*>(from);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) target[c * to_step + r] = source[r * from_step + c];
  }
}

void turn_square(size_t width, char* to, int64_t to_step, const char* from, int64_t from_step,
                 int64_t rows, int64_t columns) {
  switch (width) {
    case 1: return turn_words<uint8_t>(to, to_step, from, from_step, rows, columns);
    case 2: return turn_words<uint16_t>(to, to_step, from, from_step, rows, columns);
    case 4: return turn_rows(to, to_step, from, from_step, rows, columns);
    case 8: return turn_words<uint64_t>(to, to_step, from, from_step, rows, columns);
    default:
      TIERUP_CHECK(width == 16);
      return turn_words<Word16>(to, to_step, from, from_step, rows, columns);
  }
}

// Elements that lie side by side in one dimension here and in another there: by squares of these
// two. False, with nothing done, where that is not so, or squares would have too few lines.
bool copy_turned(const Tensor& dst, const Tensor& src) {
  constexpr int64_t kSide = 64;   // A square's lines fill cache lines and stay in the near cache.
  constexpr int64_t kNarrow = 4;  // Squares of fewer lines are not worth finding.
  const int64_t to_dim = dense_dim(dst);
  const int64_t from_dim = dense_dim(src);
  if (dst.dtype() != src.dtype() || to_dim < 0 || from_dim < 0 || to_dim == from_dim ||
      !std::equal(dst.sizes().begin(), dst.sizes().end(), src.sizes().begin(), src.sizes().end())) {
    return false;
  }
  const int64_t rows = dst.sizes()[to_dim];
  const int64_t columns = dst.sizes()[from_dim];
  if (std::min(rows, columns) < kNarrow) return false;
  const int64_t row_tiles = (rows + kSide - 1) / kSide;
  const int64_t tiles = row_tiles * ((columns + kSide - 1) / kSide);
  const int64_t outer = dst.numel() / (rows * columns);
  const auto width = static_cast<int64_t>(dst.item_size());
  const int64_t tile_bytes = std::min(rows, kSide) * std::min(columns, kSide) * width;
  parallel_for(0, outer * tiles, std::max<int64_t>(1, kBytesForThread / tile_bytes),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t row = t % row_tiles * kSide;
                   const int64_t column = t % tiles / row_tiles * kSide;
                   int64_t to = row + column * dst.strides()[from_dim];
                   int64_t from = row * src.strides()[to_dim] + column;
                   int64_t rest = t / tiles;
                   for (int64_t d = dst.dim() - 1; d >= 0; --d) {
                     if (d == to_dim || d == from_dim) continue;
                     to += rest % dst.sizes()[d] * dst.strides()[d];
                     from += rest % dst.sizes()[d] * src.strides()[d];
                     rest /= dst.sizes()[d];
                   }
                   turn_square(dst.item_size(), static_cast<char*>(dst.raw()) + to * width,
                               dst.strides()[from_dim],
                               static_cast<const char*>(src.raw()) + from * width,
                               src.strides()[to_dim], std::min(kSide, rows - row),
                               std::min(kSide, columns - column));
                 }
               });
  return true;
}

void copy_stored(const Tensor& dst, const Tensor& src) {
  if (copy_turned(dst, src)) return;
  const bool moves = dst.dtype() == src.dtype();
  const CastRun run = moves ? move_run_of(dst.item_size()) : cast_run(dst.dtype(), src.dtype());
  const StridedLoop loop(dst.sizes(), {&dst, &src});
  const auto width = static_cast<int64_t>(dst.item_size());
  const int64_t grain = moves ? kBytesForThread / width : kNumbersForThread;
  // Of short runs, many by one call.
  if (moves && loop.rank() > 1 && loop.inner_size() < kShortRow && loop.is_dense(0, width)) {
    return parallel_for(0, loop.numel(), grain, [&](int64_t begin, int64_t end) {
      loop.gather(1, width, begin, end - begin, loop.base(0) + begin * width);
    });
  }
  loop.run(grain, run);
}

// By the library's moves of memory, which know the machine's widest stores: all at once where all
// bytes are the same, as zeros are, else a block after the first ones.
template <typename T>
void fill_dense(T* to, int64_t count, T element) {
  constexpr int64_t kFirst = 16;
  constexpr int64_t kBlock = 4096 / static_cast<int64_t>(sizeof(T));
  std::array<unsigned char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &element, sizeof(T));
  if (std::all_of(bytes.begin(), bytes.end(), [&](auto byte) { return byte == bytes[0]; })) {
    std::memset(static_cast<void*>(to), bytes[0], static_cast<size_t>(count) * sizeof(T));
    return;
  }
  int64_t done = std::min(count, kFirst);
  std::fill_n(to, done, element);
  while (done < count) {
    const int64_t more = std::min({done, kBlock, count - done});
    std::memcpy(static_cast<void*>(to + done), to, static_cast<size_t>(more) * sizeof(T));
    done += more;
  }
}

template <typename T>
void fill_typed(const Tensor& tensor, const Scalar& value) {
  const T element = value.to<T>();
  const StridedLoop loop(tensor.sizes(), {&tensor});
  loop.run(kBytesForThread / static_cast<int64_t>(sizeof(T)),
           [&](char* const* pointers, const int64_t* strides, int64_t count) {
             if (strides[0] == static_cast<int64_t>(sizeof(T))) {
               return fill_dense(reinterpret_cast<T*>(pointers[0]), count, element);
             }
             for (int64_t i = 0; i < count; ++i) {
               *reinterpret_cast<T*>(pointers[0] + i * strides[0]) = element;
             }
           });
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0 && src.numel() <= 1) return;
  const bool conjugate = is_complex(dst.dtype()) && dst.impl()->conjugate != src.impl()->conjugate;
  const bool negative = dst.impl()->negative != src.impl()->negative;
  copy_stored(dst, src);
  if (conjugate) conjugate_stored(dst);
  if (negative) negate_stored(dst);
}

Tensor contiguous(const Tensor& tensor, MemoryFormat format) {
  require(format != MemoryFormat::kPreserve, ErrorCode::kInvalidArgument,
          "preserve memory format is unsupported by the contiguous operator");
  if (tensor.is_contiguous(format)) return resolve_lazy_bits(tensor);
  return clone(tensor, format);
}

Tensor empty_like(const Tensor& tensor, ScalarType dtype, MemoryFormat format) {
  if (format != MemoryFormat::kPreserve) return Tensor::empty(tensor.sizes(), dtype, format);
  if (tensor.is_contiguous()) return Tensor::empty(tensor.sizes(), dtype);
  if (tensor.is_non_overlapping_and_dense()) {
    return Tensor::empty_strided(tensor.sizes(), tensor.strides(), dtype);
  }
  return empty_pointwise(tensor.sizes(), dtype, {&tensor});
}

Tensor clone(const Tensor& tensor, MemoryFormat format) {
  Tensor result = empty_like(tensor, tensor.dtype(), format);
  copy_into(result, tensor);
  return result;
}

Tensor to_dtype(const Tensor& tensor, ScalarType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result = empty_like(tensor, dtype);
  copy_into(result, tensor);
  return result;
}

void fill(const Tensor& tensor, const Scalar& value) {
  switch (tensor.dtype()) {
    case ScalarType::kUInt16: return fill_typed<uint16_t>(tensor, value);
    case ScalarType::kUInt32: return fill_typed<uint32_t>(tensor, value);
    case ScalarType::kUInt64: return fill_typed<uint64_t>(tensor, value);
    default: break;
  }
  Scalar stored = value;
  if (tensor.impl()->negative) stored = stored.negated();
  if (tensor.impl()->conjugate) stored = Scalar(std::conj(stored.to_complex()));
  dispatch_all(tensor.dtype(), "fill_",
               [&](auto tag) { fill_typed<typename decltype(tag)::type>(tensor, stored); });
}

Tensor resolve_lazy_bits(const Tensor& tensor) {
  if (!tensor.impl()->conjugate && !tensor.impl()->negative) return tensor;
  return clone(tensor);
}

}  // namespace tierup::kernels
