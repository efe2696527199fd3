// Products of one row, or of few short ones, with a constant matrix. Where the matrix is small, a
// library's call costs more than the work: tier 0's own loop for a row does it, row by row. One row
// and a larger matrix, as in the steps of a recurrent loop, read the matrix once: packed for that,
// it comes at the speed of the cache. Where all weights together stay in no cache, few rows wait
// for memory however they lie: then they are read where they are unless a packed form is measured
// to be faster, and stand in memory once. What hangs on them is done on the result as it lies.
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/finished_rows.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels::net {
namespace {

BlockRun run_of(Body body) { return RunTable::instance().find(body, ScalarType::kFloat)->run; }

// Null for a function that is no body of one number.
BlockRun run_of(const Activation& activation) {
  const std::optional<Formula> formula = formula_of(activation);
  const bool is_body = formula && formula->size() == 1 && formula->front().operands.size() == 1;
  return is_body ? run_of(formula->front().body) : nullptr;
}

// Multiplications beyond which packed weights are faster than rows of them.
constexpr int64_t kMostWork = 16384;

bool has_own_epilogue(const Layer& layer) {
  return std::all_of(layer.epilogue.begin(), layer.epilogue.end(), [](const Epilogue& e) {
    return e.summand >= 0 || run_of(e.activation) != nullptr;
  });
}

}  // namespace

bool Emitter::is_row_product(const Layer& layer) const {
  const int64_t k = layer.weight.size(0);
  const int64_t n = layer.weight.size(1);
  const int64_t rows = numel_of(value(layer.inputs[0]).sizes) / k;
  return intra_op_threads() == 1 && is_row_work(rows, k, n) && rows * k * n <= kMostWork &&
         has_own_epilogue(layer);
}

// A larger matrix comes from memory anyhow, and is packed once for all numbers of rows.
bool Emitter::is_single_row(const Layer& layer) const {
  const int64_t numbers = layer.weight.numel();
  return numel_of(value(layer.inputs[0]).sizes) == layer.weight.size(0) && numbers > kMostWork &&
         numbers * static_cast<int64_t>(sizeof(float)) <= most_cached() && has_own_epilogue(layer);
}

bool Emitter::may_stay_in_place(const Layer& layer) const {
  const Tensor& weight = layer.weight;
  const int64_t rows = numel_of(value(layer.inputs[0]).sizes) / weight.size(0);
  const bool is_by_columns = weight.stride(0) == 1;
  const int64_t most = is_by_columns ? most_line_rows() : weight.stride(1) == 1 ? 1 : 0;
  return !stays_cached_ && rows <= most && weight.numel() > kMostWork && layer.scale.empty() &&
         has_own_epilogue(layer);
}

// `columns` of the product of some rows with a matrix that lies so; without its operands.
GemmProblem Emitter::rows_problem(const Layer& layer, int64_t rows, int64_t columns,
                                  const IntVector& strides) {
  GemmProblem problem;
  problem.m = rows;
  problem.n = columns;
  problem.k = layer.weight.size(0);
  problem.a = {nullptr, 0, problem.k, 1};
  problem.b = {nullptr, 0, strides[0], strides[1]};
  problem.c_row_stride = columns;
  return problem;
}

// By tier 0's product, and what hangs on it.
void Emitter::multiply_rows(const Layer& layer, const BufferLayout& weights,
                            const IntVector& strides) {
  const BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  const BufferLayout bias = vector_of(layer.weights_id * 2 + 1, folded_bias(layer));
  const BufferLayout target = fresh(row_major(value(layer.output).sizes));
  const GemmProblem problem =
      rows_problem(layer, product_problem(layer).rows(), layer.weight.size(1), strides);
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
  row_epilogue(layer, target);
  settle(layer.output, target);
}

void Emitter::product_in_place(const Layer& layer) {
  const Tensor& weight = layer.weight;
  auto* const numbers = static_cast<char*>(weight.raw());
  out_.blocks.emplace_back(numbers, [held = weight](char*) {});
  const IntVector strides(weight.strides().begin(), weight.strides().end());
  const memory::desc layout = strided(weight.sizes(), strides);
  multiply_rows(layer, {layout, constant_buffer(numbers, layout.get_size()), 0}, strides);
}

void Emitter::row_product(const Layer& layer) {
  const Tensor weight = scaled_weight(layer);
  // Rows of columns side by side need no turning; tier 0 sums in the same order however they lie.
  const IntVector strides{weight.size(1), 1};
  // Packed for primitives under another name, which must not take up this layout.
  const BufferLayout weights = packed(
      -1 - layer.weights_id, layer, [weight] { return weight; }, strided(weight.sizes(), strides),
      strided(weight.sizes(), weight.strides()));
  multiply_rows(layer, weights, strides);
}

bool Emitter::is_outer_product(const Layer& layer) const {
  return layer.weight.size(0) == 1 && store_steps(layer).has_value();
}

// Nothing is summed, and what hangs on it is done block by block.
void Emitter::outer_product(const Layer& layer) {
  const Tensor weight = scaled_weight(layer);
  const int64_t n = weight.size(1);
  std::vector<float> row(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    row[static_cast<size_t>(i)] = weight.data<float>()[i * weight.stride(1)];
  const BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  const BufferLayout weights = vector_of(-1 - layer.weights_id, row);
  const BufferLayout bias = vector_of(layer.weights_id * 2 + 1, folded_bias(layer));
  const FinishedRows finish = finished_in_place(layer, fresh(row_major(value(layer.output).sizes)));
  const int64_t rows = numel_of(value(layer.inputs[0]).sizes);
  act(
      [=](Bases bases) {
        const StepLoops loops = step_loops();
        const float* x = at(bases, source);
        finish.run(bases, rows, n, [&](int64_t first, int64_t count, float* to) {
          for (int64_t i = 0; i < count; ++i)
            loops.scale_and_add(x[first + i], at(bases, weights), at(bases, bias), n, to + i * n);
        });
      },
      {source, weights, bias, finish.summand, finish.target});
  settle(layer.output, finish.target);
}

void Emitter::single_row(const Layer& layer) {
  const int64_t k = layer.weight.size(0);
  const int64_t n = layer.weight.size(1);
  const BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  const memory::desc layout = row_major(IntVector{row_panel_count(n), k, kRowPanel});
  auto fill = [layer, k, n](char* to) {
    const Tensor weight = scaled_weight(layer);
    pack_row_panels(weight.data<float>(), weight.stride(0), weight.stride(1), k, n,
                    reinterpret_cast<float*>(to));
    return give_back_pages(layer.weight);
  };
  const BufferLayout weights =
      stored(-1 - layer.weights_id, layout, packed_name(layer, PackedForm::kRowPanels, layout),
             std::move(fill));
  const BufferLayout bias = vector_of(layer.weights_id * 2 + 1, folded_bias(layer));
  const BufferLayout target = fresh(row_major(value(layer.output).sizes));
  act(
      [=](Bases bases) {
        multiply_row_panels(k, n, at(bases, source), at(bases, weights), at(bases, bias),
                            at(bases, target));
      },
      {source, weights, bias, target});
  row_epilogue(layer, target);
  settle(layer.output, target);
}

// On the finished rows, as they lie.
void Emitter::row_epilogue(const Layer& layer, const BufferLayout& target) {
  const int64_t count = numel_of(value(layer.output).sizes);
  for (const Epilogue& e : layer.epilogue) {
    const bool adds = e.summand >= 0;
    const BufferLayout summand = adds ? place_in(e.summand, target.layout) : target;
    const BlockRun run = adds ? run_of(Body::kAdd) : run_of(e.activation);
    act(
        [=](Bases bases) {
          const char* const operands[] = {at<char>(bases, target), at<char>(bases, summand)};
          run(at<char>(bases, target), operands, count);
        },
        {target, summand});
  }
}

}  // namespace tierup::kernels::net
