// The input's share of all gates is one product over all steps; each step then adds its state's
// share, by a weight packed once, and runs the gates. Where a core keeps that weight, each thread
// goes through all steps with rows of its own: threads that shared out every step would wait for
// one another twice a step, for longer than most steps take.
#include "tierup/kernels/recurrent/recurrent_direction.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "tierup/base/interrupt.h"
#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/recurrent/gates.h"
#include "tierup/kernels/recurrent/recurrent_weights.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// The sum of two biases, or the one that is there.
template <typename T>
Tensor sum_of_biases(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  const Tensor sum = Tensor::empty(a.sizes(), a.dtype());
  for (int64_t j = 0; j < a.numel(); ++j) sum.data<T>()[j] = a.data<T>()[j] + b.data<T>()[j];
  return sum;
}

template <typename T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// One sequence position of one row in f64, by the operations of gates.h.
void run_gates(RecurrentKind kind, int64_t size, const double* input, const double* state,
               const double* bias, const double* state_bias, double* hidden, double* cell) {
  const auto plain = [](const double* from, int64_t at) { return from == nullptr ? 0 : from[at]; };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (int64_t j = 0; j < size; ++j) {
    const auto gate = [&](int64_t index) {
      const int64_t at = index * size + j;
      return input[at] + plain(bias, at) + state[at] + plain(state_bias, at);
    };
    switch (kind) {
      case RecurrentKind::kLstm:
        cell[j] = sigmoid(gate(1)) * cell[j] + sigmoid(gate(0)) * std::tanh(gate(2));
        hidden[j] = sigmoid(gate(3)) * std::tanh(cell[j]);
        break;
      case RecurrentKind::kGru: {
        const int64_t at = 2 * size + j;
        const double fresh = std::tanh(input[at] + plain(bias, at) +
                                       sigmoid(gate(0)) * (state[at] + plain(state_bias, at)));
        hidden[j] = (hidden[j] - fresh) * sigmoid(gate(1)) + fresh;
        break;
      }
      case RecurrentKind::kTanh: hidden[j] = std::tanh(gate(0)); break;
      case RecurrentKind::kRelu: hidden[j] = gate(0) < 0 ? 0 : gate(0); break;
    }
  }
}

void run_gates(RecurrentKind kind, int64_t size, const float* input, const float* state,
               const float* bias, const float* state_bias, float* hidden, float* cell) {
  const GateKernels kernels = gate_kernels();
  const GateRow row{size, input, state, bias, state_bias, hidden, cell};
  switch (kind) {
    case RecurrentKind::kLstm: return kernels.lstm(row);
    case RecurrentKind::kGru: return kernels.gru(row);
    case RecurrentKind::kTanh: return kernels.tanh(row);
    case RecurrentKind::kRelu: return kernels.relu(row);
  }
}

template <typename T>
class Direction {
 public:
  Direction(RecurrentKind kind, const LayerWeights& weights, const LayerState& state,
            RecurrentWeights* packed)
      : kind_(kind),
        w_(weights),
        state_(state),
        packed_(weights.are_given ? packed : nullptr),
        width_(weights.w_hh.size(0)),
        size_(width_ / gates_of(kind)) {
    const bool is_gru = kind == RecurrentKind::kGru;
    bias_ = is_gru ? w_.b_ih : sum_of_biases<T>(w_.b_ih, w_.b_hh);
    if (is_gru) state_bias_ = w_.b_hh;
  }

  void run(const Tensor& rows, const std::vector<int64_t>& batch_sizes, bool reverse,
           const Tensor& output, int64_t column) {
    const Tensor gates = input_gates(rows);
    keep_state_weight(batch_sizes.size());
    const int64_t most = batch_sizes.empty() ? 0 : batch_sizes[0];
    const Tensor state_gates = Tensor::empty(IntVector{most, width_}, rows.dtype());
    const Steps steps{
        batch_sizes,   reverse, gates.data<T>(), state_gates.data<T>(), output.data<T>() + column,
        output.size(1)};
    if (!may_part_rows(batch_sizes.size())) return run_steps(steps, 0, most);
    constexpr int64_t kWorkForOne = 65536;  // Less is done before another thread has begun.
    const int64_t row_work =
        std::max<int64_t>(1, rows.size(0) / std::max<int64_t>(1, most)) * w_.w_hh.size(1) * width_;
    parallel_for(0, most, std::max<int64_t>(1, kWorkForOne / std::max<int64_t>(1, row_work)),
                 [&](int64_t begin, int64_t end) { run_steps(steps, begin, end); });
  }

 private:
  struct Steps {
    const std::vector<int64_t>& batch_sizes;
    bool reverse;
    const T* gates;  // Of the input, for all steps' rows.
    T* state_gates;  // Of the state, for one step's.
    T* output;
    int64_t output_stride;
  };

