// Rows of recurrent layers and cells.
#include "tierup/kernels/recurrent/recurrent.h"

#include <array>

#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

using kernels::RecurrentKind;
using kernels::RecurrentOptions;
using kernels::RecurrentResult;

RecurrentOptions options_of(RunContext& context, RecurrentKind kind, bool has_biases,
                            int64_t num_layers, double dropout, bool train, bool bidirectional) {
  return {kind,    has_biases,    num_layers,
          dropout, bidirectional, train ? context.generator : nullptr};
}

void check_lstm_state(const std::vector<Tensor>& hx) {
  require(hx.size() == 2, ErrorCode::kInvalidArgument, "lstm expects two hidden states");
}

std::tuple<Tensor, Tensor, Tensor> lstm_input(RunContext& context, const Tensor& input,
                                              const std::vector<Tensor>& hx,
                                              const std::vector<Tensor>& params, bool has_biases,
                                              int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  check_lstm_state(hx);
  const auto options = options_of(context, RecurrentKind::kLstm, has_biases, num_layers, dropout,
                                  train, bidirectional);
  RecurrentResult r = kernels::run_recurrent(input, hx[0], hx[1], params, options, batch_first);
  return {r.output, r.hidden, r.cell};
}

std::tuple<Tensor, Tensor, Tensor> lstm_data(RunContext& context, const Tensor& data,
                                             const Tensor& batch_sizes,
                                             const std::vector<Tensor>& hx,
                                             const std::vector<Tensor>& params, bool has_biases,
                                             int64_t num_layers, double dropout, bool train,
                                             bool bidirectional) {
  check_lstm_state(hx);
  const auto options = options_of(context, RecurrentKind::kLstm, has_biases, num_layers, dropout,
                                  train, bidirectional);
  RecurrentResult r =
      kernels::run_recurrent_packed(data, batch_sizes, hx[0], hx[1], params, options);
  return {r.output, r.hidden, r.cell};
}

template <RecurrentKind kKind>
std::tuple<Tensor, Tensor> rnn_input(RunContext& context, const Tensor& input, const Tensor& hx,
                                     const std::vector<Tensor>& params, bool has_biases,
                                     int64_t num_layers, double dropout, bool train,
                                     bool bidirectional, bool batch_first) {
  const auto options =
      options_of(context, kKind, has_biases, num_layers, dropout, train, bidirectional);
  RecurrentResult r = kernels::run_recurrent(input, hx, Tensor(), params, options, batch_first);
  return {r.output, r.hidden};
}

template <RecurrentKind kKind>
std::tuple<Tensor, Tensor> rnn_data(RunContext& context, const Tensor& data,
                                    const Tensor& batch_sizes, const Tensor& hx,
                                    const std::vector<Tensor>& params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train,
                                    bool bidirectional) {
  const auto options =
      options_of(context, kKind, has_biases, num_layers, dropout, train, bidirectional);
  RecurrentResult r =
      kernels::run_recurrent_packed(data, batch_sizes, hx, Tensor(), params, options);
  return {r.output, r.hidden};
}

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&lstm_input>, ir::kRandom, &shapes::recurrent},
    {"aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&lstm_data>, ir::kRandom},
    {"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
     "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     boxed<&rnn_input<RecurrentKind::kGru>>, ir::kRandom, &shapes::recurrent},
    {"aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, "
     "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
     boxed<&rnn_data<RecurrentKind::kGru>>, ir::kRandom},
    {"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_input<RecurrentKind::kTanh>>, ir::kRandom, &shapes::recurrent},
    {"aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_data<RecurrentKind::kTanh>>, ir::kRandom},
    {"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_input<RecurrentKind::kRelu>>, ir::kRandom, &shapes::recurrent},
    {"aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
     "Tensor)",
     boxed<&rnn_data<RecurrentKind::kRelu>>, ir::kRandom},
    {"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
     "Tensor? b_hh=None) -> (Tensor, Tensor)",
     boxed<&kernels::lstm_cell>, ir::kNoEffect, &shapes::recurrent_cell},
    {"aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
     "b_hh=None) -> Tensor",
     boxed<&kernels::gru_cell>, ir::kNoEffect, &shapes::recurrent_cell},
    {"aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
     "Tensor? b_hh=None) -> Tensor",
     boxed<&kernels::rnn_tanh_cell>, ir::kNoEffect, &shapes::recurrent_cell},
    {"aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
     "Tensor? b_hh=None) -> Tensor",
     boxed<&kernels::rnn_relu_cell>, ir::kNoEffect, &shapes::recurrent_cell},
    {"aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, "
     "Tensor)",
     boxed<&kernels::pack_padded_sequence>},
    {"aten::_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, "
     "bool batch_first) -> Tensor",
     boxed<&kernels::pack_padded_sequence_backward>},
    {"aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
     "padding_value, int total_length) -> (Tensor, Tensor)",
     boxed<&kernels::pad_packed_sequence>},
});

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRows; }

}  // namespace tierup::ops
