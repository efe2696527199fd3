// Recurrent layers and cells. What an input adds to the gates is one product over all steps. LSTMs
// and GRUs in float32 then take all steps of a direction at once (recurrent_steps.cc), packed
// sequences padded behind their ends; all else goes step by step, so that the way back through time
// is the steps' own matter.
#include "tierup/ops/derivatives/recurrent_terms.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

enum class Cell : uint8_t { kTanh, kRelu, kLstm, kGru };

// Weights of one layer in one direction; biases and projection may be undefined.
struct Parameters {
  Term w_ih, w_hh, b_ih, b_hh, w_hr;
};
struct State {
  Term h, c;
};

State lstm_step(const Term& from_input, const State& before, const Parameters& p) {
  const std::vector<Term> gate = chunks(from_input + linear(before.h, p.w_hh, p.b_hh), 4);
  const Term cell = sigmoid(gate[1]) * before.c + sigmoid(gate[0]) * tanh(gate[2]);
  Term hidden = sigmoid(gate[3]) * tanh(cell);
  if (p.w_hr.defined()) hidden = linear(hidden, p.w_hr, {});
  return {hidden, cell};
}
State gru_step(const Term& from_input, const State& before, const Parameters& p) {
  const std::vector<Term> x = chunks(from_input, 3);
  const std::vector<Term> h = chunks(linear(before.h, p.w_hh, p.b_hh), 3);
  const Term reset = sigmoid(x[0] + h[0]);
  const Term update = sigmoid(x[1] + h[1]);
  const Term fresh = tanh(x[2] + reset * h[2]);
  return {(before.h - fresh) * update + fresh, {}};
}
// `from_input` is what the input adds to the gates, its bias included.
State step(Cell cell, const Term& from_input, const State& before, const Parameters& p) {
  if (cell == Cell::kLstm) return lstm_step(from_input, before, p);
  if (cell == Cell::kGru) return gru_step(from_input, before, p);
  const Term gates = from_input + linear(before.h, p.w_hh, p.b_hh);
  return {cell == Cell::kTanh ? tanh(gates) : gates.then("aten::relu"), {}};
}

// One layer in one direction over [steps, batch, *]; the outputs stand in the order of the steps.
std::vector<Term> run_steps(Cell cell, const Term& input, int64_t steps, bool backwards,
                            const Parameters& p, State& state) {
  const std::vector<Term> gates = slices(linear(input, p.w_ih, p.b_ih), steps);
  std::vector<Term> outputs(gates.size());
  for (int64_t i = 0; i < steps; ++i) {
    const auto at = static_cast<size_t>(backwards ? steps - 1 - i : i);
    state = step(cell, gates[at], state, p);
    outputs[at] = state.h;
  }
  return outputs;
}

// --- all steps at once: LSTMs without projection and GRUs, in float32

bool may_run_at_once(GradContext& c, Cell cell, ArgIndex params) {
  constexpr auto kFloat = ScalarType::kFloat;
  return (cell == Cell::kLstm || cell == Cell::kGru) && c.dtype(0) == kFloat &&
         c.dtype(params, 0) == kFloat;
}
// What the input adds to the gates, with all biases that are known before a step.
Term gates_at_once(Cell cell, const Term& input, const Parameters& p) {
  return linear(input, p.w_ih, cell == Cell::kLstm && p.b_ih.defined() ? p.b_ih + p.b_hh : p.b_ih);
}
// States [steps, batch, size] after each step; `cells` of an LSTM alone.
struct AllStates {
  Term outputs, cells;
};
// As run_steps, from gates_at_once.
AllStates run_steps_at_once(Cell cell, const Term& gates, bool backwards, const Parameters& p,
                            State& state) {
  GradContext& c = gates.context();
  if (cell == Cell::kLstm) {
    const std::vector<GradValue> made =
        c.ops(4, "tierup::lstm_steps", GradValue(gates), GradValue(state.h), GradValue(state.c),
              GradValue(p.w_hh), backwards);
    state = {{c, made[2]}, {c, made[3]}};
    return {{c, made[0]}, {c, made[1]}};
  }
  const std::vector<GradValue> made =
      c.ops(2, "tierup::gru_steps", GradValue(gates), GradValue(state.h), GradValue(p.w_hh),
            defined_or_none(p.b_hh), backwards);
  state.h = {c, made[1]};
  return {{c, made[0]}, {}};
}

