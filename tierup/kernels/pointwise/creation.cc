#include "tierup/kernels/pointwise/creation.h"

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise.h"

namespace tierup::kernels {
namespace {

// out[i] = f(i) for a fresh contiguous tensor; f gives a double, int64 or complex.
template <typename F>
Tensor tabulate(int64_t count, ScalarType dtype, std::string_view name, const F& f) {
  const Tensor out = Tensor::empty(IntVector{count}, dtype);
  dispatch_all(dtype, name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = out.data<T>();
    parallel_for(0, count, kNumbersForThread, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data[i] = convert<T>(f(i));
    });
  });
  return out;
}

bool all_integral(const Scalar& a, const Scalar& b, const Scalar& c) {
  return a.is_integral(true) && b.is_integral(true) && c.is_integral(true);
}

void check_range(double start, double end, double step) {
  require(step != 0, ErrorCode::kInvalidArgument, "step must be nonzero");
  require(std::isfinite(start) && std::isfinite(end), ErrorCode::kInvalidArgument,
          "unsupported range: {} -> {}", start, end);
  require((step > 0 && end >= start) || (step < 0 && end <= start), ErrorCode::kInvalidArgument,
          "upper bound and lower bound inconsistent with step sign");
}

int64_t checked_count(double count) {
  require(count >= 0 && count <= 9007199254740992.0, ErrorCode::kInvalidArgument,
          "invalid size, possible overflow?");
  return static_cast<int64_t>(count);
}

// Distance over step, rounded up, exactly for integers.
int64_t integer_count(int64_t start, int64_t end, int64_t step) {
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return checked_count(static_cast<double>(distance / width + (distance % width != 0 ? 1 : 0)));
}

Tensor progression(const Scalar& start, const Scalar& step, int64_t count, ScalarType dtype,
                   std::string_view name) {
  if (is_integral(dtype, true)) {
    const auto first = static_cast<uint64_t>(start.to<int64_t>());
    const auto width = static_cast<uint64_t>(step.to<int64_t>());
    return tabulate(count, dtype, name, [=](int64_t i) {
      return static_cast<int64_t>(first + static_cast<uint64_t>(i) * width);
    });
  }
  const double first = start.to_double();
  const double width = step.to_double();
  return tabulate(count, dtype, name,
                  [=](int64_t i) { return first + width * static_cast<double>(i); });
}

int64_t check_steps(int64_t steps) {
  require(steps >= 0, ErrorCode::kInvalidArgument, "number of steps must be non-negative");
  return steps;
}

// The i-th of `steps` numbers from a to b, counted from the nearer end.
template <typename T>
T between(T a, T b, int64_t steps, int64_t i) {
  using Real = std::conditional_t<std::is_same_v<T, float>, float, double>;
  if (steps == 1) return a;
  const T step = (b - a) / static_cast<Real>(steps - 1);
  if (i < steps / 2) return a + step * static_cast<Real>(i);
  return b - step * static_cast<Real>(steps - 1 - i);
}

// Rounded once, which decides where truncation to an integer falls.
double between_integers(double a, double b, int64_t steps, int64_t i) {
  if (steps == 1) return a;
  const double step = (b - a) / static_cast<double>(steps - 1);
  if (i < steps / 2) return std::fma(step, static_cast<double>(i), a);
  return std::fma(-step, static_cast<double>(steps - 1 - i), b);
}

ScalarType spaced_dtype(const Scalar& start, const Scalar& end, std::optional<ScalarType> dtype) {
  if (dtype) return *dtype;
  return start.is_complex() || end.is_complex() ? ScalarType::kComplexFloat : kDefaultDtype;
}

// An end of numbers of an integral dtype: one of them.
double whole_end(const Scalar& end, ScalarType dtype) {
  return dispatch_integral(dtype, "linspace", [&](auto tag) {
    return static_cast<double>(end.to<typename decltype(tag)::type>());
  });
}

