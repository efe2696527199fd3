#include "tierup/kernels/spectral/fourier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <kissfft.hh>
#include <type_traits>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/spectral/fourier_line.h"
#include "tierup/kernels/spectral/line_bundle.h"

namespace tierup::kernels {
namespace {

// Scratch that counts towards the memory limit.
template <typename T>
class Lane {
 public:
  explicit Lane(int64_t n) : tensor_(Tensor::empty(IntVector{n}, kDTypeOf<T>)) {}
  T* data() const { return tensor_.data<T>(); }
  T& operator[](int64_t i) const { return data()[i]; }

 private:
  Tensor tensor_;
};

// A line has scratch memory, so each range of lanes makes its own; this many elements pay for it.
int64_t grain_of(int64_t length) {
  return std::max<int64_t>(1, 65536 / std::max<int64_t>(length, 1));
}

double divisor(FftScale scale, int64_t points) {
  switch (scale) {
    case FftScale::kRoot: return std::sqrt(static_cast<double>(points));
    case FftScale::kCount: return static_cast<double>(points);
    default: return 1;
  }
}

FftScale checked_scale(int64_t scale) {
  require(scale >= 0 && scale <= 2, ErrorCode::kInvalidArgument, "invalid FFT normalization {}",
          scale);
  return static_cast<FftScale>(scale);
}

// The product of the sizes of the transformed dimensions; checks them.
int64_t count_points(const Tensor& self, const IntVector& dims) {
  int64_t points = 1;
  for (const int64_t d : transformed_dims(dims, self.dim())) {
    require(self.sizes()[d] >= 1, ErrorCode::kInvalidArgument,
            "Invalid number of data points ({}) specified", self.sizes()[d]);
    points *= self.sizes()[d];
  }
  return points;
}

// Those from `begin` to before `end`.
struct Places {
  int64_t begin;
  int64_t end;
};

// Lines of one length along a dimension, so many at a time as lanes of a register hold.
class BundledLines {
 public:
  using Lines = std::vector<LaneLoop::Pointers>;
  // So many places of all lanes are near by when the next line's come.
  static constexpr int64_t kBlock = 32;

  BundledLines(const LaneLoop& loop, const BundlePlan& plan)
      : loop_(loop), plan_(plan), grain_(grain_of(plan)) {}

  // load(pointers, places, buffer) puts these places of a line into its lane of a buffer, or
  // load(lines, places, buffer) those of all lines, and store(pointers, places, buffer) takes them
  // out of the one that work(buffer, other) returns. Doubles of a lane are `lanes()` apart.
  template <typename Load, typename Work, typename Store>
  void run(int64_t loaded, const Load& load, const Work& work, int64_t stored,
           const Store& store) const {
    loop_.run_ranges(grain_, [&](const auto& each) {
      const Lane<double> first(plan_.buffer_size());
      const Lane<double> second(plan_.buffer_size());
      std::fill_n(first.data(), plan_.buffer_size(), 0.0);  // Lanes without a line, too.
      Lines lines;
      const auto for_each_line = [&](int64_t count, double* buffer, const auto& body) {
        for (int64_t begin = 0; begin < count; begin += kBlock) {
          const Places places{begin, std::min(begin + kBlock, count)};
          if constexpr (std::is_invocable_v<decltype(body), const Lines&, Places, double*>) {
            body(lines, places, buffer);
          } else {
            for (size_t lane = 0; lane < lines.size(); ++lane)
              body(lines[lane], places, buffer + lane);
          }
        }
      };
      const auto finish = [&] {
        for_each_line(loaded, first.data(), load);
        for_each_line(stored, work(first.data(), second.data()), store);
        lines.clear();
      };
      each([&](const LaneLoop::Pointers& line) {
        lines.push_back(line);
        if (static_cast<int64_t>(lines.size()) == plan_.lanes()) finish();
      });
      if (!lines.empty()) finish();
    });
  }

 private:
  // Whole bundles, of some eight thousand numbers.
  static int64_t grain_of(const BundlePlan& plan) {
    const int64_t bundles = std::max<int64_t>(1, 16384 / plan.buffer_size());
    return bundles * plan.lanes();
  }

  const LaneLoop& loop_;
  const BundlePlan& plan_;
  int64_t grain_;
};

// Elements of a line some bytes apart, in a lane of a buffer of complex numbers.
struct Line {
  char* data;
  int64_t step;
  int64_t lanes;

