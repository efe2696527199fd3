// The Fourier transforms of several lines at once: a line to each lane of a register of T, float or
// double.
//
// Lanes do not know of one another, so that a line comes out the same whatever it is bundled with.
// The work is done by passes over two buffers (Stockham's way: no order has to be restored), one
// pass for each factor of the length. A length with a large prime factor is a convolution with a
// chirp (Bluestein; see fourier_line.h), by passes of a length that has none. A buffer holds
// numbers as [place][real, imaginary][lane].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tierup::kernels {

// The largest prime factor of a line that is transformed by its factors. A chirp costs about as
// much as KissFFT's loop over a prime of this size.
inline constexpr int64_t kPlainPrime = 61;

template <typename T>
struct RootOfUnity {
  T re;
  T im;
};

// Numbers between which `radix` ones are combined into as many others.
template <typename T>
struct BundlePass {
  int64_t radix;
  int64_t groups;                  // Of what is left of the length, divided by the radix.
  const RootOfUnity<T>* twiddles;  // For each group but the first: the powers 1 to radix - 1.
  const RootOfUnity<T>* roots;     // Of the radix, where it has no formula.
};

// Of which numbers a product gives or takes the conjugates.
enum class Conjugated : uint8_t { kNone, kOperands, kProducts };

// A variant: code for one instruction set, which is given plain numbers.
template <typename T>
struct BundleKernels {
  int64_t lanes;
  // One pass over numbers of which `stride` neighbours are taken alike.
  void (*pass)(const BundlePass<T>& pass, bool inverse, int64_t stride, const T* from, T* to);
  // The transform of n pairs of real numbers becomes the n + 1 first ones of those 2n numbers'. The
  // turns are powers of the 2n-th root.
  void (*to_half_spectrum)(const RootOfUnity<T>* turns, int64_t n, const T* pairs, T* spectrum);
  // n + 1 numbers of a half spectrum become what the inverse transform makes n pairs of.
  void (*from_half_spectrum)(const RootOfUnity<T>* turns, int64_t n, const T* spectrum, T* pairs);
  // `count` of T, in place, times one factor.
  void (*scale)(T factor, int64_t count, T* numbers);
  // n numbers, in place, each times its own factor.
  void (*multiply)(const RootOfUnity<T>* factors, int64_t n, Conjugated conjugated, T* numbers);
};

struct BundleVariants {
  BundleKernels<float> of_floats;
  BundleKernels<double> of_doubles;
};
const BundleVariants& bundle_kernels_base();
const BundleVariants& bundle_kernels_avx2();
const BundleVariants& bundle_kernels_avx512();

// What all bundles of one length and direction share. Thread-safe.
template <typename T>
class BundlePlan {
 public:
  // Each thread keeps the few that it used last: angles take as long as transforms.
  static std::shared_ptr<const BundlePlan> of(int64_t n, bool inverse);
  BundlePlan(int64_t n, bool inverse);
  // Whether lines of n numbers are bundled: their buffers are near enough in the caches.
  static bool takes(int64_t n);

  int64_t lanes() const { return kernels_.lanes; }
  // Numbers of T in a buffer, which has place for n + 1 numbers.
  int64_t buffer_size() const { return 2 * (steps() + 1) * kernels_.lanes; }

  void scale(T factor, int64_t count, T* numbers) const { kernels_.scale(factor, count, numbers); }
  // From one buffer, by way of both, to the one that it returns.
  T* transform(T* from, T* other) const;
  void to_half_spectrum(const T* pairs, T* spectrum) const {
    kernels_.to_half_spectrum(turns_.data(), n_, pairs, spectrum);
  }
  void from_half_spectrum(const T* spectrum, T* pairs) const {
    kernels_.from_half_spectrum(turns_.data(), n_, spectrum, pairs);
  }

 private:
  struct Roots {
    std::vector<RootOfUnity<T>> twiddles;
    std::vector<RootOfUnity<T>> of_radix;
  };
  struct Chirp {
    std::unique_ptr<const BundlePlan> longer;
    std::vector<RootOfUnity<T>> factors;   // Of the n numbers.
    std::vector<RootOfUnity<T>> spectrum;  // Of what the longer line is convolved with.
  };

  void add_passes();
  Chirp chirp() const;
  T* convolve(T* from, T* other) const;
  // Numbers of the line that is transformed by passes.
  int64_t steps() const { return chirp_.longer ? chirp_.longer->n_ : n_; }

  int64_t n_;
  bool inverse_;
  const BundleKernels<T>& kernels_;
  std::vector<Roots> roots_;  // Of each pass.
  std::vector<BundlePass<T>> passes_;
  Chirp chirp_;  // In place of passes.
  std::vector<RootOfUnity<T>> turns_;
};

}  // namespace tierup::kernels
