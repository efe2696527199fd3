// Walks what was found beside what is expected of it, down to tensors and numbers, and stops at the
// first difference. Tensors are read where they lie, whatever their strides; every pair of
// floating-point or complex elements is judged by distance_of (deviation.h), against a bound of
// finite numbers, so that NaN and infinities are only ever near themselves.
#include "tierup/tensor/comparison.h"

#include <fmt/format.h>

#include <set>

#include "tierup/base/error.h"

namespace tierup {
namespace {

// Calls body(flat_index, x, y) for the elements of two tensors of the same sizes, in row-major
// order.
template <typename T, typename Body>
void for_each_pair(const Tensor& found, const Tensor& expected, Body&& body) {
  const IntSpan sizes = expected.sizes();
  const IntSpan strides[] = {found.strides(), expected.strides()};
  IntVector index(sizes.size(), 0);
  const T* x = found.data<T>();
  const T* y = expected.data<T>();
  for (size_t flat = 0; flat < static_cast<size_t>(expected.numel()); ++flat) {
    body(flat, *x, *y);
    for (size_t d = sizes.size(); d-- > 0;) {
      x += strides[0][d];
      y += strides[1][d];
      if (++index[d] < sizes[d]) break;
      x -= strides[0][d] * sizes[d];
      y -= strides[1][d] * sizes[d];
      index[d] = 0;
    }
  }
}

// An element as a number, its lazy conjugation and negation done.
template <typename T>
auto number_of(const T& element, const Tensor& tensor) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    complex128 value(element);
    if (tensor.impl()->conjugate) value = std::conj(value);
    return tensor.impl()->negative ? -value : value;
  } else {
    const auto value = static_cast<double>(element);
    return tensor.impl()->negative ? -value : value;
  }
}

// body(flat_index, found, expected), numbers as double or complex128.
template <typename Body>
void for_each_number(const Tensor& found, const Tensor& expected, Body&& body) {
  const auto walk = [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_pair<T>(found, expected, [&](size_t i, const T& x, const T& y) {
      body(i, number_of(x, found), number_of(y, expected));
    });
  };
  if (is_complex(expected.dtype())) {
    dispatch_complex(expected.dtype(), "a comparison", walk);
  } else {
    dispatch_floating(expected.dtype(), "a comparison", walk);
  }
}

template <typename Body>
void dispatch_exact(ScalarType dtype, Body&& body) {
  switch (dtype) {
    case ScalarType::kUInt16: return body(TypeTag<uint16_t>{});
    case ScalarType::kUInt32: return body(TypeTag<uint32_t>{});
    case ScalarType::kUInt64: return body(TypeTag<uint64_t>{});
    default: dispatch_integral(dtype, "a comparison", body);
  }
}

bool is_exact(ScalarType dtype) { return is_integral(dtype, true); }

bool are_alike(const Tensor& found, const Tensor& expected) {
  return found.dtype() == expected.dtype() && std::ranges::equal(found.sizes(), expected.sizes());
}

// Integers as well: what an index is off by is for benchmarks, not for cases.
Deviation deviation_of(const Tensor& found, const Tensor& expected) {
  Deviation result;
  if (!is_exact(expected.dtype())) {
    for_each_number(found, expected, [&](size_t, auto x, auto y) { result.note(x, y); });
    return result;
  }
  dispatch_exact(expected.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_pair<T>(found, expected, [&](size_t, const T& x, const T& y) {
      result.note(static_cast<double>(x), static_cast<double>(y));
    });
  });
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

std::string number_text(double value) { return fmt::format("{:.9g}", value); }
std::string number_text(complex128 value) {
  if (value.imag() == 0) return number_text(value.real());
  return fmt::format("{:.9g}{:+.9g}j", value.real(), value.imag());
}

template <typename Number>
bool is_near(Number found, Number expected, const Tolerance& tolerance) {
  return distance_of(found, expected) <= tolerance.atol + tolerance.rtol * finite_size(expected);
}

class Comparer {
 public:
  Comparer(const ComparisonOptions& options, Deviation* deviation)
      : options_(options), deviation_(deviation) {}