// Parameters in the order of layers and directions.
class ParameterList {
 public:
  ParameterList(GradContext& c, ArgIndex list, bool has_biases, int64_t cells)
      : context_(c),
        list_(list),
        biased_(has_biases),
        each_(c.list_size(list) / static_cast<size_t>(cells)) {}
  Parameters at(int64_t cell) const {
    const size_t first = static_cast<size_t>(cell) * each_;
    Parameters p{get(first), get(first + 1), {}, {}, {}};
    if (biased_) {
      p.b_ih = get(first + 2);
      p.b_hh = get(first + 3);
    }
    if (each_ == (biased_ ? 5U : 3U)) p.w_hr = get(first + each_ - 1);
    return p;
  }
  // Of all gates together.
  int64_t gate_width(int64_t cell) const {
    return context_.shape(list_, static_cast<size_t>(cell) * each_)[0];
  }

 private:
  Term get(size_t k) const { return {context_, context_.arg(list_, k)}; }
  GradContext& context_;
  ArgIndex list_;
  bool biased_;
  size_t each_;
};

template <Cell kCell>
void layers(GradContext& c) {
  constexpr bool kIsLstm = kCell == Cell::kLstm;
  const bool batch_first = c.bool_of("batch_first");
  const int64_t directions = c.bool_of("bidirectional") ? 2 : 1;
  const int64_t count = c.int_of("num_layers");
  const double p = c.float_of("dropout");
  const ParameterList parameters(c, "params", c.bool_of("has_biases"), count * directions);
  const int64_t steps = c.size(0, batch_first ? 1 : 0);
  const bool is_at_once = may_run_at_once(c, kCell, "params");
  const Term hidden = kIsLstm ? arg(c, 1, 0) : arg(c, 1);
  Term x = batch_first ? transpose(arg(c, 0), 0, 1) : arg(c, 0);
  std::vector<Term> last_h;
  std::vector<Term> last_c;
  for (int64_t layer = 0; layer < count; ++layer) {
    std::vector<GradValue> sides;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t cell = layer * directions + d;
      State state{hidden.then("aten::select.int", 0, cell), {}};
      if (kIsLstm) state.c = arg(c, 1, 1).then("aten::select.int", 0, cell);
      const Parameters own = parameters.at(cell);
      sides.push_back(
          is_at_once && !own.w_hr.defined()
              ? run_steps_at_once(kCell, gates_at_once(kCell, x, own), d == 1, own, state).outputs
              : stacked(c, run_steps(kCell, x, steps, d == 1, own, state)));
      last_h.push_back(state.h);
      if (kIsLstm) last_c.push_back(state.c);
    }
    x = sides.size() == 1 ? Term(c, sides[0]) : call(c, "aten::cat", std::move(sides), -1);
    if (p > 0 && c.bool_of("train") && layer + 1 < count) x = x.then("aten::dropout", p, true);
  }
  c.set_result(0, batch_first ? transpose(x, 0, 1) : x);
  c.set_result(1, stacked(c, last_h));
  if (kIsLstm) c.set_result(2, stacked(c, last_c));
}

// --- sequences of different lengths, packed: of each step the rows of those that have one

// Which of [steps, batch] are in the sequences.
Term presence(const Term& batch_sizes, int64_t batch) {
  return less(call(batch_sizes.context(), "aten::arange", batch), unsqueeze(batch_sizes, 1));
}
// Where packed rows stand among the padded ones, [steps * batch], in the order of the steps.
Term packed_places(const Term& batch_sizes, int64_t batch) {
  const Term flat = reshape(presence(batch_sizes, batch), IntVector{-1});
  return reshape(flat.then("aten::nonzero"), IntVector{-1});
}
// [rows, width] as [steps, batch, width], zeros where there is none.
Term padded(const Term& rows, const Term& places, int64_t steps, int64_t batch, int64_t width) {
  const Term zeros = rows.then("aten::new_zeros", IntVector{steps * batch, width});
  return reshape(zeros.then("aten::index_add", 0, places, rows), IntVector{steps, batch, width});
}
Term packed(const Term& steps_first, const Term& places) {
  return steps_first.then("aten::flatten.using_ints", 0, 1).then("aten::index_select", 0, places);
}

