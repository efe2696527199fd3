// How far the vector functions are from the truth, over all floats or every n-th of them.
//
//   every_float [STRIDE [NAME...]]
//
// STRIDE 1 (all 2^32) takes a minute or two for most functions, but about 13 minutes for each of
// sin, cos and tan, which are slow to compute far from zero.
//
// For each function and each instruction set that this processor has: the largest error in units of
// the last place of the true value (which double precision gives), and where it is. Fails for more
// than 2.
#include "tierup/kernels/pointwise/special_policy.h"  // First of what includes Boost.Math.

#include <algorithm>
#include <bit>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace {

using tierup::ScalarType;
using tierup::kernels::Body;
using tierup::kernels::InstructionSet;
using tierup::kernels::RunTable;

struct Function {
  const char* name;
  Body body;
  double (*truth)(double);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double lgamma(double x) { return std::lgamma(x); }
double erfinv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? x * INFINITY : NAN;
  return boost::math::erf_inv(x, tierup::kernels::special::Quiet());
}

constexpr Function kFunctions[] = {
    {"exp", Body::kExp, std::exp},       {"exp2", Body::kExp2, std::exp2},
    {"expm1", Body::kExpm1, std::expm1}, {"log", Body::kLog, std::log},
    {"log2", Body::kLog2, std::log2},    {"log10", Body::kLog10, std::log10},
    {"log1p", Body::kLog1p, std::log1p}, {"sigmoid", Body::kSigmoid, sigmoid},
    {"tanh", Body::kTanh, std::tanh},    {"sin", Body::kSin, std::sin},
    {"cos", Body::kCos, std::cos},       {"tan", Body::kTan, std::tan},
    {"asin", Body::kAsin, std::asin},    {"acos", Body::kAcos, std::acos},
    {"atan", Body::kAtan, std::atan},    {"sinh", Body::kSinh, std::sinh},
    {"cosh", Body::kCosh, std::cosh},    {"asinh", Body::kAsinh, std::asinh},
    {"acosh", Body::kAcosh, std::acosh}, {"atanh", Body::kAtanh, std::atanh},
    {"erf", Body::kErf, std::erf},       {"erfc", Body::kErfc, std::erfc},
    {"rsqrt", Body::kRsqrt, rsqrt},      {"sqrt", Body::kSqrt, std::sqrt},
    {"lgamma", Body::kLgamma, lgamma},   {"erfinv", Body::kErfinv, erfinv},
};

// 0 for equal infinities and NaNs; infinite where only one of the two is one.
double ulps(float got, double want) {
  const auto rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  }
  if (std::isinf(rounded) || std::isinf(got)) {
    // Next to the overflow, the largest float is as near as infinity.
    const bool same = rounded == got || (std::abs(want) < 3.4028237e38 && std::abs(got) > 3.4e38F);
    return same ? 0 : INFINITY;
  }
  // The inverse of the unit: 2^(24 - exponent) with want in [2^(exponent - 1), 2^exponent).
  const auto biased = static_cast<int64_t>(std::bit_cast<uint64_t>(want) >> 52U & 0x7ffU);
  const int64_t unit = std::max<int64_t>(biased - 1022 - 24, -149);
  return std::abs(got - want) * std::bit_cast<double>(static_cast<uint64_t>(1023 - unit) << 52U);
}

struct Worst {
  double error = 0;
  float at = 0;
};

constexpr size_t kBlock = 4096;

// Errors of each instruction set up to `most` over every stride-th float.
std::vector<Worst> measure(const Function& function, uint64_t stride, InstructionSet most) {
  std::vector<Worst> worst(static_cast<size_t>(most) + 1);
  std::vector<float> x(kBlock);
  std::vector<float> y(kBlock);
  std::vector<float> before(kBlock);
  std::vector<double> want(kBlock);
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32U);) {
    size_t count = 0;
    for (; count < kBlock && bits < (uint64_t{1} << 32U); bits += stride) {
      x[count++] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    }
    for (size_t i = 0; i < count; ++i) want[i] = function.truth(static_cast<double>(x[i]));
    Worst here;  // Of this block, by the set before.
    for (size_t set = 0; set < worst.size(); ++set) {
      const auto* variant =
          RunTable::of(static_cast<InstructionSet>(set)).find(function.body, ScalarType::kFloat);
      const char* in = reinterpret_cast<const char*>(x.data());
      variant->run(reinterpret_cast<char*>(y.data()), &in, static_cast<int64_t>(count));
      // Mostly the bits are those of the set before.
      if (set == 0 || std::memcmp(y.data(), before.data(), count * sizeof(float)) != 0) {
        before = y;
        here = {};
        for (size_t i = 0; i < count; ++i) {
          const double error = ulps(y[i], want[i]);
          if (error > here.error) here = {error, x[i]};
        }
      }
      if (here.error > worst[set].error) worst[set] = here;
    }
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t stride = argc > 1 ? std::max(1ULL, std::strtoull(argv[1], nullptr, 10)) : 1;
  const std::vector<std::string> wanted(argv + std::min(argc, 2), argv + argc);
  const InstructionSet most = tierup::kernels::instruction_set();
  constexpr const char* kNames[] = {"base", "avx2", "avx512"};
  bool good = true;
  for (const Function& function : kFunctions) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), function.name) == wanted.end())
      continue;
    const std::vector<Worst> worst = measure(function, stride, most);
    std::printf("%-8s", function.name);
    for (size_t set = 0; set < worst.size(); ++set) {
      std::printf("  %s %.3f at %.9g", kNames[set], worst[set].error,
                  static_cast<double>(worst[set].at));
      good = good && worst[set].error <= 2;
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
