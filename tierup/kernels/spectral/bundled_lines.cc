// Where lines of floats lie along memory, or side by side in it, registers turn them into lanes and
// back.
#include "tierup/kernels/spectral/bundled_lines.h"

#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/spectral/fourier_line.h"
#include "tierup/kernels/spectral/line_bundle.h"
#include "tierup/kernels/spectral/scratch_numbers.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

// Those from `begin` to before `end`.
struct Places {
  int64_t begin;
  int64_t end;
  int64_t count() const { return end - begin; }
};

// The lines of one bundle in one operand: the first elements, and how far it is to the next ones.
struct Lines {
  std::vector<char*> first;
  int64_t step = 0;
  int64_t lanes = 0;  // As many as there is room for.

  int64_t count() const { return static_cast<int64_t>(first.size()); }
  template <typename E>
  E& element(size_t line, int64_t i) const {
    return *reinterpret_cast<E*>(first[line] + i * step);
  }
  // Bytes from one line to the next; -1 if they are not equally far apart.
  int64_t between() const {
    const int64_t between = first.size() > 1 ? first[1] - first[0] : 0;
    for (size_t i = 2; i < first.size(); ++i) {
      if (first[i] - first[i - 1] != between) return -1;
    }
    return between;
  }
};

enum class Lie : uint8_t { kAlong, kAcross, kApart };

template <typename E>
Lie lie_of(const Lines& lines, int64_t between) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(E));
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  if (between >= 0 && between % kFloat == 0 && lines.step == kBytes) return Lie::kAlong;
  return between == kBytes ? Lie::kAcross : Lie::kApart;
}

// Copies places of float lines of `parts` numbers each, 1 or 2, to rows of a buffer, of which row
// `i * apart` is a line's i-th number. False, and nothing is done, where lines lie apart.
template <typename E>
bool turn_in(const Lines& lines, Places places, int64_t apart, float* buffer) {
  constexpr int64_t kParts = sizeof(E) / sizeof(float);
  const int64_t between = lines.between();
  const Lie lie = lie_of<E>(lines, between);
  if (lie == Lie::kApart) return false;
  float* to = buffer + places.begin * kParts * apart;
  const char* from = lines.first[0] + places.begin * lines.step;
  if (lie == Lie::kAlong) {
    turn_rows(to, apart, from, between / static_cast<int64_t>(sizeof(float)), lines.count(),
              places.count() * kParts);
    return true;
  }
  for (int64_t i = 0; i < places.count(); ++i, from += lines.step, to += kParts * apart) {
    const auto* numbers = reinterpret_cast<const float*>(from);
    if constexpr (kParts == 1) {
      std::copy_n(numbers, lines.count(), to);
    } else {
      take_strided(to, numbers, kParts, lines.count());
      take_strided(to + apart, numbers + 1, kParts, lines.count());
    }
  }
  return true;
}
template <typename E>
bool turn_out(const Lines& lines, Places places, int64_t apart, const float* buffer) {
  constexpr int64_t kParts = sizeof(E) / sizeof(float);
  const int64_t between = lines.between();
  const Lie lie = lie_of<E>(lines, between);
  if (lie == Lie::kApart) return false;
  const float* from = buffer + places.begin * kParts * apart;
  char* to = lines.first[0] + places.begin * lines.step;
  if (lie == Lie::kAlong) {
    turn_rows(to, between / static_cast<int64_t>(sizeof(float)), from, apart,
              places.count() * kParts, lines.count());
    return true;
  }
  for (int64_t i = 0; i < places.count(); ++i, to += lines.step, from += kParts * apart) {
    if constexpr (kParts == 1) {
      std::copy_n(from, lines.count(), reinterpret_cast<float*>(to));
    } else {
      const void* const parts[] = {from, from + apart};
      weave(to, parts, kParts, lines.count());
    }
  }
  return true;
}

