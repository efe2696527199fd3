// What our own kernels make of fixed numbers, a line each: "runs Exp float32 1a2b...". Two machines
// with the same instructions must print the same; run_emulated.sh compares an emulated processor
// with this one, lowered to the same level, and test_aarch64.sh NEON with AVX2. NaNs are alike;
// what a machine's own libraries compute is left to stand_in_functions.cc.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/net/convolution_fixture.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/panel_convolution.h"
#include "tierup/kernels/net/step_loops.h"
#include "tierup/kernels/net/winograd.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kCount = 4099;  // No multiple of any vector.

// Ordinary numbers, and now and then one that is at an end.
template <typename T>
T sample(uint64_t i) {
  const uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15U;
  if constexpr (std::is_same_v<T, bool>) {
    return (mixed >> 60) % 2 == 1;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>((mixed >> 32) % 19 + 1);  // No division by zero, no shift too far.
  } else {
    constexpr double kEnds[] = {0.0, -0.0, 1e-42, INFINITY, -INFINITY, NAN, 1e30, -1.0};
    if (i % 101 == 100) return static_cast<T>(kEnds[i / 101 % 8]);
    return static_cast<T>(static_cast<double>(mixed >> 11) * 0x1p-50 - 4.0);
  }
}

template <typename T>
void fill(std::vector<char>& bytes, uint64_t seed) {
  for (size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    const T value = sample<T>(i + seed * 100'003);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

std::vector<char> samples(ScalarType type, uint64_t seed) {
  std::vector<char> bytes(item_size(type) * kCount);
  switch (type) {
    case ScalarType::kByte: fill<uint8_t>(bytes, seed); break;
    case ScalarType::kChar: fill<int8_t>(bytes, seed); break;
    case ScalarType::kShort: fill<int16_t>(bytes, seed); break;
    case ScalarType::kInt: fill<int32_t>(bytes, seed); break;
    case ScalarType::kLong: fill<int64_t>(bytes, seed); break;
    case ScalarType::kFloat:
    case ScalarType::kComplexFloat: fill<float>(bytes, seed); break;
    case ScalarType::kDouble:
    case ScalarType::kComplexDouble: fill<double>(bytes, seed); break;
    case ScalarType::kBool: fill<bool>(bytes, seed); break;
    default: fail(ErrorCode::kUnsupported, "no samples of {}", dtype_name(type));
  }
  return bytes;
}

class Digest {
 public:
  void add(const void* bytes, size_t count) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < count; ++i) hash_ = (hash_ ^ at[i]) * 0x100000001b3U;
  }
  template <typename T>
  void add_numbers(const T* numbers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const T one = std::isnan(numbers[i]) ? std::numeric_limits<T>::quiet_NaN() : numbers[i];
      add(&one, sizeof(T));
    }
  }
  void print(const std::string& what) const { fmt::print("{} {:016x}\n", what, hash_); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325U;
};

void print_floats(const std::string& what, const float* numbers, int64_t count) {
  Digest digest;
  digest.add_numbers(numbers, static_cast<size_t>(count));
  digest.print(what);
}

void print_run(Body body, ScalarType type, const Variant& variant) {
  std::vector<std::vector<char>> inputs;
  const char* in[kMaxInputs] = {};
  for (size_t i = 0; i < variant.arity; ++i) {
    inputs.push_back(samples(variant.in[i], i));
    in[i] = inputs.back().data();
  }
  std::vector<char> out(item_size(variant.out) * kCount);
  variant.run(out.data(), in, kCount);
  Digest digest;
  switch (variant.out) {
    case ScalarType::kFloat:
    case ScalarType::kComplexFloat:
      digest.add_numbers(reinterpret_cast<const float*>(out.data()), out.size() / sizeof(float));
      break;
    case ScalarType::kDouble:
    case ScalarType::kComplexDouble:
      digest.add_numbers(reinterpret_cast<const double*>(out.data()), out.size() / sizeof(double));
      break;
    default: digest.add(out.data(), out.size());
  }
  digest.print(fmt::format("runs {} {}", body_name(body), dtype_name(type)));
}

void print_runs() {
  for (int body = 0; body < static_cast<int>(Body::kCount); ++body) {
    for (int type = 0; type <= static_cast<int>(ScalarType::kBool); ++type) {
      const auto which = static_cast<Body>(body);
      const auto compute = static_cast<ScalarType>(type);
      const Variant* variant = RunTable::instance().find(which, compute);
      if (variant != nullptr) print_run(which, compute, *variant);
    }
  }
}

void print_rows() {
  const RowKernels<float>& k = row_kernels<float>();
  for (const int64_t n : {1, 7, 16, 33, 1000}) {
    const std::vector<float> x = net::numbers(n, 5);
    const std::vector<float> gamma = net::numbers(n, 6);
    std::vector<float> y(static_cast<size_t>(n));
    const auto print = [&](const char* name) {
      print_floats(fmt::format("rows {} {}", name, n), y.data(), n);
    };
    k.softmax(x.data(), 1, n, y.data());
    print("softmax");
    k.log_softmax(x.data(), 1, n, y.data());
    print("log_softmax");
    k.normalize(x.data(), n, 0.1F, 1.3F, gamma.data(), x.data(), y.data());
    print("normalize");
    y = x;
    k.sigmoid(y.data(), n);
    print("sigmoid");
    y = x;
    k.tanh(y.data(), n);
    print("tanh");
    y = x;
    net::swish_in_place(y.data(), n);
    print("swish");
    float sums[3] = {};
    k.moments(x.data(), n, &sums[0], &sums[1]);
    sums[2] = k.sum_of_squares(x.data(), n);
    print_floats(fmt::format("rows sums {}", n), sums, 3);
  }
}

template <typename T>
void print_product(ScalarType dtype, int64_t m, int64_t n, int64_t k) {
  std::vector<char> bytes(sizeof(T) * static_cast<size_t>(k * (m + n)));
  for (size_t i = 0; i < static_cast<size_t>(k * (m + n)); ++i) {
    const auto value = static_cast<T>(static_cast<double>(i * 7919 % 1009) / 1009 - 0.5);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  std::vector<T> c(static_cast<size_t>(m * n));
  GemmProblem problem;
  problem.dtype = dtype;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.a = {bytes.data(), 0, k, 1};
  problem.b = {bytes.data() + sizeof(T) * static_cast<size_t>(m * k), 0, n, 1};
  problem.c = c.data();
  problem.c_row_stride = n;
  gemm(problem);
  Digest digest;
  digest.add_numbers(c.data(), c.size());
  digest.print(fmt::format("product {} {}x{}x{}", dtype_name(dtype), m, n, k));
}

void print_convolutions() {
  const auto memory = [](int64_t count, uint32_t seed) {
    return net::block_of(net::numbers(count, seed));
  };
  for (const int tile : {2, 4}) {
    const net::Winograd p{1, 13, 11, 48, 13, 11, 64, 1, 1, tile};
    const net::WinogradPlan plan = net::plan_winograd(p, 1);
    const auto weights = memory(net::winograd_weight_count(p), 0);
    net::pack_winograd_weight(p, net::numbers(64 * 48 * 9, 2).data(), nullptr,
                              net::floats(weights));
    const auto target = memory(p.target_count(), 4);
    const auto scratch = memory(plan.scratch(), 5);
    net::run_winograd(p, plan, net::floats(memory(p.source_count(), 1)), net::floats(weights),
                      net::floats(memory(64, 3)), {}, net::floats(target), net::floats(scratch));
    print_floats(fmt::format("winograd {}", tile), net::floats(target), p.target_count());
  }
  const net::PanelConvolution p = net::panel_product_problem(37, 200, 96);
  const net::ConvolutionPlan plan = net::plan_convolution(p, 1);
  const auto weights = memory(net::convolution_weight_count(p), 0);
  net::pack_product_weight(p, net::numbers(200 * 96, 2).data(), 96, 1, net::floats(weights));
  const auto target = memory(p.target_count(), 4);
  const auto scratch = memory(plan.scratch(), 5);
  net::run_convolution(p, plan, net::floats(memory(p.source_count(), 1)), net::floats(weights),
                       net::floats(memory(96, 3)), {}, net::floats(target), net::floats(scratch));
  print_floats("panels", net::floats(target), p.target_count());
}

}  // namespace
}  // namespace tierup::kernels

int main() {
  const tierup::ThreadCountScope one(1);
  tierup::kernels::print_runs();
  tierup::kernels::print_rows();
  tierup::kernels::print_product<float>(tierup::ScalarType::kFloat, 1, 77, 50);
  tierup::kernels::print_product<float>(tierup::ScalarType::kFloat, 5, 9, 14);
  tierup::kernels::print_product<double>(tierup::ScalarType::kDouble, 33, 41, 29);
  tierup::kernels::print_convolutions();
}
