#include "number_range.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

namespace tierup::cli {

NumberCheck number_from(double least, double most) {
  return [least, most](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0';
    if (is_number && value >= least && value <= most) return std::string();
    return fmt::format("{}: expected a number from {} to {}", text, least, most);
  };
}

NumberCheck seconds_range() { return number_from(0, 1e9); }
NumberCheck count_range(double least) { return number_from(least, 1e9); }
NumberCheck factor_range() { return number_from(0, std::numeric_limits<double>::max()); }

}  // namespace tierup::cli