template <typename C, typename T>
void load_numbers(const Lines& lines, Places places, T* buffer) {
  if constexpr (std::is_same_v<T, float>) {
    if (turn_in<C>(lines, places, lines.lanes, buffer)) return;
  }
  for (size_t line = 0; line < lines.first.size(); ++line) {
    for (int64_t i = places.begin; i < places.end; ++i) {
      const C value = lines.element<C>(line, i);
      T* to = buffer + 2 * lines.lanes * i + line;
      to[0] = static_cast<T>(value.real());
      to[lines.lanes] = static_cast<T>(value.imag());
    }
  }
}
template <typename C, typename T>
void store_numbers(const Lines& lines, Places places, const T* buffer) {
  using R = typename C::value_type;
  if constexpr (std::is_same_v<T, float>) {
    if (turn_out<C>(lines, places, lines.lanes, buffer)) return;
  }
  for (size_t line = 0; line < lines.first.size(); ++line) {
    for (int64_t i = places.begin; i < places.end; ++i) {
      const T* from = buffer + 2 * lines.lanes * i + line;
      lines.element<C>(line, i) = C(static_cast<R>(from[0]), static_cast<R>(from[lines.lanes]));
    }
  }
}
// Real numbers are `apart` in the buffer: alone, or in pairs.
template <typename R, typename T>
void load_reals(const Lines& lines, Places places, int64_t apart, T* buffer) {
  if constexpr (std::is_same_v<T, float>) {
    if (turn_in<R>(lines, places, apart, buffer)) return;
  }
  for (size_t line = 0; line < lines.first.size(); ++line) {
    for (int64_t i = places.begin; i < places.end; ++i)
      buffer[i * apart + static_cast<int64_t>(line)] = static_cast<T>(lines.element<R>(line, i));
  }
}
template <typename R, typename T>
void store_reals(const Lines& lines, Places places, int64_t apart, const T* buffer) {
  if constexpr (std::is_same_v<T, float>) {
    if (turn_out<R>(lines, places, apart, buffer)) return;
  }
  for (size_t line = 0; line < lines.first.size(); ++line) {
    for (int64_t i = places.begin; i < places.end; ++i)
      lines.element<R>(line, i) = static_cast<R>(buffer[i * apart + static_cast<int64_t>(line)]);
  }
}

// Lines of one length along a dimension, so many at a time as lanes of a register hold.
template <typename T>
class BundledLines {
 public:
  // So many places of all lines are near by when the next ones come.
  static constexpr int64_t kBlock = 32;

  BundledLines(const LaneLoop& loop, const BundlePlan<T>& plan, double scale)
      : loop_(loop), plan_(plan), scale_(scale) {}

  // load(lines, places, buffer) puts these places of lines into a buffer, work(buffer, other)
  // returns the one with the transforms, and store(lines, places, buffer) takes them out of it;
  // `each` numbers of T for a place of all lanes there.
  template <typename Load, typename Work, typename Store>
  void run(int64_t loaded, const Load& load, const Work& work, int64_t stored, int64_t each,
           const Store& store) const {
    loop_.run_ranges(grain(), [&](const auto& for_each_line) {
      const int64_t size = plan_.buffer_size();
      const ScratchNumbers<T> first(size);
      const ScratchNumbers<T> second(size);
      for (const auto* buffer : {&first, &second})
        std::fill_n(buffer->data(), size, T{0});  // Lanes without a line, too.
      Lines in{{}, loop_.step(0), plan_.lanes()};
      Lines out{{}, loop_.step(1), plan_.lanes()};
      const auto finish = [&] {
        for_blocks(loaded, [&](Places places) { load(in, places, first.data()); });
        T* done = work(first.data(), second.data());
        for_blocks(stored, [&](Places places) {
          divide(places, each, done);
          store(out, places, done);
        });
        in.first.clear();
        out.first.clear();
      };
      for_each_line([&](const LaneLoop::Pointers& line) {
        in.first.push_back(line[0]);
        out.first.push_back(line[1]);
        if (in.count() == plan_.lanes()) finish();
      });
      if (in.count() > 0) finish();
    });
  }

 private:
  // Whole bundles, of some eight thousand numbers.
  int64_t grain() const {
    const int64_t bundles = std::max<int64_t>(1, 16384 / plan_.buffer_size());
    return bundles * plan_.lanes();
  }
  template <typename Body>
  static void for_blocks(int64_t count, const Body& body) {
    for (int64_t begin = 0; begin < count; begin += kBlock)
      body(Places{begin, std::min(begin + kBlock, count)});
  }
  void divide(Places places, int64_t each, T* buffer) const {
    if (scale_ == 1) return;
    plan_.scale(static_cast<T>(1 / scale_), places.count() * each, buffer + places.begin * each);
  }

  const LaneLoop& loop_;
  const BundlePlan<T>& plan_;
  const double scale_;
};

template <typename C, typename T>
void bundle_complex_by(const LaneLoop& loop, int64_t n, bool forward, double scale) {
  const auto plan = BundlePlan<T>::of(n, !forward);
  BundledLines<T>(loop, *plan, scale)
      .run(
          n, [](const Lines& at, Places p, T* to) { load_numbers<C>(at, p, to); },
          [&](T* buffer, T* other) { return plan->transform(buffer, other); }, n, 2 * plan->lanes(),
          [](const Lines& at, Places p, const T* from) { store_numbers<C>(at, p, from); });
}

