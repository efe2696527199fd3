// Micro-benchmarks of the kernels that most models spend their time in, on all usable cores.
//
// FLOPS counts a multiplication and an addition as two; bytes are those of the tensors read and
// written, whether or not they come from a cache.
#include <benchmark/benchmark.h>

#include "tierup/base/parallel.h"
#include "tierup/kernels/attention/attention.h"
#include "tierup/kernels/convolution/convolution.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/norm/layer_norm.h"
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_sum.h"

namespace tierup::kernels {
namespace {

// Numbers between -1 and 1 without a pattern that a kernel could profit from.
Tensor numbers(std::initializer_list<int64_t> sizes) {
  const Tensor tensor = Tensor::empty(IntVector(sizes), ScalarType::kFloat);
  auto* data = tensor.data<float>();
  uint32_t state = 1;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    data[i] = static_cast<float>(state >> 8) / static_cast<float>(1U << 23) - 1.0F;
  }
  return tensor;
}

using benchmark::Counter;

// Calls `call` until the time is up; `flops` and `bytes` of one call (0: not told).
template <typename Call>
void repeat(benchmark::State& state, double flops, double bytes, const Call& call) {
  const ThreadCountScope threads(0);
  for (auto _ : state) benchmark::DoNotOptimize(call());
  const auto rate = Counter::kIsIterationInvariantRate;
  if (flops > 0) state.counters["FLOPS"] = Counter(flops, rate);
  if (bytes > 0) state.counters["bytes"] = Counter(bytes, rate, Counter::kIs1024);
}

double bytes_of(std::initializer_list<Tensor> tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<double>(tensor.bytes());
  return bytes;
}

// [m, k] x [k, n].
void product(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  const Tensor a = numbers({m, k});
  const Tensor b = numbers({k, n});
  repeat(state, 2.0 * static_cast<double>(m * k * n), 0, [&] { return mm(a, b); });
}
BENCHMARK(product)
    ->ArgNames({"m", "k", "n"})
    ->Args({1, 768, 3072})
    ->Args({8, 64, 64})
    ->Args({128, 768, 768})
    ->Args({128, 768, 3072})
    ->Args({1024, 1024, 1024})
    ->UseRealTime();

// [1, channels, size, size] by square windows, "same" padding.
void convolution(benchmark::State& state) {
  const int64_t channels = state.range(0);
  const int64_t size = state.range(1);
  const int64_t window = state.range(2);
  const int64_t groups = state.range(3) == 0 ? 1 : channels;
  const Tensor x = numbers({1, channels, size, size});
  const Tensor weight = numbers({channels, channels / groups, window, window});
  const Tensor bias = numbers({channels});
  const IntVector ones = {1, 1};
  const IntVector padding = {window / 2, window / 2};
  const double flops = 2.0 * static_cast<double>(weight.numel() * size * size);
  repeat(state, flops, 0, [&] { return conv(x, weight, bias, ones, padding, ones, groups); });
}
BENCHMARK(convolution)
    ->ArgNames({"channels", "size", "window", "depthwise"})
    ->Args({64, 56, 3, 0})
    ->Args({64, 56, 1, 0})
    ->Args({256, 14, 3, 0})
    ->Args({96, 56, 3, 1})
    ->Args({96, 56, 7, 1})
    ->UseRealTime();

// Heads of 64: `keys` of them for each of `kv` heads, under as many heads of queries.
void attention_heads(benchmark::State& state) {
  const int64_t heads = state.range(0);
  const int64_t queries = state.range(1);
  const int64_t keys = state.range(2);
  const int64_t groups = state.range(3);
  const Tensor q = numbers({1, heads, queries, 64});
  const Tensor k = numbers({1, heads / groups, keys, 64});
  const Tensor v = numbers({1, heads / groups, keys, 64});
  const AttentionOptions options{state.range(4) != 0, std::nullopt, groups > 1};
  const double flops = 4.0 * static_cast<double>(heads * queries * keys * 64);
  repeat(state, flops, bytes_of({k, v}), [&] { return attention(q, k, v, Tensor(), options); });
}
BENCHMARK(attention_heads)
    ->ArgNames({"heads", "queries", "keys", "group", "causal"})
    ->Args({12, 16, 16, 1, 0})
    ->Args({12, 128, 128, 1, 0})
    ->Args({12, 512, 512, 1, 0})
    ->Args({8, 1500, 1500, 1, 0})
    ->Args({8, 4096, 4096, 1, 0})
    ->Args({12, 512, 512, 1, 1})
    ->Args({12, 1, 256, 1, 0})
    ->Args({12, 1, 1024, 1, 0})
    ->Args({12, 1, 4096, 1, 0})
    ->Args({32, 1, 1024, 4, 0})
    ->UseRealTime();

// Over the last of two dimensions.
void softmax_rows(benchmark::State& state) {
  const Tensor x = numbers({state.range(0), state.range(1)});
  repeat(state, 0, bytes_of({x, x}), [&] { return softmax(x, -1, std::nullopt); });
}
BENCHMARK(softmax_rows)
    ->ArgNames({"rows", "columns"})
    ->Args({1, 1000})
    ->Args({1536, 128})
    ->Args({64, 50257})
    ->UseRealTime();

void layer_norm_rows(benchmark::State& state) {
  const int64_t columns = state.range(1);
  const Tensor x = numbers({state.range(0), columns});
  const Tensor weight = numbers({columns});
  const Tensor bias = numbers({columns});
  repeat(state, 0, bytes_of({x, x}), [&] { return layer_norm(x, {columns}, weight, bias, 1e-5); });
}
BENCHMARK(layer_norm_rows)
    ->ArgNames({"rows", "columns"})
    ->Args({128, 768})
    ->Args({4096, 96})
    ->UseRealTime();

// Of a square matrix: over both dimensions, the last, the first.
void sum_over(benchmark::State& state) {
  const Tensor x = numbers({state.range(0), state.range(0)});
  const ReduceDims dims[] = {std::nullopt, IntVector{1}, IntVector{0}};
  const ReduceDims& over = dims[state.range(1)];
  repeat(state, 0, bytes_of({x}), [&] { return sum(x, over, false, std::nullopt); });
}
BENCHMARK(sum_over)
    ->ArgNames({"side", "dims"})
    ->ArgsProduct({{256, 2048}, {0, 1, 2}})
    ->UseRealTime();

void mean_of_planes(benchmark::State& state) {
  const Tensor x = numbers({1, state.range(0), state.range(1), state.range(1)});
  repeat(state, 0, bytes_of({x}), [&] { return mean(x, IntVector{2, 3}, true, std::nullopt); });
}
BENCHMARK(mean_of_planes)->ArgNames({"channels", "size"})->Args({1280, 7})->UseRealTime();

// Point-wise operators over so many elements.
template <typename Call>
void pointwise_call(benchmark::State& state, int inputs, const Call& call) {
  const Tensor x = numbers({state.range(0)});
  repeat(state, 0, static_cast<double>(inputs + 1) * bytes_of({x}), [&] { return call(x); });
}
void add_tensors(benchmark::State& state) {
  pointwise_call(state, 2, [](const Tensor& x) { return evaluate(add(x, x, Scalar(1))); });
}
void add_a_row(benchmark::State& state) {
  const int64_t columns = 768;
  const Tensor x = numbers({state.range(0) / columns, columns});
  const Tensor row = numbers({columns});
  repeat(state, 0, bytes_of({x, x}), [&] { return evaluate(add(x, row, Scalar(1))); });
}
void relu_of(benchmark::State& state) {
  pointwise_call(state, 1, [](const Tensor& x) { return evaluate(clamp_min(x, Scalar(0))); });
}
void exponential_of(benchmark::State& state) {
  const PointwiseOp op{Body::kExp, Promote::kFloating};
  pointwise_call(state, 1, [&](const Tensor& x) { return pointwise(op, {x}); });
}
void tanh_of(benchmark::State& state) {
  const PointwiseOp op{Body::kTanh, Promote::kFloating};
  pointwise_call(state, 1, [&](const Tensor& x) { return pointwise(op, {x}); });
}
BENCHMARK(add_tensors)->Arg(64)->Arg(98304)->Arg(1 << 22)->UseRealTime();
BENCHMARK(add_a_row)->Arg(98304)->UseRealTime();
BENCHMARK(relu_of)->Arg(98304)->UseRealTime();
BENCHMARK(exponential_of)->Arg(98304)->Arg(1 << 22)->UseRealTime();
BENCHMARK(tanh_of)->Arg(98304)->UseRealTime();

}  // namespace
}  // namespace tierup::kernels
