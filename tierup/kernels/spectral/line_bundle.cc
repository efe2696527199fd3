#include "tierup/kernels/spectral/line_bundle.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "tierup/base/machine.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/kernels/spectral/fourier_line.h"

namespace tierup::kernels {
namespace {

RootOfUnity root_of_unity(int64_t power, int64_t n, bool inverse) {
  const double turn =
      2 * std::numbers::pi * static_cast<double>(power % n) / static_cast<double>(n);
  return {std::cos(turn), inverse ? std::sin(turn) : -std::sin(turn)};
}

// Fours first: they take the fewest steps.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int64_t p = 2; n > 1; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  return factors;
}

bool has_formula(int64_t radix) { return radix <= 5; }

const BundleKernels& bundle_kernels() {
  return TIERUP_VARIANT(instruction_set(), bundle_kernels_base, bundle_kernels_avx2,
                        bundle_kernels_avx512)();
}

}  // namespace

BundlePlan::BundlePlan(int64_t n, bool inverse)
    : n_(n), inverse_(inverse), kernels_(bundle_kernels()) {
  int64_t left = n;
  for (const int64_t radix : factors_of(n)) {
    const int64_t groups = left / radix;
    Roots roots;
    for (int64_t group = 1; group < groups; ++group) {
      for (int64_t k = 1; k < radix; ++k) {
        roots.twiddles.push_back(root_of_unity(k * group, left, inverse));
      }
    }
    for (int64_t k = 0; !has_formula(radix) && k < radix; ++k) {
      roots.of_radix.push_back(root_of_unity(k, radix, inverse));
    }
    passes_.push_back({radix, groups, roots.twiddles.data(), roots.of_radix.data()});
    roots_.push_back(std::move(roots));  // Which leaves the numbers where they are.
    left = groups;
  }
  for (int64_t k = 0; k <= n; ++k) turns_.push_back(root_of_unity(k, 2 * n, inverse));
}

bool BundlePlan::takes(int64_t n) {
  const int64_t buffer = 2 * n * bundle_kernels().lanes * static_cast<int64_t>(sizeof(double));
  return 2 * buffer <= cache_sizes().second_level && FourierLine::is_plain(n);
}

double* BundlePlan::transform(double* from, double* other) const {
  int64_t stride = 1;
  for (const BundlePass& pass : passes_) {
    kernels_.pass(pass, inverse_, stride, from, other);
    stride *= pass.radix;
    std::swap(from, other);
  }
  return from;
}

}  // namespace tierup::kernels
