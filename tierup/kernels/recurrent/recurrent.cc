// Directions run beside each other where that uses the threads better. Padded and packed sequences
// are one case: the rows of a step are consecutive, and the state is a matrix of which a step uses
// the first rows.
#include "tierup/kernels/recurrent/recurrent.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/random/drop_elements.h"
#include "tierup/kernels/recurrent/recurrent_direction.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

void check_weights(RecurrentKind kind, const LayerWeights& w, const Tensor& rows,
                   const LayerState& s) {
  const int64_t gates = gates_of(kind);
  const int64_t size = s.cell.defined() ? s.cell.size(1) : s.hidden.size(1);
  if (!(w.w_ih.dim() == 2 && w.w_hh.dim() == 2 && w.w_ih.size(0) == gates * size &&
        w.w_hh.size(0) == gates * size && w.w_hh.size(1) == s.hidden.size(1))) {
    fail(kBad, "rnn: weights {} and {} do not fit a hidden size of {}",
         shape_string(w.w_ih.sizes()), shape_string(w.w_hh.sizes()), size);
  }
  require(rows.size(1) == w.w_ih.size(1), kBad,
          "input.size(-1) must be equal to input_size. Expected {}, got {}", w.w_ih.size(1),
          rows.size(1));
  for (const Tensor* bias : {&w.b_ih, &w.b_hh}) {
    require(!bias->defined() || (bias->dim() == 1 && bias->numel() == gates * size), kBad,
            "rnn: expected biases of {} elements", gates * size);
  }
  require(!w.w_hr.defined() ||
              (w.w_hr.dim() == 2 && w.w_hr.size(0) == s.hidden.size(1) && w.w_hr.size(1) == size),
          kBad, "rnn: the projection's weight does not fit the hidden size");
}

Tensor layer_slice(const Tensor& states, int64_t index, ScalarType work) {
  const IntSpan sizes = states.sizes().subspan(1);
  const Tensor slice = states.as_view(sizes, states.strides().subspan(1),
                                      states.offset() + index * states.stride(0));
  return clone(to_dtype(slice, work), MemoryFormat::kContiguous);
}

bool are_same(const LayerWeights& w, const Tensor& w_ih, const Tensor& w_hh) {
  return w.w_ih.raw() == w_ih.raw() && w.w_hh.raw() == w_hh.raw();
}

LayerWeights layer_weights(const std::vector<Tensor>& params, const RecurrentOptions& o,
                           bool projected, int64_t index, ScalarType work) {
  const size_t each = 2 + (o.has_biases ? 2 : 0) + (projected ? 1 : 0);
  const size_t first = static_cast<size_t>(index) * each;
  LayerWeights w;
  w.w_ih = as_work(params[first], work);
  w.w_hh = as_work(params[first + 1], work);
  w.are_given = are_same(w, params[first], params[first + 1]);
  if (o.has_biases) {
    w.b_ih = as_work(params[first + 2], work);
    w.b_hh = as_work(params[first + 3], work);
  }
  if (projected) w.w_hr = as_work(params[first + each - 1], work);
  return w;
}

void check_states(const Tensor& hidden, const Tensor& cell, const std::vector<Tensor>& params,
                  const RecurrentOptions& o, int64_t batch, bool projected) {
  require(o.num_layers > 0 && o.num_layers <= static_cast<int64_t>(params.size()), kBad,
          "rnn: {} parameters do not make {} layers", params.size(), o.num_layers);
  const int64_t count = o.num_layers * (o.bidirectional ? 2 : 1);
  const size_t each = 2 + (o.has_biases ? 2 : 0) + (projected ? 1 : 0);
  require(params.size() == static_cast<size_t>(count) * each, kBad,
          "rnn: expected {} parameters for {} layers, got {}", static_cast<size_t>(count) * each,
          o.num_layers, params.size());
  for (const Tensor* state : {&hidden, &cell}) {
    if (!state->defined()) continue;
    if (!(state->dim() == 3 && state->size(0) == count && state->size(1) == batch)) {
      fail(kBad, "Expected hidden size ({}, {}, *), got {}", count, batch,
           shape_string(state->sizes()));
    }
  }
}

// What all layers of one call share.
struct LayersRun {
  const std::vector<int64_t>& batch_sizes;
  const Tensor& hidden;
  const Tensor& cell;
  const std::vector<Tensor>& params;
  const RecurrentOptions& options;
  bool projected;
  RecurrentResult& result;

  int64_t directions() const { return options.bidirectional ? 2 : 1; }
};

// Whether the directions of a layer run beside each other: there is a thread for each and none
// beyond, or the products of a step are too small to be shared.
bool runs_directions_apart(const LayersRun& run) {
  const int threads = intra_op_threads();
  if (threads < run.directions()) return false;
  constexpr int64_t kWorkOfAStep = 65536;  // Multiplications that a second thread is worth.
  const int64_t rows = run.batch_sizes.empty() ? 0 : run.batch_sizes[0];
  const int64_t state = run.hidden.size(2);
  return threads == run.directions() ||
         rows * state * state * gates_of(run.options.kind) < kWorkOfAStep;
}

