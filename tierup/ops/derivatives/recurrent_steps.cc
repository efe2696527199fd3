// All steps of one direction of an LSTM or GRU layer (kernels/recurrent/recurrent_steps.h). Their
// gradients are rows again, whose own derivatives go step by step through what the kernels do at
// once: the states are made anew from the gates, so that outputs and cells, which are saved, carry
// none of the gradient.
#include "tierup/ops/derivatives/recurrent_terms.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

GradArg grad_or_none(GradContext& c, size_t result) {
  if (!c.has_grad(result)) return nullptr;
  return c.grad(result);
}
Term optional_term(GradContext& c, ArgIndex i) { return c.is_tensor(i) ? arg(c, i) : Term(); }
Term sum_of_defined(const Term& a, const Term& b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}

// States [B, H] as [1, B, H], and with the outputs but the last step's: what each step began with.
Term states_before(GradContext& c, const Term& initial, const Term& outputs, int64_t steps,
                   bool reverse) {
  const int64_t first = reverse ? 1 : 0;
  const Term others = outputs.then("aten::slice.Tensor", 0, first, first + steps - 1);
  const Term begin = unsqueeze(initial, 0);
  return joined(c, "aten::cat",
                reverse ? std::vector<Term>{others, begin} : std::vector<Term>{begin, others}, 0);
}
// The gradient of w_hh: one product over all steps.
Term weight_gradient(const Term& of_gates, const Term& states) {
  return matmul(turned(of_gates.then("aten::flatten.using_ints", 0, 1)),
                states.then("aten::flatten.using_ints", 0, 1));
}

// (gates, hidden, cell, w_hh, reverse) -> (outputs, cells, last hidden, last cell)
void lstm_steps(GradContext& c) {
  const bool reverse = c.bool_of("reverse");
  const std::vector<GradValue> back =
      c.ops(3, "tierup::lstm_steps_backward", grad_or_none(c, 0), grad_or_none(c, 1),
            grad_or_none(c, 2), grad_or_none(c, 3), c.arg("gates"), c.arg("hidden"), c.arg("cell"),
            c.arg("w_hh"), c.result(0), c.result(1), reverse);
  c.give("gates", [&] { return back[0]; });
  c.give("hidden", [&] { return back[1]; });
  c.give("cell", [&] { return back[2]; });
  c.give("w_hh", [&] {
    return weight_gradient({c, back[0]}, states_before(c, arg(c, "hidden"), result(c, 0),
                                                       c.size("gates", 0), reverse));
  });
}

// (gates, hidden, w_hh, b_hh, reverse) -> (outputs, last hidden)
void gru_steps(GradContext& c) {
  const bool reverse = c.bool_of("reverse");
  const std::vector<GradValue> back =
      c.ops(3, "tierup::gru_steps_backward", grad_or_none(c, 0), grad_or_none(c, 1), c.arg("gates"),
            c.arg("hidden"), c.arg("w_hh"), optional(c, "b_hh"), c.result(0), reverse);
  c.give("gates", [&] { return back[0]; });
  c.give("hidden", [&] { return back[2]; });
  c.give("w_hh", [&] {
    return weight_gradient({c, back[1]}, states_before(c, arg(c, "hidden"), result(c, 0),
                                                       c.size("gates", 0), reverse));
  });
  if (c.is_tensor("b_hh")) c.give("b_hh", [&] { return sum_over({c, back[1]}, {0, 1}, false); });
}

Term through_sigmoid(const Term& grad, const Term& y) { return grad * y * (1 - y); }
Term through_tanh(const Term& grad, const Term& y) { return grad * (1 - y * y); }

// The slices of an argument that may be None, which are then undefined.
std::vector<Term> optional_slices(GradContext& c, ArgIndex i, int64_t count) {
  if (!c.is_tensor(i)) return std::vector<Term>(static_cast<size_t>(count));
  return slices(arg(c, i), count);
}
size_t step_at(int64_t i, int64_t steps, bool reverse) {
  return static_cast<size_t>(reverse ? steps - 1 - i : i);
}

struct LstmStep {
  Term enters, stays, fresh, shows, before, shown;  // Gates; the cell before, tanh of it after.
};

