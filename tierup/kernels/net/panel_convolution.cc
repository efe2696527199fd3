#include "tierup/kernels/net/panel_convolution.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/instruction_set.h"

namespace tierup::kernels::net {
namespace {

ConvolutionPartFn part_function() {
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return convolution_part_avx512();
    case InstructionSet::kAvx2: return convolution_part_avx2();
    case InstructionSet::kBase: break;
  }
  return convolution_part_base();
}

int64_t panels_of(const PanelConvolution& problem) {
  return (problem.out_channels + kConvolutionPanel - 1) / kConvolutionPanel;
}

}  // namespace

int64_t convolution_weight_count(const PanelConvolution& problem) {
  return panels_of(problem) * kConvolutionPanel * problem.depth();
}

void pack_convolution_weight(const PanelConvolution& problem, const float* weight, float* packed) {
  const int64_t windows = problem.kernel_height * problem.kernel_width;
  for (int64_t first = 0; first < problem.out_channels; first += kConvolutionPanel) {
    for (int64_t k = 0; k < windows; ++k) {
      for (int64_t c = 0; c < problem.in_channels; ++c, packed += kConvolutionPanel) {
        for (int64_t o = 0; o < kConvolutionPanel; ++o) {
          const bool is_there = first + o < problem.out_channels;
          packed[o] =
              is_there ? weight[((first + o) * problem.in_channels + c) * windows + k] : 0.0F;
        }
      }
    }
  }
}

// Each part of the rows reads all weights, each part of the channels all rows: the smaller of both
// is read by all.
ConvolutionPlan plan_convolution(const PanelConvolution& problem, int threads) {
  constexpr int64_t kCached = 128 << 10;  // Floats of rows and sums that stay in the cache.
  ConvolutionPlan plan;
  const int64_t panels = panels_of(problem);
  const bool by_channels = problem.out_channels > problem.rows() && panels >= threads;
  (by_channels ? plan.channel_parts : plan.row_parts) =
      std::min<int64_t>(threads, by_channels ? panels : problem.rows());
  const int64_t rows = (problem.rows() + plan.row_parts - 1) / plan.row_parts;
  const int64_t channels =
      (panels + plan.channel_parts - 1) / plan.channel_parts * kConvolutionPanel;
  // Of one depth, rows are read once and for all, so that a few serve; they stay nearer.
  constexpr int64_t kFewRows = 112;
  const bool is_deep = problem.depth() > kConvolutionDepth;
  const int64_t each = kConvolutionStride + (is_deep ? channels : 0);
  const int64_t most = is_deep ? kCached / each / 14 * 14 : kFewRows;
  plan.rows_at_a_time = std::min(rows, std::max<int64_t>(14, most));
  plan.scratch_of_part = (plan.rows_at_a_time * each + 15) / 16 * 16;
  return plan;
}

void run_convolution(const PanelConvolution& problem, const ConvolutionPlan& plan,
                     const float* source, const float* weights, const float* bias,
                     std::span<const StoreStep> steps, float* target, float* scratch) {
  const ConvolutionPartFn run = part_function();
  const int64_t panels = panels_of(problem);
  parallel_for(0, plan.parts(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row_part = i / plan.channel_parts;
      const int64_t channel_part = i % plan.channel_parts;
      ConvolutionPart part{};
      part.problem = &problem;
      part.first_row = problem.rows() * row_part / plan.row_parts;
      part.last_row = problem.rows() * (row_part + 1) / plan.row_parts;
      part.first_channel = panels * channel_part / plan.channel_parts * kConvolutionPanel;
      part.last_channel =
          std::min(problem.out_channels,
                   panels * (channel_part + 1) / plan.channel_parts * kConvolutionPanel);
      part.rows_at_a_time = plan.rows_at_a_time;
      part.source = source;
      part.weights = weights;
      part.bias = bias;
      part.steps = steps;
      part.target = target;
      part.scratch = scratch + i * plan.scratch_of_part;
      run(part);
    }
  });
}

}  // namespace tierup::kernels::net
