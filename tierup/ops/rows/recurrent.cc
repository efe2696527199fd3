// Rows of recurrent layers and cells.
#include "tierup/kernels/recurrent/recurrent.h"

#include <array>

#include "tierup/kernels/recurrent/recurrent_steps.h"
#include "tierup/ops/rows/recurrent_step.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

using kernels::RecurrentKind;
using kernels::RecurrentOptions;
using kernels::RecurrentResult;

// What the rows of layers share behind their first arguments.
struct LayerArguments {
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train;
  bool bidirectional;
};

RecurrentOptions options_of(RunContext& context, RecurrentKind kind, const LayerArguments& given,
                            kernels::RecurrentWeights* packed) {
  RecurrentOptions options{kind, given.has_biases, given.num_layers, given.dropout,
                           given.bidirectional};
  if (given.train) options.generator = context.generator;
  options.packed = packed;
  return options;
}

// Of an operator's twin under tierup::.
kernels::RecurrentWeights* weights_of(const IValue& step) {
  auto* object = dynamic_cast<RecurrentStep*>(step.to_capsule());
  require(object != nullptr, ErrorCode::kInvalidArgument, "not a recurrent step");
  return &object->weights();
}

using LstmResults = std::tuple<Tensor, Tensor, Tensor>;
using RnnResults = std::tuple<Tensor, Tensor>;

LstmResults run_lstm(RunContext& context, const Tensor& input, const Tensor* batch_sizes,
                     const std::vector<Tensor>& hx, const std::vector<Tensor>& params,
                     const LayerArguments& given, bool batch_first,
                     kernels::RecurrentWeights* packed) {
  require(hx.size() == 2, ErrorCode::kInvalidArgument, "lstm expects two hidden states");
  const auto options = options_of(context, RecurrentKind::kLstm, given, packed);
  RecurrentResult r =
      batch_sizes == nullptr
          ? kernels::run_recurrent(input, hx[0], hx[1], params, options, batch_first)
          : kernels::run_recurrent_packed(input, *batch_sizes, hx[0], hx[1], params, options);
  return {r.output, r.hidden, r.cell};
}

LstmResults lstm_input(RunContext& context, const Tensor& input, const std::vector<Tensor>& hx,
                       const std::vector<Tensor>& params, bool has_biases, int64_t num_layers,
                       double dropout, bool train, bool bidirectional, bool batch_first) {
  return run_lstm(context, input, nullptr, hx, params,
                  {has_biases, num_layers, dropout, train, bidirectional}, batch_first, nullptr);
}

LstmResults kept_lstm_input(RunContext& context, const IValue& step, const Tensor& input,
                            const std::vector<Tensor>& hx, const std::vector<Tensor>& params,
                            bool has_biases, int64_t num_layers, double dropout, bool train,
                            bool bidirectional, bool batch_first) {
  return run_lstm(context, input, nullptr, hx, params,
                  {has_biases, num_layers, dropout, train, bidirectional}, batch_first,
                  weights_of(step));
}

LstmResults lstm_data(RunContext& context, const Tensor& data, const Tensor& batch_sizes,
                      const std::vector<Tensor>& hx, const std::vector<Tensor>& params,
                      bool has_biases, int64_t num_layers, double dropout, bool train,
                      bool bidirectional) {
  return run_lstm(context, data, &batch_sizes, hx, params,
                  {has_biases, num_layers, dropout, train, bidirectional}, false, nullptr);
}

LstmResults kept_lstm_data(RunContext& context, const IValue& step, const Tensor& data,
                           const Tensor& batch_sizes, const std::vector<Tensor>& hx,
                           const std::vector<Tensor>& params, bool has_biases, int64_t num_layers,
                           double dropout, bool train, bool bidirectional) {
  return run_lstm(context, data, &batch_sizes, hx, params,
                  {has_biases, num_layers, dropout, train, bidirectional}, false, weights_of(step));
}

template <RecurrentKind kKind>
RnnResults rnn_input(RunContext& context, const Tensor& input, const Tensor& hx,
                     const std::vector<Tensor>& params, bool has_biases, int64_t num_layers,
                     double dropout, bool train, bool bidirectional, bool batch_first) {
  const auto options =
      options_of(context, kKind, {has_biases, num_layers, dropout, train, bidirectional}, nullptr);
  RecurrentResult r = kernels::run_recurrent(input, hx, Tensor(), params, options, batch_first);
  return {r.output, r.hidden};
}

template <RecurrentKind kKind>
RnnResults kept_rnn_input(RunContext& context, const IValue& step, const Tensor& input,
                          const Tensor& hx, const std::vector<Tensor>& params, bool has_biases,
                          int64_t num_layers, double dropout, bool train, bool bidirectional,
                          bool batch_first) {
  const auto options = options_of(
      context, kKind, {has_biases, num_layers, dropout, train, bidirectional}, weights_of(step));
  RecurrentResult r = kernels::run_recurrent(input, hx, Tensor(), params, options, batch_first);
  return {r.output, r.hidden};
}

template <RecurrentKind kKind>
RnnResults rnn_data(RunContext& context, const Tensor& data, const Tensor& batch_sizes,
                    const Tensor& hx, const std::vector<Tensor>& params, bool has_biases,
                    int64_t num_layers, double dropout, bool train, bool bidirectional) {
  const auto options =
      options_of(context, kKind, {has_biases, num_layers, dropout, train, bidirectional}, nullptr);
  RecurrentResult r =
      kernels::run_recurrent_packed(data, batch_sizes, hx, Tensor(), params, options);
  return {r.output, r.hidden};
}