  // Rows depend on themselves alone, unless a projection goes through a library's product. Then a
  // core reads the whole weight in each step instead of a part, which pays where it is at hand.
  bool may_part_rows(size_t steps) const {
    return steps > 1 && state_panels_ != nullptr && !state_.unprojected.defined() &&
           static_cast<int64_t>(w_.w_hh.bytes()) <= cache_sizes().second_level / 2;
  }

  // All steps of the batch's rows from `first` to `last`.
  void run_steps(const Steps& steps, int64_t first, int64_t last) const {
    const std::vector<int64_t>& sizes = steps.batch_sizes;
    int64_t offset = steps.reverse ? std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) : 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      poll_interrupt();
      const int64_t size = sizes[steps.reverse ? sizes.size() - 1 - i : i];
      if (steps.reverse) offset -= size;
      if (const int64_t count = std::min(size, last) - first; count > 0) {
        const int64_t row = offset + first;
        step(first, count, steps.gates + row * width_, steps.state_gates + first * width_);
        const int64_t out_size = state_.hidden.size(1);
        const T* hidden = state_.hidden.data<T>() + first * out_size;
        T* target = steps.output + row * steps.output_stride;
        for (int64_t r = 0; r < count; ++r)
          std::copy_n(hidden + r * out_size, out_size, target + r * steps.output_stride);
      }
      if (!steps.reverse) offset += size;
    }
  }

  // Without biases. Rows that would not stay near while the panels pass by are a product of a
  // library's.
  Tensor input_gates(const Tensor& rows) const {
    if constexpr (std::is_same_v<T, float>) {
      if (packed_ != nullptr && rows.bytes() <= static_cast<size_t>(cache_sizes().second_level)) {
        const auto panels = packed_->panels_of(w_.w_ih);
        const Tensor gates = Tensor::empty(IntVector{rows.size(0), width_}, rows.dtype());
        multiply_panels(rows.size(0), rows.size(1), width_, rows.data<float>(), panels.get(),
                        gates.data<float>());
        return gates;
      }
    }
    return linear(rows, w_.w_ih, Tensor());
  }

  void keep_state_weight(size_t steps) {
    if constexpr (std::is_same_v<T, float>) {
      if (packed_ != nullptr) {
        state_panels_ = packed_->panels_of(w_.w_hh);
      } else if (steps > 1) {
        state_panels_ = RecurrentWeights().panels_of(w_.w_hh);
      }
    }
  }

  // `rows` rows of the state from `first` on.
  void step(int64_t first, int64_t rows, const T* gates, T* state_gates) const {
    T* hidden = state_.hidden.data<T>() + first * state_.hidden.size(1);
    T* stepped = state_.unprojected.defined() ? state_.unprojected.data<T>() : hidden;
    multiply_state(rows, hidden, state_gates);
    const T* bias = data_or_null<T>(bias_);
    const T* state_bias = data_or_null<T>(state_bias_);
    T* cell = state_.cell.defined() ? state_.cell.data<T>() + first * size_ : nullptr;
    parallel_for(0, rows, grain_of(2 * width_), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        run_gates(kind_, size_, gates + r * width_, state_gates + r * width_, bias, state_bias,
                  stepped + r * size_, cell == nullptr ? nullptr : cell + r * size_);
      }
    });
    if (state_.unprojected.defined()) multiply_transposed(rows, stepped, w_.w_hr, hidden);
  }

  // A product of few rows packs, or turns, the whole matrix each time, which takes longer than the
  // product.
  void multiply_state(int64_t rows, const T* hidden, T* out) const {
    if constexpr (std::is_same_v<T, float>) {
      if (state_panels_ != nullptr) {
        return multiply_panels(rows, w_.w_hh.size(1), width_, hidden, state_panels_.get(), out);
      }
    }
    multiply_transposed(rows, hidden, w_.w_hh, out);
  }

  const RecurrentKind kind_;
  const LayerWeights& w_;
  const LayerState& state_;
  RecurrentWeights* const packed_;
  const int64_t width_;  // Of all gates.
  const int64_t size_;
  Tensor bias_, state_bias_;
  std::shared_ptr<const float[]> state_panels_;
};

}  // namespace

GateKernels gate_kernels() {
  return TIERUP_VARIANT(instruction_set(), gate_kernels_base, gate_kernels_avx2,
                        gate_kernels_avx512)();
}

int64_t gates_of(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::kLstm: return 4;
    case RecurrentKind::kGru: return 3;
    default: return 1;
  }
}

void run_direction(RecurrentKind kind, const LayerWeights& weights, const Tensor& rows,
                   const std::vector<int64_t>& batch_sizes, bool reverse, const LayerState& state,
                   const Tensor& output, int64_t column, RecurrentWeights* packed) {
  dispatch_work(rows.dtype(), "rnn", [&]<typename Tag>(Tag) {
    Direction<typename Tag::type>(kind, weights, state, packed)
        .run(rows, batch_sizes, reverse, output, column);
  });
}

}  // namespace tierup::kernels
