// One format serves a whole matrix: whole numbers print without a point; others with four
// decimals, divided by a common power of ten where that helps, or in scientific notation where
// their magnitudes lie far apart.
#include "tierup/tensor/tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/memory_use.h"

namespace tierup {
namespace {

constexpr int kLineWidth = 80;

double element_value(const Tensor& tensor, int64_t offset) {
  const double value = dispatch_all(tensor.dtype(), "print", [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    const T element = *tensor.as_view({}, {}, offset).data<T>();
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
      return static_cast<double>(element.real());
    } else if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(element);
    } else {
      return static_cast<double>(static_cast<float>(element));
    }
  });
  return tensor.impl()->negative ? -value : value;
}

struct NumberFormat {
  enum class Style : uint8_t { kGeneral, kFixed, kScientific };
  Style style = Style::kGeneral;
  int width = 0;
  double scale = 1;
};

// Digits before the point: 1 for zero.
int exponent_of(double value) {
  return value == 0 ? 1 : static_cast<int>(std::floor(std::log10(value))) + 1;
}

NumberFormat choose_format(const std::vector<double>& values) {
  bool whole = true;
  int largest = 0;
  int smallest = 0;
  bool any = false;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    whole = whole && value == std::ceil(value);
    const int exponent = exponent_of(std::fabs(value));
    largest = any ? std::max(largest, exponent) : exponent;
    smallest = any ? std::min(smallest, exponent) : exponent;
    any = true;
  }
  using Style = NumberFormat::Style;
  const int scientific_width = std::max(std::abs(largest), std::abs(smallest)) > 99 ? 12 : 11;
  if (whole) {
    if (largest > 9) return {Style::kScientific, 11, 1};
    return {Style::kGeneral, largest + 1, 1};
  }
  if (largest - smallest > 4) return {Style::kScientific, scientific_width, 1};
  if (largest > 5 || largest < 0) return {Style::kFixed, 7, std::pow(10.0, largest - 1)};
  return {Style::kFixed, largest == 0 ? 7 : largest + 6, 1};
}

// What expand() made of one number is as long a text as any other.
std::string number_text(double value, const NumberFormat& format) {
  poll_interrupt();
  value /= format.scale;
  switch (format.style) {
    case NumberFormat::Style::kGeneral:
      return fmt::format("{:>{}}", fmt::format("{:g}", value), format.width);
    case NumberFormat::Style::kFixed: return fmt::format("{:>{}.4f}", value, format.width);
    case NumberFormat::Style::kScientific: return fmt::format("{:>{}.4e}", value, format.width);
  }
  return {};
}

std::vector<double> elements_of(const Tensor& tensor) {
  std::vector<double> values;
  check_object_limit(static_cast<size_t>(tensor.numel()) * sizeof(double));
  values.reserve(static_cast<size_t>(tensor.numel()));
  const int64_t columns = tensor.size(-1);
  const int64_t rows = tensor.numel() / columns;
  for (int64_t row = 0; row < rows; ++row) {
    poll_interrupt();
    int64_t rest = row;
    int64_t offset = tensor.offset();
    for (int64_t d = tensor.dim() - 2; d >= 0; --d) {
      offset += (rest % tensor.size(d)) * tensor.stride(d);
      rest /= tensor.size(d);
    }
    for (int64_t column = 0; column < columns; ++column) {
      values.push_back(element_value(tensor, offset + column * tensor.stride(-1)));
    }
  }
  return values;
}

void append_vector(const std::vector<double>& values, std::string& out) {
  const NumberFormat format = choose_format(values);
  if (format.scale != 1) out += fmt::format("{:g} *\n", format.scale);
  for (const double value : values) {
    out += number_text(value, format) + "\n";
    check_object_limit(out.size());
  }
}

// Rows of `columns` values each; wide ones in pieces of whole columns. `indent` is that of a
// matrix inside a larger tensor.
void append_matrix(const std::vector<double>& values, int64_t columns, int indent,
                   std::string& out) {
  const NumberFormat format = choose_format(values);
  const std::string margin(static_cast<size_t>(indent), ' ');
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  const int64_t per_line = std::max<int64_t>((kLineWidth - indent) / (format.width + 1), 1);
  for (int64_t first = 0; first < columns; first += per_line) {
    const int64_t last = std::min(first + per_line, columns) - 1;
    if (per_line < columns) {
      if (first > 0) out += "\n";
      out += fmt::format("Columns {} to {}", first + 1, last + 1) + margin;
    }
    if (format.scale != 1) out += fmt::format("{:g} *\n", format.scale) + margin;
    for (int64_t row = 0; row < rows; ++row) {
      check_object_limit(out.size());
      if (row > 0) out += margin + (format.scale != 1 ? " " : "");
      for (int64_t column = first; column <= last; ++column) {
        out += number_text(values[static_cast<size_t>(row * columns + column)], format);
        out += column == last ? "\n" : " ";
      }
    }
  }
}

// Each matrix of the last two dimensions under its index, "(1,2,.,.) = ".
void append_matrices(const Tensor& tensor, const std::vector<double>& values, std::string& out) {
  const int64_t columns = tensor.size(-1);
  const int64_t area = columns * tensor.size(-2);
  const int64_t count = tensor.numel() / area;
  for (int64_t i = 0; i < count; ++i) {
    std::string index;
    int64_t rest = i;
    for (int64_t d = tensor.dim() - 3; d >= 0; --d) {
      index = fmt::format("{},", rest % tensor.size(d) + 1) + index;
      rest /= tensor.size(d);
    }
    if (i > 0) out += "\n";
    out += fmt::format("({}.,.) = \n", index);
    const auto begin = values.begin() + i * area;
    append_matrix(std::vector<double>(begin, begin + area), columns, 1, out);
  }
}

}  // namespace

std::string tensor_text(const Tensor& tensor) {
  std::string shape;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    shape += (d > 0 ? "," : "") + std::to_string(tensor.size(d));
  }
  const std::string tail =
      fmt::format("[ CPU{}Type{{{}}} ]", scalar_type_name(tensor.dtype()), shape);
  if (tensor.numel() == 0 || tensor.is_meta()) return tail;
  std::string text;
  if (tensor.dim() == 0) {
    text = fmt::format("{:.17g}\n", element_value(tensor, tensor.offset()));
  } else if (tensor.dim() == 1) {
    append_vector(elements_of(tensor), text);
  } else if (tensor.dim() == 2) {
    append_matrix(elements_of(tensor), tensor.size(-1), 0, text);
  } else {
    append_matrices(tensor, elements_of(tensor), text);
  }
  return text + tail;
}

}  // namespace tierup