// As run_steps; a sequence's state stays where it has no step.
std::vector<Term> run_present_steps(Cell cell, const Term& gates, const Term& present,
                                    int64_t steps, bool backwards, const Parameters& p,
                                    State& state) {
  const std::vector<Term> of_inputs = slices(gates, steps);
  std::vector<Term> outputs(of_inputs.size());
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = backwards ? steps - 1 - i : i;
    const Term has_step = unsqueeze(present.then("aten::select.int", 0, at), 1);
    const State next = step(cell, of_inputs[static_cast<size_t>(at)], state, p);
    state.h = choose(has_step, next.h, state.h);
    if (state.c.defined()) state.c = choose(has_step, next.c, state.c);
    outputs[static_cast<size_t>(at)] = state.h;
  }
  return outputs;
}

// The geometry of packed sequences among padded ones.
struct PackedSteps {
  PackedSteps(const Term& batch_sizes, int64_t step_count, int64_t row_count)
      : steps(step_count), batch(row_count), present(presence(batch_sizes, row_count)) {
    places = packed_places(batch_sizes, batch);
    const Term lengths = sum_over(present, {0}, false);
    ends = (lengths - 1) * batch + call(batch_sizes.context(), "aten::arange", batch);
    // A row at the step t of a sequence stands where its last step but t does.
    turned_places =
        ends.then("aten::index_select", 0, places.then("aten::remainder.Scalar", batch)) -
        (places - places.then("aten::remainder.Scalar", batch));
  }

  int64_t steps, batch;
  Term present;        // [steps, batch]
  Term places;         // Of packed rows among [steps * batch].
  Term turned_places;  // The same with each sequence turned round, its padding behind it again.
  Term ends;           // The last step of each sequence, [batch].
};

// One layer in one direction over packed rows: all steps go from the first to the last, over
// sequences turned round if need be, so that what comes behind a sequence's end never matters.
Term run_packed_at_once(Cell cell, const Term& input, const PackedSteps& packing, bool backwards,
                        const Parameters& p, int64_t width, State& state) {
  const Term& places = backwards ? packing.turned_places : packing.places;
  const Term gates =
      padded(gates_at_once(cell, input, p), places, packing.steps, packing.batch, width);
  const AllStates made = run_steps_at_once(cell, gates, false, p, state);
  state.h = packed(made.outputs, packing.ends);
  if (state.c.defined()) state.c = packed(made.cells, packing.ends);
  return packed(made.outputs, places);
}
Term run_packed_steps(Cell cell, const Term& input, const PackedSteps& packing, bool backwards,
                      const Parameters& p, int64_t width, State& state) {
  const Term gates =
      padded(linear(input, p.w_ih, p.b_ih), packing.places, packing.steps, packing.batch, width);
  const std::vector<Term> outputs =
      run_present_steps(cell, gates, packing.present, packing.steps, backwards, p, state);
  return packed(stacked(input.context(), outputs), packing.places);
}

// (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)
template <Cell kCell>
void packed_layers(GradContext& c) {
  constexpr bool kIsLstm = kCell == Cell::kLstm;
  const int64_t directions = c.bool_of("bidirectional") ? 2 : 1;
  const int64_t count = c.int_of("num_layers");
  const double p = c.float_of("dropout");
  const ParameterList parameters(c, "params", c.bool_of("has_biases"), count * directions);
  const bool is_at_once = may_run_at_once(c, kCell, "params");
  const Term hidden = kIsLstm ? arg(c, 2, 0) : arg(c, 2);
  const PackedSteps packing(arg(c, 1), c.size(1, 0), kIsLstm ? c.shape(2, 0)[1] : c.size(2, 1));
  Term x = arg(c, 0);
  std::vector<Term> last_h;
  std::vector<Term> last_c;
  for (int64_t layer = 0; layer < count; ++layer) {
    std::vector<GradValue> sides;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t cell = layer * directions + d;
      const Parameters own = parameters.at(cell);
      State state{hidden.then("aten::select.int", 0, cell), {}};
      if (kIsLstm) state.c = arg(c, 2, 1).then("aten::select.int", 0, cell);
      const auto run = is_at_once && !own.w_hr.defined() ? &run_packed_at_once : &run_packed_steps;
      sides.push_back(run(kCell, x, packing, d == 1, own, parameters.gate_width(cell), state));
      last_h.push_back(state.h);
      if (kIsLstm) last_c.push_back(state.c);
    }
    x = sides.size() == 1 ? Term(c, sides[0]) : call(c, "aten::cat", std::move(sides), -1);
    if (p > 0 && c.bool_of("train") && layer + 1 < count) x = x.then("aten::dropout", p, true);
  }
  c.set_result(0, x);
  c.set_result(1, stacked(c, last_h));
  if (kIsLstm) c.set_result(2, stacked(c, last_c));
}