// One direction of one layer: its columns of `output` [N, directions * P], and its last states.
void run_direction_of(const LayersRun& run, int64_t layer, int64_t direction, const Tensor& rows,
                      const Tensor& output) {
  const ScalarType work = rows.dtype();
  const int64_t index = layer * run.directions() + direction;
  const LayerWeights w = layer_weights(run.params, run.options, run.projected, index, work);
  LayerState state{layer_slice(run.hidden, index, work),
                   run.cell.defined() ? layer_slice(run.cell, index, work) : Tensor(), Tensor()};
  if (run.projected)
    state.unprojected = Tensor::empty(IntVector{run.hidden.size(1), run.cell.size(2)}, work);
  check_weights(run.options.kind, w, rows, state);
  run_direction(run.options.kind, w, rows, run.batch_sizes, direction == 1, state, output,
                direction * run.hidden.size(2), run.options.packed);
  const auto store = [&](const Tensor& all, const Tensor& one) {
    copy_into(all.as_view(all.sizes().subspan(1), all.strides().subspan(1), index * all.stride(0)),
              one);
  };
  store(run.result.hidden, state.hidden);
  if (run.cell.defined()) store(run.result.cell, state.cell);
}

// All layers over the rows of all steps.
RecurrentResult run_layers(Tensor rows, const std::vector<int64_t>& batch_sizes, int64_t batch,
                           const Tensor& hidden, const Tensor& cell,
                           const std::vector<Tensor>& params, const RecurrentOptions& o) {
  require(o.kind != RecurrentKind::kLstm || cell.defined(), kBad, "lstm expects two hidden states");
  const bool projected =
      cell.defined() && hidden.dim() == 3 && cell.dim() == 3 && hidden.size(2) != cell.size(2);
  check_states(hidden, cell, params, o, batch, projected);
  require_dtype_of(rows, {&hidden, &cell}, "rnn");
  for (const Tensor& parameter : params) require_dtype_of(rows, {&parameter}, "rnn");
  const ScalarType dtype = rows.dtype();
  const ScalarType work = work_type(dtype);
  rows = as_work(rows, work);
  RecurrentResult result;
  result.hidden = Tensor::empty(hidden.sizes(), dtype);
  if (cell.defined()) result.cell = Tensor::empty(cell.sizes(), dtype);
  const LayersRun run{batch_sizes, hidden, cell, params, o, projected, result};
  for (int64_t layer = 0; layer < o.num_layers; ++layer) {
    const Tensor output =
        Tensor::empty(IntVector{rows.size(0), run.directions() * hidden.size(2)}, work);
    const int64_t grain = runs_directions_apart(run) ? 1 : run.directions();
    parallel_for(0, run.directions(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t direction = begin; direction < end; ++direction)
        run_direction_of(run, layer, direction, rows, output);
    });
    rows = output;
    if (o.generator != nullptr && o.dropout > 0 && layer + 1 < o.num_layers) {
      rows = drop_elements(rows, o.dropout, *o.generator);
    }
  }
  result.output = to_dtype(rows, dtype);
  return result;
}

std::vector<int64_t> checked_batch_sizes(const Tensor& batch_sizes, int64_t rows) {
  require(batch_sizes.dim() == 1 && batch_sizes.dtype() == ScalarType::kLong, kBad,
          "batch_sizes must be a vector of int64");
  const Tensor dense = contiguous(batch_sizes);
  std::vector<int64_t> sizes(dense.data<int64_t>(), dense.data<int64_t>() + dense.numel());
  int64_t total = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    require(sizes[i] > 0 && (i == 0 || sizes[i] <= sizes[i - 1]) && sizes[i] <= rows, kBad,
            "batch_sizes must be positive and must not grow");
    total += sizes[i];
  }
  require(total == rows, kBad, "batch_sizes add up to {}, but data has {} rows", total, rows);
  return sizes;
}

}  // namespace

RecurrentResult run_recurrent(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                              const std::vector<Tensor>& params, const RecurrentOptions& options,
                              bool batch_first) {
  if (!(input.dim() == 3 && hidden.dim() == 3)) {
    fail(kBad, "rnn: expected 3-D input and hidden state, got {} and {}",
         shape_string(input.sizes()), shape_string(hidden.sizes()));
  }
  const Tensor steps_first = batch_first ? transpose(input, 0, 1) : input;
  const int64_t steps = steps_first.size(0);
  const int64_t batch = steps_first.size(1);
  require(steps > 0, kBad, "Expected sequence length to be larger than 0 in RNN");
  const Tensor rows = reshape(steps_first, IntVector{steps * batch, input.size(2)});
  RecurrentResult result = run_layers(rows, std::vector<int64_t>(static_cast<size_t>(steps), batch),
                                      batch, hidden, cell, params, options);
  result.output = reshape(result.output, IntVector{steps, batch, result.output.size(1)});
  if (batch_first) result.output = transpose(result.output, 0, 1);
  return result;
}