std::tuple<Tensor, Tensor> kept_lstm_cell(const IValue& step, const Tensor& input,
                                          const std::vector<Tensor>& hx, const Tensor& w_ih,
                                          const Tensor& w_hh, const Tensor& b_ih,
                                          const Tensor& b_hh) {
  require(hx.size() == 2, ErrorCode::kInvalidArgument, "lstm_cell expects two hidden states");
  return kernels::run_recurrent_cell(RecurrentKind::kLstm, input, hx[0], hx[1],
                                     {w_ih, w_hh, b_ih, b_hh}, weights_of(step));
}

template <RecurrentKind kKind>
Tensor kept_cell(const IValue& step, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                 const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(kernels::run_recurrent_cell(kKind, input, hx, Tensor(),
                                                 {w_ih, w_hh, b_ih, b_hh}, weights_of(step)));
}

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&lstm_input>, ir::kRandom, &shapes::recurrent, facts(Role::kRecurrent)},
    {"aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&lstm_data>, ir::kRandom, nullptr, facts(Role::kRecurrent)},
    {"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
     "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     boxed<&rnn_input<RecurrentKind::kGru>>, ir::kRandom, &shapes::recurrent,
     facts(Role::kRecurrent)},
    {"aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, "
     "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
     boxed<&rnn_data<RecurrentKind::kGru>>, ir::kRandom},
    {"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_input<RecurrentKind::kTanh>>, ir::kRandom, &shapes::recurrent,
     facts(Role::kRecurrent)},
    {"aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_data<RecurrentKind::kTanh>>, ir::kRandom},
    {"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_input<RecurrentKind::kRelu>>, ir::kRandom, &shapes::recurrent,
     facts(Role::kRecurrent)},
    {"aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_data<RecurrentKind::kRelu>>, ir::kRandom},
    {"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
     "Tensor? b_hh=None) -> (Tensor, Tensor)",
     boxed<&kernels::lstm_cell>, ir::kNoEffect, &shapes::recurrent_cell, facts(Role::kRecurrent)},
    {"aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
     "b_hh=None) -> Tensor",
     boxed<&kernels::gru_cell>, ir::kNoEffect, &shapes::recurrent_cell, facts(Role::kRecurrent)},
    {"aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
     "Tensor? b_hh=None) -> Tensor",
     boxed<&kernels::rnn_tanh_cell>, ir::kNoEffect, &shapes::recurrent_cell,
     facts(Role::kRecurrent)},
    {"aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
     "Tensor? b_hh=None) -> Tensor",
     boxed<&kernels::rnn_relu_cell>, ir::kNoEffect, &shapes::recurrent_cell,
     facts(Role::kRecurrent)},
    {"aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, "
     "Tensor)",
     boxed<&kernels::pack_padded_sequence>},
    {"aten::_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, "
     "bool batch_first) -> Tensor",
     boxed<&kernels::pack_padded_sequence_backward>},
    {"aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
     "padding_value, int total_length) -> (Tensor, Tensor)",
     boxed<&kernels::pad_packed_sequence>},
    // What layers that are trained are made of: see derivatives/recurrent.cc.
    {"tierup::lstm_steps(Tensor gates, Tensor hidden, Tensor cell, Tensor w_hh, bool reverse) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     boxed<&kernels::lstm_steps>},
    {"tierup::lstm_steps_backward(Tensor? grad_outputs, Tensor? grad_cells, Tensor? grad_hidden, "
     "Tensor? grad_cell, Tensor gates, Tensor hidden, Tensor cell, Tensor w_hh, Tensor outputs, "
     "Tensor cells, bool "
     "reverse) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::lstm_steps_backward>},
    {"tierup::gru_steps(Tensor gates, Tensor hidden, Tensor w_hh, Tensor? b_hh, bool reverse) -> "
     "(Tensor, Tensor)",
     boxed<&kernels::gru_steps>},
    {"tierup::gru_steps_backward(Tensor? grad_outputs, Tensor? grad_hidden, Tensor gates, Tensor "
     "hidden, Tensor w_hh, Tensor? b_hh, Tensor outputs, bool reverse) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::gru_steps_backward>},
    // Twins that keep matrices packed: see recurrent_step.h.
    {"tierup::lstm.input(Capsule step, Tensor input, Tensor[] hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool "
     "batch_first) -> (Tensor, Tensor, Tensor)",
     boxed<&kept_lstm_input>, ir::kRandom},
    {"tierup::lstm.data(Capsule step, Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] "
     "params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
     "(Tensor, Tensor, Tensor)",
     boxed<&kept_lstm_data>, ir::kRandom},
    {"tierup::gru.input(Capsule step, Tensor input, Tensor hx, Tensor[] params, bool has_biases, "
     "int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
     "(Tensor, Tensor)",
     boxed<&kept_rnn_input<RecurrentKind::kGru>>, ir::kRandom},
    {"tierup::rnn_tanh.input(Capsule step, Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool "
     "batch_first) -> (Tensor, Tensor)",
     boxed<&kept_rnn_input<RecurrentKind::kTanh>>, ir::kRandom},
    {"tierup::rnn_relu.input(Capsule step, Tensor input, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool "
     "batch_first) -> (Tensor, Tensor)",
     boxed<&kept_rnn_input<RecurrentKind::kRelu>>, ir::kRandom},
    {"tierup::lstm_cell(Capsule step, Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? "
     "b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     boxed<&kept_lstm_cell>},
    {"tierup::gru_cell(Capsule step, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
     "b_ih=None, Tensor? b_hh=None) -> Tensor",
     boxed<&kept_cell<RecurrentKind::kGru>>},
    {"tierup::rnn_tanh_cell(Capsule step, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     boxed<&kept_cell<RecurrentKind::kTanh>>},
    {"tierup::rnn_relu_cell(Capsule step, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
     "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     boxed<&kept_cell<RecurrentKind::kRelu>>},
});

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRows; }

}  // namespace tierup::ops
