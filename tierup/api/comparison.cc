#include "tierup/api/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tierup::api {
namespace {

// Calls body(flat_index, element) for every element in row-major order, whatever the strides.
template <typename T, typename Body>
void for_each_element(const Tensor& tensor, Body&& body) {
  const IntSpan sizes = tensor.sizes();
  const IntSpan strides = tensor.strides();
  IntVector index(sizes.size(), 0);
  const T* base = tensor.data<T>();
  int64_t offset = 0;
  for (int64_t flat = 0; flat < tensor.numel(); ++flat) {
    body(flat, base[offset]);
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

complex128 resolved(complex128 value, const Tensor& tensor) {
  if (tensor.impl()->conjugate) value = std::conj(value);
  return tensor.impl()->negative ? -value : value;
}

std::vector<complex128> inexact_elements(const Tensor& tensor) {
  std::vector<complex128> result(static_cast<size_t>(tensor.numel()));
  const auto fill = [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_element<T>(tensor, [&](int64_t i, const T& value) {
      if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
        result[static_cast<size_t>(i)] = resolved(complex128(value), tensor);
      } else {
        result[static_cast<size_t>(i)] = resolved(static_cast<double>(value), tensor);
      }
    });
  };
  if (is_complex(tensor.dtype())) {
    dispatch_complex(tensor.dtype(), "a comparison", fill);
  } else {
    dispatch_floating(tensor.dtype(), "a comparison", fill);
  }
  return result;
}

std::vector<int64_t> exact_elements(const Tensor& tensor) {
  std::vector<int64_t> result(static_cast<size_t>(tensor.numel()));
  const auto fill = [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_element<T>(tensor, [&](int64_t i, const T& value) {
      result[static_cast<size_t>(i)] = static_cast<int64_t>(value);
    });
  };
  switch (tensor.dtype()) {
    case ScalarType::kUInt16: fill(TypeTag<uint16_t>{}); break;
    case ScalarType::kUInt32: fill(TypeTag<uint32_t>{}); break;
    case ScalarType::kUInt64: fill(TypeTag<uint64_t>{}); break;
    default: dispatch_integral(tensor.dtype(), "a comparison", fill);
  }
  return result;
}

std::string index_text(const Tensor& tensor, size_t flat) {
  IntVector index(tensor.sizes().size(), 0);
  for (size_t d = index.size(); d-- > 0;) {
    const auto size = static_cast<size_t>(tensor.sizes()[d]);
    index[d] = static_cast<int64_t>(flat % size);
    flat /= size;
  }
  return shape_string({index.data(), index.size()});
}

std::string number_text(complex128 value) {
  if (value.imag() == 0) return fmt::format("{:.9g}", value.real());
  return fmt::format("{:.9g}{:+.9g}j", value.real(), value.imag());
}

bool same_part(double found, double expected) {
  return found == expected || (std::isnan(found) && std::isnan(expected));
}

bool is_near(complex128 found, complex128 expected, const Tolerance& tolerance) {
  if (same_part(found.real(), expected.real()) && same_part(found.imag(), expected.imag())) {
    return true;
  }
  // A NaN or an infinity in either part is only ever equal to the same one.
  const auto finite = [](complex128 v) {
    return std::isfinite(v.real()) && std::isfinite(v.imag());
  };
  if (!finite(found) || !finite(expected)) {
    const auto near = [&](double a, double b) {
      return same_part(a, b) || (std::isfinite(a) && std::isfinite(b) &&
                                 std::abs(a - b) <= tolerance.atol + tolerance.rtol * std::abs(b));
    };
    return near(found.real(), expected.real()) && near(found.imag(), expected.imag());
  }
  return std::abs(found - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected);
}

void note(Deviation* deviation, complex128 found, complex128 expected) {
  if (deviation == nullptr) return;
  const double size = std::abs(expected);
  if (std::isfinite(size)) deviation->largest_value = std::max(deviation->largest_value, size);
  double difference = std::abs(found - expected);
  if (same_part(found.real(), expected.real()) && same_part(found.imag(), expected.imag())) {
    difference = 0;
  } else if (std::isnan(difference)) {
    difference = std::numeric_limits<double>::infinity();
  }
  deviation->max_absolute = std::max(deviation->max_absolute, difference);
  if (difference > 0) {
    deviation->max_relative =
        std::max(deviation->max_relative, difference / std::max(size, 1e-300));
  }
}

class Comparer {
 public:
  Comparer(const ComparisonOptions& options, Deviation* deviation)
      : options_(options), deviation_(deviation) {}

  std::string compare(const IValue& found, const IValue& expected, const std::string& where) {
    if (expected.is_tensor()) return tensors(found, expected.to_tensor(), where);
    if (is_sequence(expected)) return sequences(found, expected, where);
    if (expected.is_dict()) return dicts(found, expected, where);
    return plain(found, expected, where);
  }

 private:
  static bool is_sequence(const IValue& v) { return v.is_list() || v.is_tuple(); }
  static const std::vector<IValue>& items(const IValue& v) {
    return v.is_list() ? v.to_list().items : v.to_tuple().items;
  }

  std::string sequences(const IValue& found, const IValue& expected, const std::string& where) {
    if (!is_sequence(found)) return other_type(found, expected, where);
    const auto& a = items(found);
    const auto& b = items(expected);
    if (a.size() != b.size()) {
      return fmt::format("{} has {} items instead of {}", where, a.size(), b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      std::string difference = compare(a[i], b[i], fmt::format("{}[{}]", where, i));
      if (!difference.empty()) return difference;
    }
    return {};
  }

  std::string dicts(const IValue& found, const IValue& expected, const std::string& where) {
    if (!found.is_dict()) return other_type(found, expected, where);
    const auto a = found.to_dict().entries();
    const auto b = expected.to_dict().entries();
    if (a.size() != b.size()) {
      return fmt::format("{} has {} entries instead of {}", where, a.size(), b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      const std::string place = fmt::format("{}[{}]", where, to_text(b[i].first));
      if (a[i].first.is_tensor() || !values_equal(a[i].first, b[i].first)) {
        return fmt::format("{} has the key {} instead", place, to_text(a[i].first));
      }
      std::string difference = compare(a[i].second, b[i].second, place);
      if (!difference.empty()) return difference;
    }
    return {};
  }

  std::string plain(const IValue& found, const IValue& expected, const std::string& where) {
    const bool inexact = expected.is_float() || expected.is_complex();
    if (found.is_enum() && !expected.is_enum())
      return plain(found.to_enum().value, expected, where);
    if (inexact && (found.is_float() || found.is_complex())) {
      const complex128 a = found.to_scalar().to_complex();
      const complex128 b = expected.to_scalar().to_complex();
      note(deviation_, a, b);
      if (is_near(a, b, options_.tolerances.of(ScalarType::kDouble))) return {};
    } else if (found.tag() != expected.tag()) {
      return other_type(found, expected, where);
    } else if (values_equal(found, expected)) {
      return {};
    }
    return fmt::format("{} is {} instead of {}", where, to_text(found), to_text(expected));
  }

  static std::string other_type(const IValue& found, const IValue& expected,
                                const std::string& where) {
    return fmt::format("{} is of type {} instead of {}", where, found.tag_name(),
                       expected.tag_name());
  }

  std::string tensors(const IValue& value, const Tensor& expected, const std::string& where) {
    if (!value.is_tensor()) return other_type(value, expected, where);
    const Tensor found = value.to_tensor();
    if (found.dtype() != expected.dtype() || !std::ranges::equal(found.sizes(), expected.sizes())) {
      return fmt::format("{} is {} instead of {}", where, found.describe(), expected.describe());
    }
    if (is_integral(expected.dtype(), true)) return exact_tensors(found, expected, where);
    return inexact_tensors(found, expected, where);
  }

  std::string exact_tensors(const Tensor& found, const Tensor& expected,
                            const std::string& where) const {
    if (options_.ambiguous) return {};
    const auto a = exact_elements(found);
    const auto b = exact_elements(expected);
    const auto [at, wanted] = std::ranges::mismatch(a, b);
    if (at == a.end()) return {};
    return fmt::format("{}{} is {} instead of {}", where,
                       index_text(expected, static_cast<size_t>(at - a.begin())), *at, *wanted);
  }

  std::string inexact_tensors(const Tensor& found, const Tensor& expected,
                              const std::string& where) {
    auto a = inexact_elements(found);
    auto b = inexact_elements(expected);
    const Tolerance tolerance = options_.tolerances.of(expected.dtype());
    if (options_.ambiguous) {
      if (near_in_size(a, b, tolerance)) return {};
      return fmt::format("{} differs, also up to signs and order", where);
    }
    size_t worst = a.size();
    double worst_excess = -1;
    for (size_t i = 0; i < a.size(); ++i) {
      note(deviation_, a[i], b[i]);
      if (is_near(a[i], b[i], tolerance)) continue;
      double excess = std::abs(a[i] - b[i]) / (tolerance.atol + tolerance.rtol * std::abs(b[i]));
      if (std::isnan(excess)) excess = std::numeric_limits<double>::infinity();
      if (excess > worst_excess) {
        worst = i;
        worst_excess = excess;
      }
    }
    if (worst == a.size()) return {};
    return fmt::format("{}{} is {} instead of {} ({:.3g} times the tolerance)", where,
                       index_text(expected, worst), number_text(a[worst]), number_text(b[worst]),
                       worst_excess);
  }

  static bool near_in_size(std::vector<complex128>& a, std::vector<complex128>& b,
                           const Tolerance& tolerance) {
    const auto all_near = [&] {
      for (size_t i = 0; i < a.size(); ++i) {
        if (!is_near(std::abs(a[i]), std::abs(b[i]), tolerance)) return false;
      }
      return true;
    };
    if (all_near()) return true;
    const auto by_size = [](complex128 x, complex128 y) { return std::abs(x) < std::abs(y); };
    std::ranges::sort(a, by_size);
    std::ranges::sort(b, by_size);
    return all_near();
  }

  const ComparisonOptions& options_;
  Deviation* deviation_;
};

void collect_tensors(const IValue& value, std::vector<Tensor>& tensors) {
  if (value.is_tensor()) tensors.push_back(value.to_tensor());
  if (value.is_list()) {
    for (const IValue& item : value.to_list().items) collect_tensors(item, tensors);
  }
  if (value.is_tuple()) {
    for (const IValue& item : value.to_tuple().items) collect_tensors(item, tensors);
  }
  if (value.is_dict()) {
    for (const auto& [key, item] : value.to_dict().entries()) collect_tensors(item, tensors);
  }
}

double tensor_deviation(const Tensor& found, const Tensor& expected) {
  double largest = 0;
  double difference = 0;
  dispatch_all(expected.dtype(), "a comparison", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<std::is_same_v<T, complex64> || std::is_same_v<T, complex128>,
                                    complex128, double>;
    const T* wanted = expected.data<T>();
    for_each_element<T>(found, [&](int64_t i, const T& value) {
      const Wide a(static_cast<Wide>(value));
      const Wide b(static_cast<Wide>(wanted[i]));
      largest = std::max(largest, std::abs(b));
      difference = std::max(difference, std::abs(a - b));
    });
  });
  return difference / (largest + 1e-9);
}

}  // namespace

double relative_deviation(const IValue& found, const IValue& expected) {
  constexpr double kOther = std::numeric_limits<double>::infinity();
  std::vector<Tensor> a;
  std::vector<Tensor> b;
  collect_tensors(found, a);
  collect_tensors(expected, b);
  if (a.size() != b.size()) return kOther;
  double result = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || !std::ranges::equal(a[i].sizes(), b[i].sizes())) {
      return kOther;
    }
    TIERUP_CHECK(b[i].is_contiguous());
    result = std::max(result, tensor_deviation(a[i], b[i]));
  }
  return result;
}

