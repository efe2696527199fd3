#include "tierup/kernels/spectral/fourier_line.h"

#include <algorithm>
#include <cmath>
#include <kissfft.hh>
#include <limits>
#include <numbers>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/spectral/line_bundle.h"
#include "tierup/kernels/spectral/scratch_numbers.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kPlainLength = int64_t{1} << 18;
constexpr int64_t kBlock = 65536;  // Numbers between two questions whether to stop.

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; p += p == 2 ? 1 : 2) {
    if (p % kBlock == 1) poll_interrupt();
    for (; n % p == 0; n /= p) largest = p;
  }
  return n > 1 ? n : largest;
}

// Calls body(i) for all i below n.
template <typename Body>
void for_each(int64_t n, const Body& body) {
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    poll_interrupt();
    for (int64_t i = begin; i < std::min(begin + kBlock, n); ++i) body(i);
  }
}

using Numbers = ScratchNumbers<complex128>;

// e^(-i * turn), or its conjugate.
complex128 unit(double turn, bool inverse) {
  return {std::cos(turn), inverse ? std::sin(turn) : -std::sin(turn)};
}

class PlainLine final : public FourierLine {
 public:
  PlainLine(int64_t n, bool inverse) : plan_(static_cast<size_t>(n), inverse) {}
  void transform(const complex128* in, complex128* out) override { plan_.transform(in, out); }

 private:
  kissfft<double> plan_;
};

// n = columns * rows numbers as a table: each column is transformed, turned by the roots of unity
// of n, and then each row.
class TableLine final : public FourierLine {
 public:
  TableLine(int64_t n, bool inverse)
      : columns_(table_columns(n)),
        rows_(n / columns_),
        fine_count_(static_cast<int64_t>(std::sqrt(static_cast<double>(n))) + 1),
        column_(make(rows_, inverse)),
        row_(make(columns_, inverse)),
        table_(n),
        line_(std::max(rows_, columns_)),
        result_(std::max(rows_, columns_)),
        fine_(fine_count_),
        coarse_(n / fine_count_ + 1) {
    const double step = 2 * std::numbers::pi / static_cast<double>(n);
    for_each(fine_count_,
             [&](int64_t i) { fine_[i] = unit(step * static_cast<double>(i), inverse); });
    for_each(n / fine_count_ + 1, [&](int64_t i) {
      coarse_[i] = unit(step * static_cast<double>(i * fine_count_), inverse);
    });
  }

  void transform(const complex128* in, complex128* out) override {
    for (int64_t c = 0; c < columns_; ++c) {
      poll_interrupt();
      for (int64_t r = 0; r < rows_; ++r) line_[r] = in[r * columns_ + c];
      column_->transform(line_.data(), result_.data());
      for (int64_t r = 0; r < rows_; ++r) table_[r * columns_ + c] = result_[r] * root(r * c);
    }
    for (int64_t r = 0; r < rows_; ++r) {
      poll_interrupt();
      row_->transform(table_.data() + r * columns_, result_.data());
      for (int64_t c = 0; c < columns_; ++c) out[c * rows_ + r] = result_[c];
    }
  }

 private:
  // The i-th power of the n-th root of unity, from two tables.
  complex128 root(int64_t i) const { return coarse_[i / fine_count_] * fine_[i % fine_count_]; }

  int64_t columns_;
  int64_t rows_;
  int64_t fine_count_;
  std::unique_ptr<FourierLine> column_;
  std::unique_ptr<FourierLine> row_;
  Numbers table_;
  Numbers line_;
  Numbers result_;
  Numbers fine_;
  Numbers coarse_;
};

// As jk = (j^2 + k^2 - (k - j)^2) / 2, the transform is a convolution with the chirp w^(k^2 / 2),
// between two products with it.
class ChirpLine final : public FourierLine {
 public:
  ChirpLine(int64_t n, bool inverse)
      : n_(n),
        m_(chirp_length(n)),
        line_(make(m_, false)),
        chirp_(n),
        spectrum_(m_),
        padded_(m_),
        result_(m_) {
    int64_t turns = 0;  // k^2 modulo 2n.
    const double step = std::numbers::pi / static_cast<double>(n);
    for_each(n, [&](int64_t k) {
      if (k > 0) turns += 2 * k - 1;
      if (turns >= 2 * n) turns -= 2 * n;
      chirp_[k] = unit(step * static_cast<double>(turns), inverse);
    });
    for_each(m_, [&](int64_t k) {
      padded_[k] = k < n ? std::conj(chirp_[k]) : m_ - k < n ? std::conj(chirp_[m_ - k]) : 0;
    });
    line_->transform(padded_.data(), spectrum_.data());
    const double divisor = static_cast<double>(m_);
    for_each(m_, [&](int64_t k) { spectrum_[k] /= divisor; });
  }

  void transform(const complex128* in, complex128* out) override {
    for_each(m_, [&](int64_t k) { padded_[k] = k < n_ ? in[k] * chirp_[k] : 0; });
    line_->transform(padded_.data(), result_.data());
    // Back by the same line: the inverse is the conjugate of the conjugate's transform.
    for_each(m_, [&](int64_t k) { padded_[k] = std::conj(result_[k] * spectrum_[k]); });
    line_->transform(padded_.data(), result_.data());
    for_each(n_, [&](int64_t k) { out[k] = std::conj(result_[k]) * chirp_[k]; });
  }

 private:
  int64_t n_;
  int64_t m_;
  std::unique_ptr<FourierLine> line_;
  Numbers chirp_;
  Numbers spectrum_;
  Numbers padded_;
  Numbers result_;
};

}  // namespace

bool FourierLine::is_plain(int64_t n) {
  return n <= kPlainLength && largest_prime_factor(n) <= kPlainPrime;
}

int64_t FourierLine::table_columns(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p <= kPlainPrime; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) return 1;
  int64_t columns = 1;
  int64_t rows = 1;
  for (size_t i = primes.size(); i-- > 0;) (columns <= rows ? columns : rows) *= primes[i];
  return columns;
}

// The first of the lengths 2^k, 3 * 2^k, 5 * 2^k, 9 * 2^k and 15 * 2^k that is enough.
int64_t FourierLine::chirp_length(int64_t n) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t length = odd;
    while (length < 2 * n - 1) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

std::unique_ptr<FourierLine> FourierLine::make(int64_t n, bool inverse) {
  if (largest_prime_factor(n) > kPlainPrime) return std::make_unique<ChirpLine>(n, inverse);
  if (n > kPlainLength) return std::make_unique<TableLine>(n, inverse);
  return std::make_unique<PlainLine>(n, inverse);
}

}  // namespace tierup::kernels