  std::string compare(const IValue& found, const IValue& expected, const std::string& where) {
    if (expected.is_tensor()) return tensors(found, expected.to_tensor(), where);
    if (is_sequence(expected)) return sequences(found, expected, where);
    if (expected.is_dict()) return dicts(found, expected, where);
    if (expected.is_object()) return objects(found, expected, where);
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
      const std::string place = fmt::format("{}[{}]", where, key_text(b[i].first));
      if (!same_key(a[i].first, b[i].first)) {
        return fmt::format("{} has the key {} instead", place, key_text(a[i].first));
      }
      std::string difference = compare(a[i].second, b[i].second, place);
      if (!difference.empty()) return difference;
    }
    return {};
  }

  // Tensors are keys by identity, which copies do not have: their contents stand for it.
  bool same_key(const IValue& found, const IValue& expected) {
    if (expected.is_tensor()) return compare(found, expected, "key").empty();
    return !found.is_tensor() && values_equal(found, expected);
  }
  static std::string key_text(const IValue& key) {
    return key.is_tensor() ? key.to_tensor().describe() : to_text(key);
  }

  std::string objects(const IValue& found, const IValue& expected, const std::string& where) {
    if (!found.is_object()) return other_type(found, expected, where);
    const ObjectValue& a = found.to_object();
    const ObjectValue& b = expected.to_object();
    if (a.type->name() != b.type->name() || a.slots.size() != b.slots.size()) {
      return fmt::format("{} is of the class {} instead of {}", where, a.type->name(),
                         b.type->name());
    }
    // Objects may refer to each other in circles.
    if (!objects_.emplace(&a, &b).second) return {};
    for (size_t i = 0; i < b.slots.size(); ++i) {
      const std::string place = fmt::format("{}.{}", where, b.type->attributes()[i].name);
      std::string difference = compare(a.slots[i], b.slots[i], place);
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
      if (deviation_ != nullptr) deviation_->note(a, b);
      if (is_near(a, b, options_.tolerances.of_number())) return {};
    } else if (found.tag() != expected.tag()) {
      return other_type(found, expected, where);
    } else if (values_equal(found, expected) || expected.is_uninitialized()) {
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
    if (!are_alike(found, expected)) {
      return fmt::format("{} is {} instead of {}", where, found.describe(), expected.describe());
    }
    if (is_exact(expected.dtype())) return exact_tensors(found, expected, where);
    return inexact_tensors(found, expected, where);
  }

  static std::string exact_tensors(const Tensor& found, const Tensor& expected,
                                   const std::string& where) {
    std::string difference;
    dispatch_exact(expected.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_pair<T>(found, expected, [&](size_t i, const T& x, const T& y) {
        if (x == y || !difference.empty()) return;
        difference =
            fmt::format("{}{} is {} instead of {}", where, index_text(expected, i), +x, +y);
      });
    });
    return difference;
  }

  // The element that exceeds its bound by most.
  std::string inexact_tensors(const Tensor& found, const Tensor& expected,
                              const std::string& where) {
    Tolerance tolerance = options_.tolerances.of(expected.dtype());
    if (options_.relative_to_largest) {
      const Deviation all = deviation_of(found, expected);
      tolerance = {0, tolerance.atol + tolerance.rtol * all.largest_value};
      if (all.max_absolute <= tolerance.atol) {
        if (deviation_ != nullptr) deviation_->note(all);
        return {};
      }
    }
    Deviation deviation;
    double most = 0;
    std::string difference;
    for_each_number(found, expected, [&](size_t i, auto x, auto y) {
      deviation.note(x, y);
      if (is_near(x, y, tolerance)) return;
      const double bound = tolerance.atol + tolerance.rtol * finite_size(y);
      const double excess = distance_of(x, y) / bound;
      if (excess <= most && !difference.empty()) return;
      most = excess;
      difference = fmt::format("{}{} is {} instead of {} ({:.3g} times the tolerance)", where,
                               index_text(expected, i), number_text(x), number_text(y), excess);
    });
    if (deviation_ != nullptr) deviation_->note(deviation);
    return difference;
  }

  const ComparisonOptions& options_;
  Deviation* deviation_;
  std::set<std::pair<const ObjectValue*, const ObjectValue*>> objects_;
};