RecurrentResult run_recurrent_packed(const Tensor& data, const Tensor& batch_sizes,
                                     const Tensor& hidden, const Tensor& cell,
                                     const std::vector<Tensor>& params,
                                     const RecurrentOptions& options) {
  require(data.dim() == 2 && hidden.dim() == 3, kBad,
          "rnn: expected packed 2-D data and a 3-D hidden state");
  const std::vector<int64_t> sizes = checked_batch_sizes(batch_sizes, data.size(0));
  require(!sizes.empty(), kBad, "Expected sequence length to be larger than 0 in RNN");
  return run_layers(data, sizes, sizes[0], hidden, cell, params, options);
}

std::tuple<Tensor, Tensor> run_recurrent_cell(RecurrentKind kind, const Tensor& input,
                                              const Tensor& hidden, const Tensor& cell,
                                              const std::array<Tensor, 4>& weights,
                                              RecurrentWeights* packed) {
  const auto& [w_ih, w_hh, b_ih, b_hh] = weights;
  require_dtype_of(input, {&hidden, &w_ih, &w_hh, &b_ih, &b_hh}, "rnn cell");
  const ScalarType work = work_type(input.dtype());
  const bool single = input.dim() == 1;
  const Tensor rows = as_work(single ? unsqueeze(input, 0) : input, work);
  const auto state_of = [&](const Tensor& t) {
    if (!t.defined()) return t;
    return clone(to_dtype(t.dim() == 1 ? unsqueeze(t, 0) : t, work), MemoryFormat::kContiguous);
  };
  const LayerState state{state_of(hidden), state_of(cell), Tensor()};
  LayerWeights w{as_work(w_ih, work), as_work(w_hh, work), as_work(b_ih, work), as_work(b_hh, work),
                 Tensor()};
  w.are_given = are_same(w, w_ih, w_hh);
  require(rows.dim() == 2 && state.hidden.dim() == 2 && rows.size(0) == state.hidden.size(0), kBad,
          "Input batch size {} doesn't match hidden0 batch size {}", rows.size(0),
          state.hidden.size(0));
  check_weights(kind, w, rows, state);
  const Tensor output = Tensor::empty(state.hidden.sizes(), work);
  run_direction(kind, w, rows, {rows.size(0)}, false, state, output, 0, packed);
  const auto give = [&](const Tensor& t) {
    return t.defined() ? to_dtype(single ? squeeze_dim(t, 0) : t, input.dtype()) : t;
  };
  return {give(state.hidden), give(state.cell)};
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx,
                                     const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                     const Tensor& b_hh) {
  require(hx.size() == 2, kBad, "lstm_cell expects two hidden states");
  return run_recurrent_cell(RecurrentKind::kLstm, input, hx[0], hx[1], {w_ih, w_hh, b_ih, b_hh},
                            nullptr);
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(run_recurrent_cell(RecurrentKind::kGru, input, hx, Tensor(),
                                        {w_ih, w_hh, b_ih, b_hh}, nullptr));
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(run_recurrent_cell(RecurrentKind::kTanh, input, hx, Tensor(),
                                        {w_ih, w_hh, b_ih, b_hh}, nullptr));
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(run_recurrent_cell(RecurrentKind::kRelu, input, hx, Tensor(),
                                        {w_ih, w_hh, b_ih, b_hh}, nullptr));
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                               bool batch_first, const Scalar& padding_value,
                                               int64_t total_length) {
  require(data.dim() >= 1, kBad, "pad_packed_sequence: expected data with at least one dimension");
  const std::vector<int64_t> counts = checked_batch_sizes(batch_sizes, data.size(0));
  require(!counts.empty(), kBad, "pad_packed_sequence: batch_sizes is empty");
  const auto longest = static_cast<int64_t>(counts.size());
  require(
      total_length <= 0 || total_length >= longest, kBad,
      "Expected total_length to be at least the length of the longest sequence in input, but got "
      "total_length={} and max sequence length being {}",
      total_length, longest);
  IntVector sizes(data.sizes().begin(), data.sizes().end());
  sizes[0] = counts[0];
  sizes.insert(sizes.begin(), total_length > 0 ? total_length : longest);
  const Tensor out = Tensor::empty(sizes, data.dtype());
  fill(out, padding_value);
  const Tensor lengths = Tensor::empty(IntVector{counts[0]}, ScalarType::kLong);
  int64_t offset = 0;
  for (int64_t step = 0; step < longest; ++step) {
    const int64_t count = counts[static_cast<size_t>(step)];
    IntVector piece(data.sizes().begin(), data.sizes().end());
    piece[0] = count;
    const Tensor source =
        data.as_view(piece, data.strides(), data.offset() + offset * data.stride(0));
    copy_into(out.as_view(piece, out.strides().subspan(1), step * out.stride(0)), source);
    for (int64_t b = 0; b < count; ++b) lengths.data<int64_t>()[b] = step + 1;
    offset += count;
  }
  return {batch_first ? transpose(out, 0, 1) : out, lengths};
}

}  // namespace tierup::kernels
