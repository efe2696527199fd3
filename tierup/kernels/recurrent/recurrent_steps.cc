// Threads take rows of the batch through all steps, where a core keeps the weight; see
// recurrent_direction.cc.
#include "tierup/kernels/recurrent/recurrent_steps.h"

#include <algorithm>

#include "tierup/base/interrupt.h"
#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/recurrent/gates.h"
#include "tierup/kernels/recurrent/recurrent_direction.h"
#include "tierup/kernels/recurrent/recurrent_weights.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

void check(const Tensor& tensor, IntSpan sizes, const char* what) {
  if (!tensor.defined()) return;
  const IntSpan own = tensor.sizes();
  if (tensor.dtype() == ScalarType::kFloat && std::ranges::equal(own, sizes)) return;
  fail(kBad, "rnn steps: expected {} of float32 {}, got {}", what, shape_string(sizes),
       tensor.describe());
}

// The sizes that all tensors of a call agree in, and the tensors that both ways read, dense.
struct Steps {
  Steps(int64_t gate_count, const Tensor& gates_of_input, const Tensor& initial,
        const Tensor& weight, bool is_reversed)
      : reverse(is_reversed) {
    require(gates_of_input.dim() == 3 && initial.dim() == 2, kBad,
            "rnn steps: expected gates [T, B, *] and states [B, H]");
    count = gates_of_input.size(0);
    batch = initial.size(0);
    size = initial.size(1);
    width = gate_count * size;
    check(gates_of_input, IntVector{count, batch, width}, "gates");
    check(initial, IntVector{batch, size}, "states");
    check(weight, IntVector{width, size}, "a weight");
    gates = contiguous(gates_of_input);
    hidden = contiguous(initial);
    w_hh = contiguous(weight);
  }

  IntVector all_states() const { return {count, batch, size}; }
  int64_t states_of_step() const { return batch * size; }
  // The i-th step of the way there.
  int64_t step(int64_t i) const { return reverse ? count - 1 - i : i; }
  // What a step at this place starts from: states of the one before it, or the initial ones.
  const float* before(int64_t step, const Tensor& states, const Tensor& initial) const {
    const int64_t earlier = reverse ? step + 1 : step - 1;
    if (earlier < 0 || earlier >= count) return initial.data<float>();
    return states.data<float>() + earlier * states_of_step();
  }
  // Whether a core keeps the weight, so that threads go through all steps with rows of their own.
  bool may_part_rows() const {
    return static_cast<int64_t>(w_hh.bytes()) <= cache_sizes().second_level / 2;
  }
  // body(first, last) for parts of the batch.
  template <typename Body>
  void for_rows(const Body& body) const {
    if (!may_part_rows()) return body(int64_t{0}, batch);
    constexpr int64_t kWorkForOne = 65536;  // Less is done before another thread has begun.
    const int64_t work = std::max<int64_t>(1, count * width * size);
    parallel_for(0, batch, std::max<int64_t>(1, kWorkForOne / work), body);
  }
  // body(row) for rows of one step.
  template <typename Body>
  void for_gates(int64_t first, int64_t last, const Body& body) const {
    parallel_for(first, last, grain_of(2 * width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) body(r);
    });
  }
  // The step's last states, to keep beside all of them.
  Tensor last_of(const Tensor& states, const Tensor& initial) const {
    const Tensor last = Tensor::empty(IntVector{batch, size}, ScalarType::kFloat);
    const float* from = count == 0 ? initial.data<float>()
                                   : states.data<float>() + step(count - 1) * states_of_step();
    std::copy_n(from, states_of_step(), last.data<float>());
    return last;
  }

  int64_t count = 0;
  int64_t batch = 0;
  int64_t size = 0;
  int64_t width = 0;  // Of all gates.
  bool reverse;
  Tensor gates, hidden, w_hh;
};