// `map` is applied to each of the spaced numbers.
template <typename Map>
Tensor spaced(const Scalar& start, const Scalar& end, int64_t steps, ScalarType dtype,
              const Map& map) {
  check_steps(steps);
  if (is_complex(dtype)) {
    const complex128 a = start.to_complex();
    const complex128 b = end.to_complex();
    const Tensor out = Tensor::empty(IntVector{steps}, dtype);
    dispatch_complex(dtype, "linspace", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < steps; ++i) {
        out.data<T>()[i] = static_cast<T>(map(between(a, b, steps, i)));
      }
    });
    return out;
  }
  if (is_integral(dtype, true)) {
    const double a = whole_end(start, dtype);
    const double b = whole_end(end, dtype);
    return tabulate(steps, dtype, "linspace",
                    [=](int64_t i) { return map(between_integers(a, b, steps, i)); });
  }
  const double a = start.to_double();
  const double b = end.to_double();
  return tabulate(steps, dtype, "linspace",
                  [=](int64_t i) { return map(between(a, b, steps, i)); });
}

// The ends are rounded to T, and each number once more; in between PyTorch computes f16 and bf16 in
// float, f16 without fused multiplications.
template <typename T>
void fill_spaced(T* out, const Scalar& start, const Scalar& end, int64_t steps) {
  using Work = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto a = static_cast<Work>(start.to<T>());
  const auto b = static_cast<Work>(end.to<T>());
  const Work step = (b - a) / static_cast<Work>(steps - 1);
  const auto apart = [](Work from, Work width, int64_t count) {
    if constexpr (std::is_same_v<T, Half>)
      return from + width * static_cast<Work>(count);
    else
      return std::fma(width, static_cast<Work>(count), from);
  };
  parallel_for(0, steps, grain_of(1), [=](int64_t begin, int64_t last) {
    for (int64_t i = begin; i < last; ++i)
      out[i] = static_cast<T>(i < steps / 2 ? apart(a, step, i) : apart(b, -step, steps - 1 - i));
  });
}

}  // namespace

Tensor empty_on(IntSpan sizes, ScalarType dtype, const std::optional<Device>& device,
                MemoryFormat format) {
  if (device) check_device(*device);
  if (!device || device->type == DeviceType::kCpu) return Tensor::empty(sizes, dtype, format);
  numel_of(sizes);
  return Tensor::from_storage(Storage::borrow(nullptr, 0, {}, *device), dtype, sizes,
                              strides_for(sizes, format), 0);
}

Tensor full(IntSpan sizes, const Scalar& value, ScalarType dtype,
            const std::optional<Device>& device) {
  Tensor result = empty_on(sizes, dtype, device);
  if (!result.is_meta()) fill(result, value);
  return result;
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              std::optional<ScalarType> dtype) {
  const bool whole = all_integral(start, end, step);
  const ScalarType type = dtype.value_or(whole ? ScalarType::kLong : kDefaultDtype);
  check_range(start.to_double(), end.to_double(), step.to_double());
  const int64_t count =
      whole ? integer_count(start.to_int(), end.to_int(), step.to_int())
            : checked_count(std::ceil((end.to_double() - start.to_double()) / step.to_double()));
  return progression(start, step, count, type, "arange");
}

Tensor range_inclusive(const Scalar& start, const Scalar& end, const Scalar& step,
                       std::optional<ScalarType> dtype) {
  check_range(start.to_double(), end.to_double(), step.to_double());
  const double span = (end.to_double() - start.to_double()) / step.to_double();
  return progression(start, step, checked_count(std::floor(span) + 1),
                     dtype.value_or(kDefaultDtype), "range");
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                std::optional<ScalarType> dtype) {
  const ScalarType type = spaced_dtype(start, end, dtype);
  if (!is_floating(type) || steps < 2)
    return spaced(start, end, steps, type, [](auto x) { return x; });
  const Tensor out = Tensor::empty(IntVector{steps}, type);
  dispatch_floating(type, "linspace", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_spaced(out.data<T>(), start, end, steps);
  });
  return out;
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                std::optional<ScalarType> dtype) {
  return spaced(start, end, steps, spaced_dtype(start, end, dtype),
                [base](auto x) { return std::pow(base, x); });
}

Tensor eye(int64_t rows, int64_t columns, ScalarType dtype) {
  require(rows >= 0 && columns >= 0, ErrorCode::kInvalidArgument,
          "n must be greater or equal to 0, got {} and {}", rows, columns);
  const Tensor result = full(IntVector{rows, columns}, 0, dtype);
  const int64_t count = std::min(rows, columns);
  if (count > 0) fill(result.as_view(IntVector{count}, IntVector{columns + 1}, 0), 1);
  return result;
}

}  // namespace tierup::kernels