template <typename R, typename T>
void bundle_real_by(const LaneLoop& loop, int64_t n, double scale) {
  const bool halved = n % 2 == 0;
  const auto plan = BundlePlan<T>::of(halved ? n / 2 : n, false);
  const int64_t lanes = plan->lanes();
  BundledLines<T>(loop, *plan, scale)
      .run(
          n,
          [&](const Lines& at, Places places, T* to) {
            const int64_t apart = halved ? lanes : 2 * lanes;
            load_reals<R>(at, places, apart, to);
            for (int64_t i = places.begin; !halved && i < places.end; ++i)
              std::fill_n(to + i * apart + lanes, lanes, T{0});
          },
          [&](T* buffer, T* other) {
            T* numbers = plan->transform(buffer, other);
            if (!halved) return numbers;
            T* spectrum = numbers == buffer ? other : buffer;
            plan->to_half_spectrum(numbers, spectrum);
            return spectrum;
          },
          n / 2 + 1, 2 * lanes,
          [](const Lines& at, Places p, const T* from) {
            store_numbers<std::complex<R>>(at, p, from);
          });
}

template <typename R, typename T>
void bundle_to_real_by(const LaneLoop& loop, int64_t n, double scale) {
  const bool halved = n % 2 == 0;
  const auto plan = BundlePlan<T>::of(halved ? n / 2 : n, true);
  const int64_t lanes = plan->lanes();
  const auto load = [&](const Lines& at, Places places, T* to) {
    load_numbers<std::complex<R>>(at, places, to);
    for (int64_t i = places.begin; i < places.end; ++i) {
      T* number = to + 2 * lanes * i;
      if (i == 0 || 2 * i == n) {
        std::fill_n(number + lanes, lanes, T{0});
      } else if (!halved) {  // The other half is the conjugate.
        T* mirrored = to + 2 * lanes * (n - i);
        std::copy_n(number, lanes, mirrored);
        for (int64_t lane = lanes; lane < 2 * lanes; ++lane) mirrored[lane] = -number[lane];
      }
    }
  };
  const int64_t apart = halved ? lanes : 2 * lanes;
  BundledLines<T>(loop, *plan, scale)
      .run(
          n / 2 + 1, load,
          [&](T* buffer, T* other) {
            if (!halved) return plan->transform(buffer, other);
            plan->from_half_spectrum(buffer, other);
            return plan->transform(other, buffer);
          },
          n, apart,
          [&](const Lines& at, Places p, const T* from) { store_reals<R>(at, p, apart, from); });
}

// The complex numbers that real lines of n are transformed as.
int64_t numbers_of(int64_t n) { return n % 2 == 0 ? n / 2 : n; }

// Whether lines of n complex numbers are transformed as floats.
template <typename R>
bool is_in_floats(int64_t n) {
  return std::is_same_v<R, float> && FourierLine::is_plain(n) && BundlePlan<float>::takes(n);
}

}  // namespace

template <typename C>
bool bundles_complex(int64_t n) {
  return is_in_floats<typename C::value_type>(n) || BundlePlan<double>::takes(n);
}
template <typename R>
bool bundles_real(int64_t n) {
  return is_in_floats<R>(numbers_of(n)) || BundlePlan<double>::takes(numbers_of(n));
}

template <typename C>
void bundle_complex(const LaneLoop& loop, int64_t n, bool forward, double scale) {
  if (is_in_floats<typename C::value_type>(n))
    return bundle_complex_by<C, float>(loop, n, forward, scale);
  bundle_complex_by<C, double>(loop, n, forward, scale);
}
template <typename R>
void bundle_real(const LaneLoop& loop, int64_t n, double scale) {
  if (is_in_floats<R>(numbers_of(n))) return bundle_real_by<R, float>(loop, n, scale);
  bundle_real_by<R, double>(loop, n, scale);
}
template <typename R>
void bundle_to_real(const LaneLoop& loop, int64_t n, double scale) {
  if (is_in_floats<R>(numbers_of(n))) return bundle_to_real_by<R, float>(loop, n, scale);
  bundle_to_real_by<R, double>(loop, n, scale);
}

template bool bundles_complex<complex64>(int64_t n);
template bool bundles_complex<complex128>(int64_t n);
template bool bundles_real<float>(int64_t n);
template bool bundles_real<double>(int64_t n);
template void bundle_complex<complex64>(const LaneLoop&, int64_t, bool, double);
template void bundle_complex<complex128>(const LaneLoop&, int64_t, bool, double);
template void bundle_real<float>(const LaneLoop&, int64_t, double);
template void bundle_real<double>(const LaneLoop&, int64_t, double);
template void bundle_to_real<float>(const LaneLoop&, int64_t, double);
template void bundle_to_real<double>(const LaneLoop&, int64_t, double);

}  // namespace tierup::kernels