void lstm_steps_backward(GradContext& c) {
  const bool reverse = c.bool_of("reverse");
  const int64_t steps = c.size("gates", 0);
  const Term w_hh = arg(c, "w_hh");
  const std::vector<Term> gates = slices(arg(c, "gates"), steps);
  std::vector<LstmStep> done(gates.size());
  Term h = arg(c, "hidden");
  Term cell = arg(c, "cell");
  for (int64_t i = 0; i < steps; ++i) {
    const size_t at = step_at(i, steps, reverse);
    const std::vector<Term> x = chunks(gates[at] + linear(h, w_hh, {}), 4);
    LstmStep& s = done[at];
    s = {sigmoid(x[0]), sigmoid(x[1]), tanh(x[2]), sigmoid(x[3]), cell, {}};
    cell = s.stays * cell + s.enters * s.fresh;
    s.shown = tanh(cell);
    h = s.shows * s.shown;
  }
  const std::vector<Term> of_outputs = optional_slices(c, "grad_outputs", steps);
  const std::vector<Term> of_cells = optional_slices(c, "grad_cells", steps);
  Term of_hidden = optional_term(c, "grad_hidden");
  Term of_cell = optional_term(c, "grad_cell");
  std::vector<Term> of_gates(gates.size());
  for (int64_t i = steps - 1; i >= 0; --i) {
    const size_t at = step_at(i, steps, reverse);
    const LstmStep& s = done[at];
    Term grad = sum_of_defined(of_hidden, of_outputs[at]);
    if (!grad.defined()) grad = zeros_like(h);
    of_cell = sum_of_defined(sum_of_defined(of_cell, of_cells[at]),
                             through_tanh(grad * s.shows, s.shown));
    of_gates[at] = joined(
        c, "aten::cat",
        {through_sigmoid(of_cell * s.fresh, s.enters), through_sigmoid(of_cell * s.before, s.stays),
         through_tanh(of_cell * s.enters, s.fresh), through_sigmoid(grad * s.shown, s.shows)},
        -1);
    of_hidden = matmul(of_gates[at], w_hh);
    of_cell = of_cell * s.stays;
  }
  c.set_result(0, stacked(c, of_gates));
  c.set_result(1, of_hidden);
  c.set_result(2, of_cell);
}

struct GruStep {
  Term reset, update, fresh, remembered, before;
};

void gru_steps_backward(GradContext& c) {
  const bool reverse = c.bool_of("reverse");
  const int64_t steps = c.size("gates", 0);
  const Term w_hh = arg(c, "w_hh");
  const Term b_hh = optional_term(c, "b_hh");
  const std::vector<Term> gates = slices(arg(c, "gates"), steps);
  std::vector<GruStep> done(gates.size());
  Term h = arg(c, "hidden");
  for (int64_t i = 0; i < steps; ++i) {
    const size_t at = step_at(i, steps, reverse);
    const std::vector<Term> x = chunks(gates[at], 3);
    const std::vector<Term> y = chunks(linear(h, w_hh, b_hh), 3);
    GruStep& s = done[at];
    s.reset = sigmoid(x[0] + y[0]);
    s.update = sigmoid(x[1] + y[1]);
    s.fresh = tanh(x[2] + s.reset * y[2]);
    s.remembered = y[2];
    s.before = h;
    h = (h - s.fresh) * s.update + s.fresh;
  }
  const std::vector<Term> of_outputs = optional_slices(c, "grad_outputs", steps);
  Term of_hidden = optional_term(c, "grad_hidden");
  std::vector<Term> of_gates(gates.size());
  std::vector<Term> of_states(gates.size());
  for (int64_t i = steps - 1; i >= 0; --i) {
    const size_t at = step_at(i, steps, reverse);
    const GruStep& s = done[at];
    Term grad = sum_of_defined(of_hidden, of_outputs[at]);
    if (!grad.defined()) grad = zeros_like(h);
    const Term of_fresh = through_tanh(grad * (1 - s.update), s.fresh);
    const Term of_update = through_sigmoid(grad * (s.before - s.fresh), s.update);
    const Term of_reset = through_sigmoid(of_fresh * s.remembered, s.reset);
    of_gates[at] = joined(c, "aten::cat", {of_reset, of_update, of_fresh}, -1);
    of_states[at] = joined(c, "aten::cat", {of_reset, of_update, of_fresh * s.reset}, -1);
    of_hidden = grad * s.update + matmul(of_states[at], w_hh);
  }
  c.set_result(0, stacked(c, of_gates));
  c.set_result(1, stacked(c, of_states));
  c.set_result(2, of_hidden);
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"tierup::lstm_steps", &lstm_steps},
    {"tierup::lstm_steps_backward", kDecomposed, &lstm_steps_backward},
    {"tierup::gru_steps", &gru_steps},
    {"tierup::gru_steps_backward", kDecomposed, &gru_steps_backward},
};

}  // namespace

std::span<const DerivativeRow> recurrent_steps_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