// Tensors and numbers, depth first.
void collect_leaves(const IValue& value, bool with_numbers, std::vector<IValue>& leaves) {
  if (value.is_tensor() || (with_numbers && value.is_number())) leaves.push_back(value);
  if (value.is_list()) {
    for (const IValue& item : value.to_list().items) collect_leaves(item, with_numbers, leaves);
  }
  if (value.is_tuple()) {
    for (const IValue& item : value.to_tuple().items) collect_leaves(item, with_numbers, leaves);
  }
  if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries())
      collect_leaves(entry.second, with_numbers, leaves);
  }
}

double leaf_deviation(const IValue& found, const IValue& expected) {
  constexpr double kOther = std::numeric_limits<double>::infinity();
  if (found.is_tensor() != expected.is_tensor()) return kOther;
  if (expected.is_tensor()) {
    const Tensor a = found.to_tensor();
    const Tensor b = expected.to_tensor();
    return are_alike(a, b) ? deviation_of(a, b).relative() : kOther;
  }
  Deviation deviation;
  deviation.note(found.to_scalar().to_complex(), expected.to_scalar().to_complex());
  return deviation.relative();
}

// Objects may refer to each other in circles: `seen` has been walked.
bool can_compare(const IValue& value, std::set<const ObjectValue*>& seen) {
  const auto can = [&](const IValue& item) { return can_compare(item, seen); };
  switch (value.tag()) {
    case IValue::Tag::kList: return std::ranges::all_of(value.to_list().items, can);
    case IValue::Tag::kTuple: return std::ranges::all_of(value.to_tuple().items, can);
    case IValue::Tag::kDict:
      return std::ranges::all_of(value.to_dict().entries(), [&](const DictValue::Entry& entry) {
        return can(entry.first) && can(entry.second);
      });
    case IValue::Tag::kObject:
      return !seen.insert(&value.to_object()).second ||
             std::ranges::all_of(value.to_object().slots, can);
    case IValue::Tag::kFuture:
    case IValue::Tag::kFunction:
    case IValue::Tag::kCapsule: return false;
    default: return true;
  }
}

bool holds_number(const std::vector<IValue>& leaves) {
  return std::ranges::any_of(leaves, [](const IValue& leaf) { return leaf.is_number(); });
}

}  // namespace

bool is_comparable(const IValue& value) {
  std::set<const ObjectValue*> seen;
  return can_compare(value, seen);
}

double relative_deviation(const IValue& found, const IValue& expected) {
  std::vector<IValue> a;
  std::vector<IValue> b;
  collect_leaves(expected, true, b);
  collect_leaves(found, holds_number(b), a);
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double result = 0;
  for (size_t i = 0; i < a.size(); ++i) result = std::max(result, leaf_deviation(a[i], b[i]));
  return result;
}

Tolerances Tolerances::uniform(Tolerance tolerance) {
  Tolerances result;
  result.other_ = tolerance;
  return result;
}

Tolerances Tolerances::of_dtypes() {
  Tolerances result;
  result.set(ScalarType::kDouble, {1e-7, 1e-7});
  result.set(ScalarType::kFloat, {1.3e-6, 1e-5});
  result.set(ScalarType::kHalf, {1e-3, 1e-5});
  result.set(ScalarType::kBFloat16, {1.6e-2, 1e-5});
  result.set(ScalarType::kComplexDouble, {1e-7, 1e-7});
  result.set(ScalarType::kComplexFloat, {1.3e-6, 1e-5});
  result.set(ScalarType::kComplexHalf, {1e-3, 1e-5});
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

template <typename Change>
void Tolerances::change_all(Change&& change) {
  for (auto& [dtype, tolerance] : by_dtype_) change(tolerance);
  if (number_) change(*number_);
  change(other_);
}

void Tolerances::replace(std::optional<double> rtol, std::optional<double> atol) {
  change_all([&](Tolerance& tolerance) {
    tolerance = {rtol.value_or(tolerance.rtol), atol.value_or(tolerance.atol)};
  });
}

void Tolerances::raise_atol(double atol) {
  change_all([&](Tolerance& tolerance) { tolerance.atol = std::max(tolerance.atol, atol); });
}

Tolerance Tolerances::of(ScalarType dtype) const {
  const auto found = by_dtype_.find(dtype);
  return found == by_dtype_.end() ? other_ : found->second;
}

std::string find_difference(const IValue& found, const IValue& expected,
                            const ComparisonOptions& options, Deviation* deviation) {
  return Comparer(options, deviation).compare(found, expected, "the result");
}

}  // namespace tierup
