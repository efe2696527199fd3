// Products of one row, or of few short ones, with a small constant matrix. There a library's call
// costs more than the work, so that tier 0's own loop for a row does it, row by row, and what hangs
// on it, on the result as it lies.
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/pointwise_runs.h"

namespace tierup::kernels::net {
namespace {

BlockRun run_of(Body body) { return RunTable::instance().find(body, ScalarType::kFloat)->run; }

// Null for a function that has no loop of its own.
BlockRun run_of(const Activation& activation) {
  switch (activation.function) {
    case Function::kRelu: return activation.alpha == 0 ? run_of(Body::kRelu) : nullptr;
    case Function::kSwish: return activation.alpha == 1 ? run_of(Body::kSilu) : nullptr;
    case Function::kHardswish: return run_of(Body::kHardswish);
    case Function::kSigmoid: return run_of(Body::kSigmoid);
    case Function::kTanh: return run_of(Body::kTanh);
    case Function::kGeluErf: return run_of(Body::kGeluErf);
    case Function::kGeluTanh: return run_of(Body::kGeluTanh);
    case Function::kElu:
    case Function::kClip:
    case Function::kLinear: return nullptr;
  }
  return nullptr;
}

}  // namespace

bool Emitter::is_row_product(const Layer& layer) const {
  constexpr int64_t kMostWork = 16384;  // Beyond, packed weights in a primitive are faster.
  const int64_t k = layer.weight.size(0);
  const int64_t n = layer.weight.size(1);
  const int64_t rows = numel_of(value(layer.inputs[0]).sizes) / k;
  return intra_op_threads() == 1 && is_row_work(rows, k, n) &&
         (rows == 1 || rows * k * n <= kMostWork) &&
         std::all_of(layer.epilogue.begin(), layer.epilogue.end(), [](const Epilogue& e) {
           return e.summand >= 0 || run_of(e.activation) != nullptr;
         });
}

void Emitter::row_product(const Layer& layer) {
  const int64_t k = layer.weight.size(0);
  const int64_t n = layer.weight.size(1);
  const int64_t rows = numel_of(value(layer.inputs[0]).sizes) / k;
  const Home source = home_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  const Tensor weight = scaled_weight(layer);
  // Rows of columns side by side need no turning; tier 0 sums in the same order however they lie.
  const IntVector strides{n, 1};
  // Packed for primitives under another name, which must not take up this layout.
  const Home weights = packed(-1 - layer.weights_id, weight, strided(weight.sizes(), strides),
                              strided(weight.sizes(), weight.strides()));
  const Home bias = vector_of(layer.weights_id * 2 + 1, folded_bias(layer));
  const Home target = fresh(row_major(value(layer.output).sizes));
  GemmProblem problem;
  problem.m = rows;
  problem.n = n;
  problem.k = k;
  problem.a = {nullptr, 0, k, 1};
  problem.b = {nullptr, 0, strides[0], strides[1]};
  problem.c_row_stride = n;
  act(
      [=](Bases bases) {
        GemmProblem product = problem;
        product.a.data = at(bases, source);
        product.b.data = at(bases, weights);
        product.bias = at(bases, bias);
        product.c = at(bases, target);
        gemm(product);
      },
      {source, weights, bias, target});
  for (const Epilogue& e : layer.epilogue) {
    const bool adds = e.summand >= 0;
    const Home summand = adds ? home_in(e.summand, target.layout) : target;
    const BlockRun run = adds ? run_of(Body::kAdd) : run_of(e.activation);
    act(
        [=](Bases bases) {
          const char* const operands[] = {at<char>(bases, target), at<char>(bases, summand)};
          run(at<char>(bases, target), operands, rows * n);
        },
        {target, summand});
  }
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
