#include "tierup/kernels/spectral/long_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/spectral/bundled_lines.h"
#include "tierup/kernels/spectral/fourier_line.h"

namespace tierup::kernels {
namespace {

// Powers r * c of the n-th root of unity, [rows, columns].
struct RootTable {
  int64_t n, rows, columns;
  bool forward;
  Tensor powers;

  bool is(int64_t of, int64_t high, int64_t wide, bool ahead, ScalarType dtype) const {
    return n == of && rows == high && columns == wide && forward == ahead &&
           powers.dtype() == dtype;
  }
};

// Without the checks for infinities that the operator makes.
template <typename R>
std::complex<R> product(const std::complex<R>& a, const std::complex<R>& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename C>
Tensor make_powers(int64_t n, int64_t rows, int64_t columns, bool forward) {
  const Tensor powers = Tensor::empty(IntVector{rows, columns}, kDTypeOf<C>);
  const double step = (forward ? -2 : 2) * std::numbers::pi / static_cast<double>(n);
  // A row's powers are products of two short lists of them: angles are dear.
  constexpr int64_t kFine = 64;
  parallel_for(0, rows, grain_of(4 * columns), [&](int64_t begin, int64_t end) {
    std::array<complex128, kFine> fine;
    for (int64_t r = begin; r < end; ++r) {
      const double row_step = step * static_cast<double>(r);
      for (int64_t i = 0; i < kFine; ++i)
        fine[static_cast<size_t>(i)] = std::polar(1.0, row_step * static_cast<double>(i));
      C* row = powers.data<C>() + r * columns;
      for (int64_t first = 0; first < columns; first += kFine) {
        const complex128 coarse = std::polar(1.0, row_step * static_cast<double>(first));
        for (int64_t c = first; c < std::min(first + kFine, columns); ++c)
          row[c] = static_cast<C>(product(coarse, fine[static_cast<size_t>(c - first)]));
      }
    }
  });
  return powers;
}

// Each thread keeps those that it used last, unless they are large.
template <typename C>
Tensor powers_of(int64_t n, int64_t rows, int64_t columns, bool forward) {
  constexpr size_t kKept = 4;
  constexpr size_t kMostKept = size_t{8} << 20;  // Bytes of each.
  thread_local std::vector<RootTable> latest;
  auto found = std::find_if(latest.begin(), latest.end(), [&](const RootTable& table) {
    return table.is(n, rows, columns, forward, kDTypeOf<C>);
  });
  if (found == latest.end()) {
    RootTable made{n, rows, columns, forward, make_powers<C>(n, rows, columns, forward)};
    if (made.powers.bytes() > kMostKept) return made.powers;
    latest.push_back(std::move(made));
    found = latest.end() - 1;
  }
  std::rotate(latest.begin(), found, found + 1);
  if (latest.size() > kKept) latest.pop_back();
  return latest.front().powers;
}

// Dimension d as rows and columns, so many elements apart.
Tensor as_table(const Tensor& tensor, int64_t d, IntSpan sizes, int64_t row_step,
                int64_t column_step) {
  IntVector strides(tensor.strides().begin(), tensor.strides().end());
  const int64_t step = strides[static_cast<size_t>(d)];
  strides[static_cast<size_t>(d)] = row_step * step;
  strides.insert(strides.begin() + d + 1, column_step * step);
  return tensor.as_view(sizes, strides, tensor.offset());
}

// table[..., r, c, ...] *= powers[r, c]
template <typename C>
void turn(const Tensor& table, int64_t d, const Tensor& powers) {
  const int64_t rows = powers.size(0);
  const int64_t columns = powers.size(1);
  const auto after = static_cast<size_t>(d) + 2;
  const int64_t inner = numel_of(table.sizes().subspan(after));
  const int64_t outer = numel_of(table.sizes().first(static_cast<size_t>(d)));
  const int64_t grain = grain_of(2 * columns * inner);
  parallel_for(0, outer * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      C* number = table.data<C>() + i * columns * inner;
      const C* power = powers.data<C>() + i % rows * columns;
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t k = 0; k < inner; ++k, ++number) *number = product(*number, power[c]);
      }
    }
  });
}

// A dense tensor of the pairs of `like`, whose dimension d has 2m numbers or the half spectrum of
// as many.
template <typename C>
Tensor pairs_like(const Tensor& like, int64_t d, int64_t m) {
  IntVector sizes(like.sizes().begin(), like.sizes().end());
  sizes[static_cast<size_t>(d)] = m;
  return Tensor::empty(sizes, kDTypeOf<C>);
}

template <typename E>
E& element(char* line, int64_t step, int64_t i) {
  return *reinterpret_cast<E*>(line + i * step);
}

