#include "tierup/kernels/spectral/line_bundle.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <type_traits>
#include <utility>

#include "tierup/base/machine.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/kernels/spectral/fourier_line.h"

namespace tierup::kernels {
namespace {

template <typename T>
RootOfUnity<T> root_of_unity(int64_t power, int64_t n, bool inverse) {
  const double turn =
      2 * std::numbers::pi * static_cast<double>(power % n) / static_cast<double>(n);
  return {static_cast<T>(std::cos(turn)),
          static_cast<T>(inverse ? std::sin(turn) : -std::sin(turn))};
}

// Eights, but for as many fours as leave no two: they take the fewest passes.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (; twos > 4 || twos == 3; twos -= 3) factors.push_back(8);
  for (; twos >= 2; twos -= 2) factors.push_back(4);
  if (twos == 1) factors.push_back(2);
  for (int64_t p = 2; n > 1; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  return factors;
}

bool has_formula(int64_t radix) { return radix <= 5 || radix == 8; }

template <typename T>
const BundleKernels<T>& bundle_kernels() {
  const BundleVariants& variants = TIERUP_VARIANT(instruction_set(), bundle_kernels_base,
                                                  bundle_kernels_avx2, bundle_kernels_avx512)();
  if constexpr (std::is_same_v<T, float>) {
    return variants.of_floats;
  } else {
    return variants.of_doubles;
  }
}

}  // namespace

template <typename T>
std::shared_ptr<const BundlePlan<T>> BundlePlan<T>::of(int64_t n, bool inverse) {
  constexpr size_t kKept = 8;
  thread_local std::vector<std::shared_ptr<const BundlePlan>> latest;
  auto found = std::find_if(latest.begin(), latest.end(), [&](const auto& plan) {
    return plan->n_ == n && plan->inverse_ == inverse && &plan->kernels_ == &bundle_kernels<T>();
  });
  if (found == latest.end()) {
    latest.push_back(std::make_shared<const BundlePlan>(n, inverse));
    found = latest.end() - 1;
  }
  std::rotate(latest.begin(), found, found + 1);
  if (latest.size() > kKept) latest.pop_back();
  return latest.front();
}

template <typename T>
BundlePlan<T>::BundlePlan(int64_t n, bool inverse)
    : n_(n), inverse_(inverse), kernels_(bundle_kernels<T>()) {
  if (FourierLine::is_plain(n)) {
    add_passes();
  } else {
    chirp_ = chirp();
  }
  for (int64_t k = 0; k <= n; ++k) turns_.push_back(root_of_unity<T>(k, 2 * n, inverse));
}

template <typename T>
void BundlePlan<T>::add_passes() {
  int64_t left = n_;
  for (const int64_t radix : factors_of(n_)) {
    const int64_t groups = left / radix;
    Roots roots;
    for (int64_t group = 1; group < groups; ++group) {
      for (int64_t k = 1; k < radix; ++k) {
        roots.twiddles.push_back(root_of_unity<T>(k * group, left, inverse_));
      }
    }
    for (int64_t k = 0; !has_formula(radix) && k < radix; ++k) {
      roots.of_radix.push_back(root_of_unity<T>(k, radix, inverse_));
    }
    passes_.push_back({radix, groups, roots.twiddles.data(), roots.of_radix.data()});
    roots_.push_back(std::move(roots));  // Which leaves the numbers where they are.
    left = groups;
  }
}

template <typename T>
typename BundlePlan<T>::Chirp BundlePlan<T>::chirp() const {
  const int64_t steps = FourierLine::chirp_length(n_);
  Chirp chirp;
  chirp.longer = std::make_unique<const BundlePlan>(steps, false);
  for (int64_t k = 0; k < n_; ++k)
    chirp.factors.push_back(root_of_unity<T>(k * k, 2 * n_, inverse_));
  // What a line is convolved with, as the only one of a bundle. The divisor is the transform
  // back's.
  const int64_t lanes = kernels_.lanes;
  std::vector<T> first(static_cast<size_t>(2 * steps * lanes));
  std::vector<T> second(first.size());
  const auto scale = static_cast<T>(1 / static_cast<double>(steps));
  for (int64_t k = 1 - n_; k < n_; ++k) {
    T* number = first.data() + 2 * lanes * ((k + steps) % steps);
    const RootOfUnity<T> factor = chirp.factors[static_cast<size_t>(std::abs(k))];
    number[0] = factor.re * scale;
    number[lanes] = -factor.im * scale;
  }
  const T* spectrum = chirp.longer->transform(first.data(), second.data());
  for (int64_t k = 0; k < steps; ++k, spectrum += 2 * lanes) {
    chirp.spectrum.push_back({spectrum[0], spectrum[lanes]});
  }
  return chirp;
}

template <typename T>
bool BundlePlan<T>::takes(int64_t n) {
  const int64_t steps = FourierLine::is_plain(n) ? n : FourierLine::chirp_length(n);
  const int64_t buffer = 2 * steps * bundle_kernels<T>().lanes * static_cast<int64_t>(sizeof(T));
  return 2 * buffer <= cache_sizes().second_level;
}

template <typename T>
T* BundlePlan<T>::transform(T* from, T* other) const {
  if (chirp_.longer) return convolve(from, other);
  int64_t stride = 1;
  for (const BundlePass<T>& pass : passes_) {
    kernels_.pass(pass, inverse_, stride, from, other);
    stride *= pass.radix;
    std::swap(from, other);
  }
  return from;
}

template <typename T>
T* BundlePlan<T>::convolve(T* from, T* other) const {
  const int64_t numbers = steps();
  kernels_.multiply(chirp_.factors.data(), n_, Conjugated::kNone, from);
  std::fill(from + 2 * n_ * lanes(), from + 2 * numbers * lanes(), T{0});
  T* there = chirp_.longer->transform(from, other);
  // Back by the same line: the inverse is the conjugate of the conjugate's transform.
  kernels_.multiply(chirp_.spectrum.data(), numbers, Conjugated::kProducts, there);
  T* back = chirp_.longer->transform(there, there == from ? other : from);
  kernels_.multiply(chirp_.factors.data(), n_, Conjugated::kOperands, back);
  return back;
}

template class BundlePlan<float>;
template class BundlePlan<double>;

}  // namespace tierup::kernels