// The outputs of all steps; `cells` is undefined but for an LSTM.
void run_steps(const Steps& s, GateRowFn gates_of, const Tensor& cell, const Tensor& b_hh,
               const Tensor& outputs, const Tensor& cells) {
  const auto panels = RecurrentWeights().panels_of(s.w_hh);
  const Tensor share = Tensor::empty(IntVector{s.batch, s.width}, ScalarType::kFloat);
  const float* bias = b_hh.defined() ? b_hh.data<float>() : nullptr;
  s.for_rows([&](int64_t first, int64_t last) {
    for (int64_t i = 0; i < s.count; ++i) {
      poll_interrupt();
      const int64_t t = s.step(i);
      const float* before = s.before(t, outputs, s.hidden);
      float* of_state = share.data<float>() + first * s.width;
      multiply_panels(last - first, s.size, s.width, before + first * s.size, panels.get(),
                      of_state);
      // The gates advance a state in place: an LSTM's cell, a GRU's output.
      const Tensor& advanced = cells.defined() ? cells : outputs;
      const float* from = cells.defined() ? s.before(t, cells, cell) : before;
      std::copy(from + first * s.size, from + last * s.size,
                advanced.data<float>() + t * s.states_of_step() + first * s.size);
      s.for_gates(first, last, [&](int64_t r) {
        const int64_t row = t * s.batch + r;
        gates_of({s.size, s.gates.data<float>() + row * s.width, of_state + (r - first) * s.width,
                  nullptr, bias, outputs.data<float>() + row * s.size,
                  cells.defined() ? cells.data<float>() + row * s.size : nullptr});
      });
    }
  });
}

// The states' share of all gates, [T, B, width], by one product over all steps but the first.
Tensor shares_of_states(const Steps& s, const Tensor& outputs) {
  const Tensor shares = Tensor::empty(IntVector{s.count, s.batch, s.width}, ScalarType::kFloat);
  if (s.count == 0) return shares;
  const int64_t others = s.count - 1;
  const int64_t each = s.batch * s.width;
  float* to = shares.data<float>();
  multiply_transposed(s.batch, s.hidden.data<float>(), s.w_hh, to + s.step(0) * each);
  const float* from = outputs.data<float>() + (s.reverse ? s.states_of_step() : 0);
  if (others > 0) multiply_transposed(others * s.batch, from, s.w_hh, to + (s.reverse ? 0 : each));
  return shares;
}

Tensor copied_or_zeros(const Tensor& tensor, const Steps& s) {
  if (tensor.defined()) return clone(tensor, MemoryFormat::kContiguous);
  const Tensor zeros = Tensor::empty(IntVector{s.batch, s.size}, ScalarType::kFloat);
  std::fill_n(zeros.data<float>(), s.states_of_step(), 0.0F);
  return zeros;
}

Tensor dense_if_defined(const Tensor& tensor) {
  return tensor.defined() ? contiguous(tensor) : tensor;
}

// Adds numbers, unless they are null.
void add_to(float* sum, const float* numbers, int64_t count) {
  if (numbers == nullptr) return;
  for (int64_t i = 0; i < count; ++i) sum[i] += numbers[i];
}

float* part_of(const Tensor& tensor, int64_t at) {
  return tensor.defined() ? tensor.data<float>() + at : nullptr;
}

// What the way back reads and writes; undefined what a kind of layer does not have.
struct BackTensors {
  Tensor grad_outputs, grad_cells;
  Tensor b_hh;
  Tensor states, initial;  // Which a step starts from: an LSTM's cells, a GRU's outputs.
  Tensor of_states;        // The states' share of the gates, then its gradient.
  Tensor of_input;         // GRU: the gradient of the input's share.
  Tensor carried;          // The gradient of the hidden state through the gates of later steps.
  Tensor passed;           // GRU: what passes by the gates.
  Tensor grad_cell;        // LSTM.
};