void pack_padded_sequence(GradContext& c) {
  c.give(0, [&] {
    return call(c, "aten::_pack_padded_sequence_backward", c.grad(), c.sizes(0), c.result(1),
                c.bool_of("batch_first"));
  });
}
// (grad, input_size, batch_sizes, batch_first)
void pack_padded_sequence_backward(GradContext& c) {
  c.give(0, [&] {
    const int64_t batch = c.ints_of(1)[c.bool_of(3) ? 0 : 1];
    const Term steps_first = c.bool_of(3) ? transpose(grad(c), 0, 1) : grad(c);
    return packed(steps_first, packed_places(arg(c, 2), batch));
  });
}
// (data, batch_sizes, batch_first, padding_value, total_length)
void pad_packed_sequence(GradContext& c) {
  c.give(0, [&] {
    const bool batch_first = c.bool_of(2);
    const Term steps_first = batch_first ? transpose(grad(c), 0, 1) : grad(c);
    return packed(steps_first, packed_places(arg(c, 1), c.result_shape()[batch_first ? 0 : 1]));
  });
}

template <Cell kCell>
void one_cell(GradContext& c) {
  constexpr bool kIsLstm = kCell == Cell::kLstm;
  const auto bias = [&](const char* name) { return c.is_tensor(name) ? arg(c, name) : Term(); };
  const Parameters p{arg(c, "w_ih"), arg(c, "w_hh"), bias("b_ih"), bias("b_hh"), {}};
  State state{kIsLstm ? arg(c, 1, 0) : arg(c, 1), {}};
  if (kIsLstm) state.c = arg(c, 1, 1);
  state = step(kCell, linear(arg(c, 0), p.w_ih, p.b_ih), state, p);
  c.set_result(0, state.h);
  if (kIsLstm) c.set_result(1, state.c);
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::lstm.input", kDecomposed, &layers<Cell::kLstm>},
    {"aten::gru.input", kDecomposed, &layers<Cell::kGru>},
    {"aten::rnn_tanh.input", kDecomposed, &layers<Cell::kTanh>},
    {"aten::rnn_relu.input", kDecomposed, &layers<Cell::kRelu>},
    {"aten::lstm.data", kDecomposed, &packed_layers<Cell::kLstm>},
    {"aten::gru.data", kDecomposed, &packed_layers<Cell::kGru>},
    {"aten::rnn_tanh.data", kDecomposed, &packed_layers<Cell::kTanh>},
    {"aten::rnn_relu.data", kDecomposed, &packed_layers<Cell::kRelu>},
    {"aten::_pack_padded_sequence", &pack_padded_sequence, 0b10},
    {"aten::_pack_padded_sequence_backward", &pack_padded_sequence_backward},
    {"aten::_pad_packed_sequence", &pad_packed_sequence, 0b10},
    {"aten::lstm_cell", kDecomposed, &one_cell<Cell::kLstm>},
    {"aten::gru_cell", kDecomposed, &one_cell<Cell::kGru>},
    {"aten::rnn_tanh_cell", kDecomposed, &one_cell<Cell::kTanh>},
    {"aten::rnn_relu_cell", kDecomposed, &one_cell<Cell::kRelu>},
};

}  // namespace

std::span<const DerivativeRow> recurrent_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