// body(line of a, line of b, begin, end) for parts of [0, count) of each line: threads share a
// line.
template <typename Body>
void for_parts(const Tensor& a, const Tensor& b, int64_t d, int64_t count, const Body& body) {
  constexpr int64_t kPart = 8192;
  const LaneLoop loop(a.sizes(), d, {&a, &b});
  std::vector<LaneLoop::Pointers> lines(static_cast<size_t>(loop.lanes()));
  size_t next = 0;
  loop.run(loop.lanes() + 1, [&](const LaneLoop::Pointers& line) { lines[next++] = line; });
  const int64_t parts = (count + kPart - 1) / kPart;
  parallel_for(0, loop.lanes() * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const LaneLoop::Pointers& line = lines[static_cast<size_t>(i / parts)];
      const int64_t first = i % parts * kPart;
      body(line, loop.step(0), loop.step(1), first, std::min(first + kPart, count));
    }
  });
}

}  // namespace

template <typename C>
bool has_table(int64_t n) {
  if (bundles_complex<C>(n)) return false;
  const int64_t columns = FourierLine::table_columns(n);
  return columns > 1 && bundles_complex<C>(columns) && bundles_complex<C>(n / columns);
}

template <typename C>
void transform_by_table(const Tensor& from, const Tensor& to, int64_t d, bool forward,
                        double scale) {
  const int64_t n = from.sizes()[static_cast<size_t>(d)];
  const int64_t columns = FourierLine::table_columns(n);
  const int64_t rows = n / columns;
  IntVector sizes(from.sizes().begin(), from.sizes().end());
  sizes[static_cast<size_t>(d)] = rows;
  sizes.insert(sizes.begin() + d + 1, columns);
  const Tensor table = Tensor::empty(sizes, kDTypeOf<C>);
  const Tensor read = as_table(from, d, sizes, columns, 1);
  bundle_complex<C>(LaneLoop(sizes, d, {&read, &table}), rows, forward, 1);
  turn<C>(table, d, powers_of<C>(n, rows, columns, forward));
  const Tensor written = as_table(to, d, sizes, 1, rows);
  bundle_complex<C>(LaneLoop(sizes, d + 1, {&table, &written}), columns, forward, scale);
}

template <typename R>
void transform_real_by_table(const Tensor& from, const Tensor& to, int64_t d, double scale) {
  using C = std::complex<R>;
  const int64_t m = from.sizes()[static_cast<size_t>(d)] / 2;
  const Tensor pairs = pairs_like<C>(from, d, m);
  for_parts(from, pairs, d, m,
            [](const auto& line, int64_t in, int64_t out, int64_t k, int64_t end) {
              for (; k < end; ++k) {
                element<C>(line[1], out, k) =
                    C(element<R>(line[0], in, 2 * k), element<R>(line[0], in, 2 * k + 1));
              }
            });
  transform_by_table<C>(pairs, pairs, d, true, 2 * scale);
  const Tensor powers = powers_of<C>(2 * m, 2, m + 1, true);
  const C* turns = powers.data<C>() + m + 1;
  for_parts(pairs, to, d, m + 1,
            [&](const auto& line, int64_t in, int64_t out, int64_t k, int64_t end) {
              for (; k < end; ++k) {
                const C there = element<C>(line[0], in, k % m);
                const C back = std::conj(element<C>(line[0], in, (m - k) % m));
                const C odd = product(there - back, turns[k]);
                element<C>(line[1], out, k) = there + back + C(odd.imag(), -odd.real());
              }
            });
}

template <typename R>
void transform_to_real_by_table(const Tensor& from, const Tensor& to, int64_t d, double scale) {
  using C = std::complex<R>;
  const int64_t m = to.sizes()[static_cast<size_t>(d)] / 2;
  const Tensor pairs = pairs_like<C>(to, d, m);
  const Tensor powers = powers_of<C>(2 * m, 2, m + 1, false);
  const C* turns = powers.data<C>() + m + 1;
  for_parts(from, pairs, d, m,
            [&](const auto& line, int64_t in, int64_t out, int64_t k, int64_t end) {
              const auto number = [&](int64_t i) {
                const C value = element<C>(line[0], in, i);
                return i == 0 || i == m ? C(value.real(), 0) : value;
              };
              for (; k < end; ++k) {
                const C there = number(k);
                const C back = std::conj(number(m - k));
                const C odd = product(there - back, turns[k]);
                element<C>(line[1], out, k) = there + back + C(-odd.imag(), odd.real());
              }
            });
  transform_by_table<C>(pairs, pairs, d, false, scale);
  for_parts(pairs, to, d, m, [](const auto& line, int64_t in, int64_t out, int64_t k, int64_t end) {
    for (; k < end; ++k) {
      const C pair = element<C>(line[0], in, k);
      element<R>(line[1], out, 2 * k) = pair.real();
      element<R>(line[1], out, 2 * k + 1) = pair.imag();
    }
  });
}

template bool has_table<complex64>(int64_t n);
template bool has_table<complex128>(int64_t n);
template void transform_by_table<complex64>(const Tensor&, const Tensor&, int64_t, bool, double);
template void transform_by_table<complex128>(const Tensor&, const Tensor&, int64_t, bool, double);
template void transform_real_by_table<float>(const Tensor&, const Tensor&, int64_t, double);
template void transform_real_by_table<double>(const Tensor&, const Tensor&, int64_t, double);
template void transform_to_real_by_table<float>(const Tensor&, const Tensor&, int64_t, double);
template void transform_to_real_by_table<double>(const Tensor&, const Tensor&, int64_t, double);

}  // namespace tierup::kernels