void run_back(const Steps& s, GateGradientRowFn gradients_of, const BackTensors& b) {
  const Tensor turned = clone(transpose(s.w_hh, 0, 1), MemoryFormat::kContiguous);
  const auto panels = RecurrentWeights().panels_of(turned);
  s.for_rows([&](int64_t first, int64_t last) {
    for (int64_t i = s.count - 1; i >= 0; --i) {
      poll_interrupt();
      const int64_t t = s.step(i);
      const float* before = s.before(t, b.states, b.initial);
      s.for_gates(first, last, [&](int64_t r) {
        const int64_t row = t * s.batch + r;
        add_to(part_of(b.grad_cell, r * s.size), part_of(b.grad_cells, row * s.size), s.size);
        gradients_of({s.size, part_of(s.gates, row * s.width), part_of(b.of_states, row * s.width),
                      part_of(b.b_hh, 0), part_of(b.of_input, row * s.width), before + r * s.size,
                      part_of(b.states, row * s.size), part_of(b.grad_outputs, row * s.size),
                      part_of(b.carried, r * s.size), part_of(b.passed, r * s.size),
                      part_of(b.grad_cell, r * s.size)});
      });
      multiply_panels(last - first, s.width, s.size,
                      part_of(b.of_states, (t * s.batch + first) * s.width), panels.get(),
                      part_of(b.carried, first * s.size));
    }
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_steps(const Tensor& gates, const Tensor& hidden,
                                                      const Tensor& cell, const Tensor& w_hh,
                                                      bool reverse) {
  const Steps s(4, gates, hidden, w_hh, reverse);
  check(cell, IntVector{s.batch, s.size}, "cells");
  const Tensor initial = contiguous(cell);
  const Tensor outputs = Tensor::empty(s.all_states(), ScalarType::kFloat);
  const Tensor cells = Tensor::empty(s.all_states(), ScalarType::kFloat);
  run_steps(s, gate_kernels().lstm, initial, Tensor(), outputs, cells);
  return {outputs, cells, s.last_of(outputs, s.hidden), s.last_of(cells, initial)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_steps_backward(
    const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& grad_hidden,
    const Tensor& grad_cell, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
    const Tensor& w_hh, const Tensor& outputs, const Tensor& cells, bool reverse) {
  const Steps s(4, gates, hidden, w_hh, reverse);
  check(cell, IntVector{s.batch, s.size}, "cells");
  for (const Tensor* states : {&grad_outputs, &grad_cells, &outputs, &cells})
    check(*states, s.all_states(), "states of all steps");
  for (const Tensor* last : {&grad_hidden, &grad_cell})
    check(*last, IntVector{s.batch, s.size}, "gradients of states");
  BackTensors b;
  b.grad_outputs = dense_if_defined(grad_outputs);
  b.grad_cells = dense_if_defined(grad_cells);
  b.states = contiguous(cells);
  b.initial = contiguous(cell);
  b.of_states = shares_of_states(s, contiguous(outputs));
  b.carried = copied_or_zeros(grad_hidden, s);
  b.grad_cell = copied_or_zeros(grad_cell, s);
  run_back(s, gate_kernels().lstm_back, b);
  return {b.of_states, b.carried, b.grad_cell};
}

std::tuple<Tensor, Tensor> gru_steps(const Tensor& gates, const Tensor& hidden, const Tensor& w_hh,
                                     const Tensor& b_hh, bool reverse) {
  const Steps s(3, gates, hidden, w_hh, reverse);
  check(b_hh, IntVector{s.width}, "a bias");
  const Tensor outputs = Tensor::empty(s.all_states(), ScalarType::kFloat);
  run_steps(s, gate_kernels().gru, Tensor(), dense_if_defined(b_hh), outputs, Tensor());
  return {outputs, s.last_of(outputs, s.hidden)};
}

std::tuple<Tensor, Tensor, Tensor> gru_steps_backward(const Tensor& grad_outputs,
                                                      const Tensor& grad_hidden,
                                                      const Tensor& gates, const Tensor& hidden,
                                                      const Tensor& w_hh, const Tensor& b_hh,
                                                      const Tensor& outputs, bool reverse) {
  const Steps s(3, gates, hidden, w_hh, reverse);
  check(b_hh, IntVector{s.width}, "a bias");
  for (const Tensor* states : {&grad_outputs, &outputs})
    check(*states, s.all_states(), "states of all steps");
  check(grad_hidden, IntVector{s.batch, s.size}, "gradients of states");
  BackTensors b;
  b.grad_outputs = dense_if_defined(grad_outputs);
  b.b_hh = dense_if_defined(b_hh);
  b.states = contiguous(outputs);
  b.initial = s.hidden;
  b.of_states = shares_of_states(s, b.states);
  b.of_input = Tensor::empty(IntVector{s.count, s.batch, s.width}, ScalarType::kFloat);
  b.carried = copied_or_zeros(grad_hidden, s);
  b.passed = copied_or_zeros(Tensor(), s);
  run_back(s, gate_kernels().gru_back, b);
  add_to(b.carried.data<float>(), b.passed.data<float>(), s.states_of_step());
  return {b.of_input, b.of_states, b.carried};
}

}  // namespace tierup::kernels
