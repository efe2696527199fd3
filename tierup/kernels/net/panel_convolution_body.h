// One part of a convolution by panels; see panel_convolution.h. Compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/panel_body.h"
#include "tierup/kernels/net/panel_convolution.h"

namespace tierup::kernels::net {
namespace {

class ConvolutionRunner {
 public:
  explicit ConvolutionRunner(const ConvolutionPart& part)
      : part_(part),
        p_(*part.problem),
        depth_(p_.depth()),
        channels_(part.last_channel - part.first_channel),
        gathered_(part.scratch),
        sums_(gathered_ + part.rows_at_a_time * kConvolutionStride) {}

  void run() {
    const int64_t rows = part_.last_row - part_.first_row;
    const int64_t blocks = (rows + part_.rows_at_a_time - 1) / part_.rows_at_a_time;
    for (int64_t i = 0; i < blocks; ++i) {
      first_ = part_.first_row + rows * i / blocks;
      count_ = part_.first_row + rows * (i + 1) / blocks - first_;
      for (int64_t from = 0; from < depth_; from += kConvolutionDepth) multiply(from);
    }
  }

 private:
  void multiply(int64_t from) {
    const int64_t depth = std::min(kConvolutionDepth, depth_ - from);
    for (int64_t r = 0; r < count_; ++r)
      gather(first_ + r, from, depth, gathered_ + r * kConvolutionStride);
    const bool is_last = from + depth == depth_;
    PanelProduct product{};
    product.a = gathered_;
    product.rows = count_;
    product.depth = depth;
    product.sums_stride = channels_;
    product.c_stride = is_last ? p_.out_channels : channels_;
    if (is_last) product.finish.steps = part_.steps;
    for (int64_t column = 0; column < channels_; column += kPanelColumns) {
      product.columns = static_cast<int>(std::min<int64_t>(kPanelColumns, channels_ - column));
      product.b = weights_at(from, column);
      product.next_b = next_weights(from, column, depth, 1);
      product.ahead = reinterpret_cast<const char*>(next_weights(from, column, depth, 2));
      product.ahead_bytes = depth * kPanelColumns * 4;
      product.sums = from > 0 ? sums_ + column : nullptr;
      const int64_t channel = part_.first_channel + column;
      product.c = is_last ? part_.target + first_ * p_.out_channels + channel : sums_ + column;
      product.finish.bias = is_last ? part_.bias + channel : nullptr;
      multiply_panel<kConvolutionStride>(product);
    }
  }

  const float* weights_at(int64_t from, int64_t column) const {
    return part_.weights + (part_.first_channel + column) * depth_ + from * kPanelColumns;
  }
  // So many panels later; at the end it begins again.
  const float* next_weights(int64_t from, int64_t column, int64_t depth, int64_t later) const {
    column += later * kPanelColumns;
    if (column < channels_) return weights_at(from, column);
    column = later == 1 || channels_ <= kPanelColumns ? 0 : kPanelColumns;
    return weights_at(from + depth < depth_ ? from + depth : 0, column);
  }

  // `depth` numbers of one result's window, from number `from` on.
  void gather(int64_t row, int64_t from, int64_t depth, float* to) const {
    const int64_t image = row / (p_.out_height * p_.out_width);
    const int64_t top = row / p_.out_width % p_.out_height * p_.stride_y - p_.pad_top;
    const int64_t left = row % p_.out_width * p_.stride_x - p_.pad_left;
    int64_t window = from / p_.in_channels;
    int64_t channel = from % p_.in_channels;
    while (depth > 0) {
      const int64_t count = std::min(depth, p_.in_channels - channel);
      const int64_t y = top + window / p_.kernel_width * p_.dilation_y;
      const int64_t x = left + window % p_.kernel_width * p_.dilation_x;
      if (y >= 0 && y < p_.height && x >= 0 && x < p_.width) {
        const float* source =
            part_.source + ((image * p_.height + y) * p_.width + x) * p_.in_channels + channel;
        copy(source, count, to);
      } else {
        std::fill_n(to, count, 0.0F);
      }
      to += count;
      depth -= count;
      channel = 0;
      ++window;
    }
  }
  static void copy(const float* from, int64_t count, float* to) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) store(to + i, load(from + i));
    if (i < count) std::memcpy(to + i, from + i, static_cast<size_t>(count - i) * sizeof(float));
  }

  const ConvolutionPart& part_;
  const PanelConvolution& p_;
  const int64_t depth_;
  const int64_t channels_;
  int64_t first_ = 0;  // Of the rows at hand.
  int64_t count_ = 0;
  float* gathered_;  // [row][kConvolutionStride]
  float* sums_;      // [row][channels_]
};

void run_part(const ConvolutionPart& part) { ConvolutionRunner(part).run(); }

}  // namespace
}  // namespace tierup::kernels::net