Tolerances Tolerances::uniform(Tolerance tolerance) {
  Tolerances result;
  result.other_ = tolerance;
  return result;
}

Tolerances Tolerances::of_operators() {
  Tolerances result;
  result.set(ScalarType::kDouble, {1e-7, 1e-7});
  result.set(ScalarType::kFloat, {1e-5, 1e-5});
  result.set(ScalarType::kComplexFloat, {1e-5, 1e-5});
  result.set(ScalarType::kComplexDouble, {1e-7, 1e-7});
  result.set(ScalarType::kBFloat16, {0.016, 0.01});
  result.set(ScalarType::kHalf, {0.002, 0.002});
  return result;
}

void Tolerances::raise_atol(double atol) {
  for (auto& [dtype, tolerance] : by_dtype_) tolerance.atol = std::max(tolerance.atol, atol);
  other_.atol = std::max(other_.atol, atol);
}

Tolerance Tolerances::of(ScalarType dtype) const {
  const auto found = by_dtype_.find(dtype);
  return found == by_dtype_.end() ? other_ : found->second;
}

std::string find_difference(const IValue& found, const IValue& expected,
                            const ComparisonOptions& options, Deviation* deviation) {
  return Comparer(options, deviation).compare(found, expected, "the result");
}

}  // namespace tierup::api
