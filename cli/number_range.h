// What numbers of the command line may be, as checks of CLI11's options. Its own ranges let NaN
// through, and its unsigned numbers take "-1" for the largest.
#pragma once

#include <functional>
#include <string>

namespace tierup::cli {

// Gives what is wrong with a text that is no number of this range; empty: nothing.
using NumberCheck = std::function<std::string(const std::string& text)>;

NumberCheck number_from(double least, double most);

// Seconds that something is measured or waited for; a count of things; a relative or absolute
// tolerance, a rate or a bound of a norm.
NumberCheck seconds_range();
NumberCheck count_range(double least = 0);
NumberCheck factor_range();

}  // namespace tierup::cli