  template <typename T>
  T& element(int64_t i) const {
    return *reinterpret_cast<T*>(data + i * step);
  }
  template <typename Double>
  Double* number(Double* buffer, int64_t i) const {
    return buffer + 2 * lanes * i;
  }
};

template <typename C>
void load_numbers(const Line& line, Places places, double* buffer) {
  for (int64_t i = places.begin; i < places.end; ++i) {
    const C value = line.element<C>(i);
    double* to = line.number(buffer, i);
    to[0] = static_cast<double>(value.real());
    to[line.lanes] = static_cast<double>(value.imag());
  }
}
template <typename C>
void store_numbers(const Line& line, Places places, double factor, const double* buffer) {
  using R = typename C::value_type;
  for (int64_t i = places.begin; i < places.end; ++i) {
    const double* from = line.number(buffer, i);
    line.element<C>(i) =
        C(static_cast<R>(factor * from[0]), static_cast<R>(factor * from[line.lanes]));
  }
}
// Real numbers are `apart` in the buffer: alone, or in pairs.
template <typename R>
void load_reals(const Line& line, Places places, int64_t apart, double* buffer) {
  for (int64_t i = places.begin; i < places.end; ++i)
    buffer[i * apart] = static_cast<double>(line.element<R>(i));
}
// Rows of kLanes floats, of which each begins `apart` numbers behind the last.
template <int kLanes>
void widen_rows(const float* from, int64_t rows, int64_t apart, double* to) {
  for (int64_t row = 0; row < rows; ++row, from += kLanes, to += apart) {
    for (int lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<double>(from[lane]);
  }
}
// As many lines of neighbouring floats as there are lanes, each as far from the last: turned by
// registers. False, and nothing is loaded, where lines are others.
bool load_float_lines(const BundledLines::Lines& lines, const LaneLoop& loop, Places places,
                      int64_t lanes, int64_t apart, double* buffer) {
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  if (static_cast<int64_t>(lines.size()) != lanes || (lanes != 4 && lanes != 8)) return false;
  const int64_t between = lines[1][0] - lines[0][0];
  for (size_t lane = 2; lane < lines.size(); ++lane) {
    if (lines[lane][0] - lines[lane - 1][0] != between) return false;
  }
  if (between % kFloat != 0 || loop.step(0) != kFloat) return false;
  std::array<float, BundledLines::kBlock * 8> turned;
  const int64_t rows = places.end - places.begin;
  turn_rows(turned.data(), lanes, lines[0][0] + places.begin * kFloat, between / kFloat, lanes,
            rows);
  double* to = buffer + places.begin * apart;
  lanes == 8 ? widen_rows<8>(turned.data(), rows, apart, to)
             : widen_rows<4>(turned.data(), rows, apart, to);
  return true;
}
template <typename R>
void store_reals(const Line& line, Places places, int64_t apart, double factor,
                 const double* buffer) {
  for (int64_t i = places.begin; i < places.end; ++i)
    line.element<R>(i) = static_cast<R>(factor * buffer[i * apart]);
}

template <typename C>
void bundle_complex(const LaneLoop& loop, int64_t n, bool forward, double scale) {
  const auto plan = BundlePlan::of(n, !forward);
  const auto line = [&](const LaneLoop::Pointers& from, size_t operand) {
    return Line{from[operand], loop.step(operand), plan->lanes()};
  };
  BundledLines(loop, *plan)
      .run(
          n,
          [&](const LaneLoop::Pointers& at, Places places, double* to) {
            load_numbers<C>(line(at, 0), places, to);
          },
          [&](double* buffer, double* other) { return plan->transform(buffer, other); }, n,
          [&](const LaneLoop::Pointers& at, Places places, const double* from) {
            store_numbers<C>(line(at, 1), places, 1 / scale, from);
          });
}

// The half spectrum of n real numbers: an even n by half as many complex ones.
template <typename R>
void bundle_real(const LaneLoop& loop, int64_t n, double scale) {
  const bool halved = n % 2 == 0;
  const auto plan = BundlePlan::of(halved ? n / 2 : n, false);
  const int64_t lanes = plan->lanes();
  BundledLines(loop, *plan)
      .run(
          n,
          [&](const BundledLines::Lines& lines, Places places, double* to) {
            const int64_t apart = halved ? lanes : 2 * lanes;
            const bool is_loaded =
                std::is_same_v<R, float> && load_float_lines(lines, loop, places, lanes, apart, to);
            for (size_t lane = 0; lane < lines.size() && !is_loaded; ++lane)
              load_reals<R>({lines[lane][0], loop.step(0), lanes}, places, apart, to + lane);
            for (int64_t i = places.begin; !halved && i < places.end; ++i)
              std::fill_n(to + i * apart + lanes, lanes, 0.0);
          },
          [&](double* buffer, double* other) {
            double* numbers = plan->transform(buffer, other);
            if (!halved) return numbers;
            double* spectrum = numbers == buffer ? other : buffer;
            plan->to_half_spectrum(numbers, spectrum);
            return spectrum;
          },
          n / 2 + 1,
          [&](const LaneLoop::Pointers& at, Places places, const double* from) {
            store_numbers<std::complex<R>>({at[1], loop.step(1), lanes}, places, 1 / scale, from);
          });
}

// To n real numbers from a half spectrum, whose first number counts as real, as its last does where
// n is even.
template <typename R>
void bundle_to_real(const LaneLoop& loop, int64_t n, double scale) {
  const bool halved = n % 2 == 0;
  const auto plan = BundlePlan::of(halved ? n / 2 : n, true);
  const int64_t lanes = plan->lanes();
  const auto load = [&](const LaneLoop::Pointers& at, Places places, double* to) {
    const Line line{at[0], loop.step(0), lanes};
    load_numbers<std::complex<R>>(line, places, to);
    for (int64_t i = places.begin; i < places.end; ++i) {
      double* number = line.number(to, i);
      if (i == 0 || 2 * i == n) {
        number[lanes] = 0;
      } else if (!halved) {  // The other half is the conjugate.
        double* mirrored = line.number(to, n - i);
        mirrored[0] = number[0];
        mirrored[lanes] = -number[lanes];
      }
    }
  };
  BundledLines(loop, *plan)
      .run(
          n / 2 + 1, load,
          [&](double* buffer, double* other) {
            if (!halved) return plan->transform(buffer, other);
            plan->from_half_spectrum(buffer, other);
            return plan->transform(other, buffer);
          },
          n,
          [&](const LaneLoop::Pointers& at, Places places, const double* from) {
            const Line line{at[1], loop.step(1), lanes};
            store_reals<R>(line, places, halved ? lanes : 2 * lanes, 1 / scale, from);
          });
}

// Whether real lines of n numbers are bundled, in either direction.
bool takes_real(int64_t n) { return BundlePlan::takes(n % 2 == 0 ? n / 2 : n); }

// One complex transform along d, divided by `scale`. `from` and `to` may be the same tensor.
template <typename C>
void transform_complex(const Tensor& from, const Tensor& to, int64_t d, bool forward,
                       double scale) {
  const int64_t n = from.sizes()[d];
  const LaneLoop loop(from.sizes(), d, {&from, &to});
  if (BundlePlan::takes(n)) return bundle_complex<C>(loop, n, forward, scale);
  loop.run_ranges(grain_of(n), [&](const auto& each) {
    const auto line = FourierLine::make(n, !forward);
    const Lane<complex128> in(n);
    const Lane<complex128> out(n);
    each([&](const LaneLoop::Pointers& lane) {
      for (int64_t i = 0; i < n; ++i) {
        in[i] = complex128(*reinterpret_cast<const C*>(lane[0] + i * loop.step(0)));
      }
      line->transform(in.data(), out.data());
      for (int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<C*>(lane[1] + i * loop.step(1)) = static_cast<C>(out[i] / scale);
      }
    });
  });
}

// The half spectrum of real lanes. Even lengths take one complex transform of half the length where
// KissFFT does that alone.
template <typename R>
void transform_real(const Tensor& from, const Tensor& to, int64_t d, double scale) {
  using C = std::complex<R>;
  const int64_t n = from.sizes()[d];
  const bool halved = n % 2 == 0 && FourierLine::is_plain(n / 2);
  const LaneLoop loop(from.sizes(), d, {&from, &to});
  if (takes_real(n)) return bundle_real<R>(loop, n, scale);
  loop.run_ranges(grain_of(n), [&](const auto& each) {
    const kissfft<double> half(static_cast<size_t>(halved ? n / 2 : 1), false);
    const auto line = halved ? nullptr : FourierLine::make(n, false);
    const Lane<double> real(halved ? n : 0);
    const Lane<complex128> in(halved ? 0 : n);
    const Lane<complex128> out(halved ? n / 2 + 1 : n);
    each([&](const LaneLoop::Pointers& lane) {
      const auto element = [&](int64_t i) {
        return static_cast<double>(*reinterpret_cast<const R*>(lane[0] + i * loop.step(0)));
      };
      if (halved) {
        for (int64_t i = 0; i < n; ++i) real[i] = element(i);
        half.transform_real(real.data(), out.data());
        out[n / 2] = out[0].imag();
        out[0] = out[0].real();
      } else {
        for (int64_t i = 0; i < n; ++i) in[i] = element(i);
        line->transform(in.data(), out.data());
      }
      for (int64_t i = 0; i <= n / 2; ++i) {
        *reinterpret_cast<C*>(lane[1] + i * loop.step(1)) = static_cast<C>(out[i] / scale);
      }
    });
  });
}

// Real lanes from half spectra: the other half is the conjugate.
template <typename R>
void transform_to_real(const Tensor& from, const Tensor& to, int64_t d, double scale) {
  using C = std::complex<R>;
  const int64_t n = to.sizes()[d];
  const LaneLoop loop(to.sizes(), d, {&from, &to});
  if (takes_real(n)) return bundle_to_real<R>(loop, n, scale);
  loop.run_ranges(grain_of(n), [&](const auto& each) {
    const auto line = FourierLine::make(n, true);
    const Lane<complex128> in(n);
    const Lane<complex128> out(n);
    each([&](const LaneLoop::Pointers& lane) {
      for (int64_t i = 0; i <= n / 2; ++i) {
        const complex128 x(*reinterpret_cast<const C*>(lane[0] + i * loop.step(0)));
        in[i] = i == 0 || 2 * i == n ? x.real() : x;
        if (i > 0) in[n - i] = std::conj(in[i]);
      }
      line->transform(in.data(), out.data());
      for (int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<R*>(lane[1] + i * loop.step(1)) = static_cast<R>(out[i].real() / scale);
      }
    });
  });
}

}  // namespace

IntVector transformed_dims(const IntVector& dims, int64_t rank) {
  require(rank <= 64, ErrorCode::kInvalidArgument,
          "only tensors with up to 64 dims are supported, got {}", rank);
  IntVector result;
  uint64_t seen = 0;
  for (const int64_t dim : dims) {
    require(rank > 0, ErrorCode::kOutOfRange,
            "Dimension specified as {} but tensor has no dimensions", dim);
    const int64_t d = wrap_dim(dim, rank);
    require(((seen >> d) & 1U) == 0, ErrorCode::kInvalidArgument,
            "FFT dims must be unique, got dim {} twice", dim);
    seen |= uint64_t{1} << d;
    result.push_back(d);
  }
  return result;
}

Tensor fft_c2c(const Tensor& self, const IntVector& dims, int64_t scale, bool forward) {
  require(is_complex(self.dtype()), ErrorCode::kTypeError,
          "_fft_c2c expects a complex input tensor, but got {}", scalar_type_name(self.dtype()));
  if (dims.empty()) return clone(self);
  double factor = divisor(checked_scale(scale), count_points(self, dims));
  Tensor out = Tensor::empty(self.sizes(), self.dtype());
  dispatch_complex(self.dtype(), "fft", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Tensor* from = &self;
    for (size_t i = dims.size(); i-- > 0; from = &out, factor = 1) {
      transform_complex<C>(*from, out, wrap_dim(dims[i], self.dim()), forward, factor);
    }
  });
  return out;
}

Tensor fft_r2c(const Tensor& self, const IntVector& dims, int64_t scale, bool onesided) {
  require(is_floating(self.dtype()), ErrorCode::kTypeError,
          "_fft_r2c expects a real input tensor, but got {}", scalar_type_name(self.dtype()));
  const ScalarType type = complex_type_of(self.dtype());
  if (real_type_of(type) != self.dtype()) fail_dtype("fft", self.dtype());
  if (dims.empty()) return to_dtype(self, type);
  if (!onesided) return fft_c2c(to_dtype(self, type), dims, scale, true);
  const int64_t last = wrap_dim(dims.back(), self.dim());
  const double factor = divisor(checked_scale(scale), count_points(self, dims));
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[last] = sizes[last] / 2 + 1;
  Tensor out = Tensor::empty(sizes, type);
  dispatch_complex(type, "fft", [&](auto tag) {
    using R = typename decltype(tag)::type::value_type;
    transform_real<R>(self, out, last, factor);
  });
  const IntVector rest(dims.begin(), dims.end() - 1);
  return rest.empty() ? out : fft_c2c(out, rest, 0, true);
}

Tensor fft_c2r(const Tensor& self, const IntVector& dims, int64_t scale, int64_t last_dim_size) {
  require(is_complex(self.dtype()), ErrorCode::kTypeError,
          "_fft_c2r expects a complex input tensor, but got {}", scalar_type_name(self.dtype()));
  require(!dims.empty(), ErrorCode::kInvalidArgument, "_fft_c2r expects at least one dimension");
  const int64_t last = wrap_dim(dims.back(), self.dim());
  require(last_dim_size >= 1 && self.dim() > 0 && self.sizes()[last] > last_dim_size / 2,
          ErrorCode::kInvalidArgument, "Invalid number of data points ({}) specified",
          last_dim_size);
  const int64_t points = count_points(self, dims) / self.sizes()[last] * last_dim_size;
  const double factor = divisor(checked_scale(scale), points);
  const IntVector rest(dims.begin(), dims.end() - 1);
  const Tensor half = rest.empty() ? self : fft_c2c(self, rest, 0, false);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[last] = last_dim_size;
  Tensor out = Tensor::empty(sizes, real_type_of(self.dtype()));
  dispatch_complex(self.dtype(), "fft", [&](auto tag) {
    using R = typename decltype(tag)::type::value_type;
    transform_to_real<R>(half, out, last, factor);
  });
  return out;
}

}  // namespace tierup::kernels
