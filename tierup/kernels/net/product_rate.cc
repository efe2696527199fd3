#include "tierup/kernels/net/product_rate.h"

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/trial.h"
#include "tierup/kernels/net/weight_store.h"

namespace tierup::kernels::net {

double cached_product_rate() {
  constexpr int kRuns = 4;
  const ThreadCountScope one_thread(1);
  const PanelConvolution problem = panel_product_problem(96, 256, 4 * kConvolutionChannels);
  const ConvolutionPlan plan = plan_convolution(problem, 1);
  const auto zeros = [](int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    auto block = aligned_block(bytes);
    std::fill_n(block.get(), bytes, '\0');
    return block;
  };
  const auto floats = [](const auto& block) { return reinterpret_cast<float*>(block.get()); };
  const auto source = zeros(problem.source_count());
  const auto weights = zeros(convolution_weight_count(problem));
  const auto bias = zeros(grouped_channels(problem.out_channels));
  const auto target = zeros(problem.target_count());
  const auto scratch = zeros(plan.scratch());
  double best = kNotRun;
  for (int i = 0; i < kRuns; ++i) {
    const TrialRun run = timed_run([&] {
      run_convolution(problem, plan, floats(source), floats(weights), floats(bias), {},
                      floats(target), floats(scratch));
    });
    best = std::min(best, run.milliseconds);
  }
  return static_cast<double>(problem.rows() * problem.depth() * problem.out_channels) / best;
}

}  // namespace tierup::kernels::net
