// The step: states made where missing, numbers of each parameter, then all pieces at once.
#include "tierup/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tierup/base/error.h"
#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::training {
namespace {

bool same_layout(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

Tensor copy_like(const Tensor& layout, const Tensor& from) {
  const Tensor result = Tensor::empty_strided(layout.sizes(), layout.strides(), layout.dtype());
  kernels::copy_into(result, from);
  return result;
}

// One parameter's memory in a step.
struct Work {
  kernels::StepNumbers numbers;
  Tensor parameter;  // Dense; a copy where the parameter itself is not.
  Tensor gradient;   // Of the same layout.
  std::array<Tensor, 3> state;
};

template <typename T>
void run_part(kernels::StepRule rule, const Work& work, int64_t begin, int64_t end) {
  kernels::StepSpan<T> span{
      work.parameter.data<T>() + begin, work.gradient.data<T>() + begin, {}, end - begin};
  for (size_t k = 0; k < span.state.size(); ++k) {
    if (work.state[k].defined()) span.state[k] = work.state[k].data<T>() + begin;
  }
  kernels::optimizer_step(rule, work.numbers, span);
}

// What a step reads and writes.
size_t bytes_of(const Work& work) {
  size_t bytes = work.parameter.bytes() + work.gradient.bytes();
  for (const Tensor& state : work.state) {
    if (state.defined()) bytes += state.bytes();
  }
  return bytes;
}

// All elements are one range, cut evenly. What a core's own cache holds beside a step's activations
// one thread steps: a team would leave half of the parameters in the cache of another core than
// reads them next.
void run_together(kernels::StepRule rule, std::span<const Work> works) {
  int64_t total = 0;
  size_t bytes = 0;
  for (const Work& work : works) {
    total += work.parameter.numel();
    bytes += bytes_of(work);
  }
  const bool is_cached = bytes <= static_cast<size_t>(cache_sizes().second_level) / 2;
  parallel_for(0, total, is_cached ? total : kNumbersForThread, [&](int64_t begin, int64_t end) {
    for (const Work& work : works) {
      const int64_t count = work.parameter.numel();
      const int64_t first = std::max<int64_t>(begin, 0);
      const int64_t last = std::min(end, count);
      if (first < last && work.parameter.dtype() == ScalarType::kFloat) {
        run_part<float>(rule, work, first, last);
      } else if (first < last) {
        run_part<double>(rule, work, first, last);
      }
      begin -= count;
      end -= count;
    }
  });
}

// Whether two of them share memory: they must not be stepped at the same time.
bool any_overlap(std::span<const Work> works) {
  std::vector<std::pair<const char*, const char*>> ranges;
  for (const Work& work : works) {
    const char* begin = static_cast<const char*>(work.parameter.raw());
    ranges.emplace_back(begin, begin + work.parameter.bytes());
  }
  std::ranges::sort(ranges);
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return true;
  }
  return false;
}

void run_works(kernels::StepRule rule, std::span<const Work> works) {
  const size_t at_once = any_overlap(works) ? 1 : works.size();
  for (size_t i = 0; i < works.size(); i += at_once) run_together(rule, works.subspan(i, at_once));
}

// In NAdam's schedule of momentum: a constant of its authors.
constexpr double kMomentumBase = 0.96;

double nadam_mu(const Settings& s, double step) {
  return s.beta1 * (1 - 0.5 * std::pow(kMomentumBase, step * s.momentum_decay));
}

void set_radam_numbers(const Settings& s, double step, kernels::StepNumbers& n) {
  const double correction1 = 1 - std::pow(s.beta1, step);
  const double correction2 = 1 - std::pow(s.beta2, step);
  const double limit = 2 / (1 - s.beta2) - 1;
  const double length = limit - 2 * step * std::pow(s.beta2, step) / correction2;
  n.mean_divisor = correction1;
  n.rate = s.lr;
  n.adaptive_factor = std::pow(correction2, 0.5);
  constexpr double kTractable = 5;
  if (length > kTractable) {
    const double ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length);
    n.rectifier = std::pow(ratio, 0.5);
  }
}

}  // namespace

Optimizer::Optimizer(OptimizerKind kind, std::vector<ParameterGroup> groups)
    : facts_(optimizer_facts(kind)), groups_(std::move(groups)) {
  for (size_t i = 0; i < groups_.size(); ++i) {
    check_settings(kind, groups_[i].settings);
    for (const auto& [name, tensor] : groups_[i].parameters) {
      entries_.push_back({tensor, name, i, {}});
    }
  }
  check_parameters();
  if (kind != OptimizerKind::kAdagrad) return;
  for (Entry& entry : entries_) make_state(entry);
}

void Optimizer::check_parameters() const {
  require(!entries_.empty(), ErrorCode::kInvalidArgument,
          "the optimizer got an empty parameter list");
  std::unordered_set<const TensorImpl*> seen;
  for (const Entry& entry : entries_) {
    require(entry.parameter.defined(), ErrorCode::kInvalidArgument, "parameter '{}' is undefined",
            entry.name);
    require(seen.insert(entry.parameter.impl()).second, ErrorCode::kInvalidArgument,
            "parameter '{}' appears more than once in the optimizer's parameter groups",
            entry.name);
    const ScalarType dtype = entry.parameter.dtype();
    require(is_floating(dtype) || is_complex(dtype), ErrorCode::kInvalidArgument,
            "parameter '{}' is {}: only floating-point tensors can be optimised", entry.name,
            entry.parameter.describe());
    require(dtype == ScalarType::kFloat || dtype == ScalarType::kDouble, ErrorCode::kUnsupported,
            "parameter '{}' is {}: optimisers step float32 and float64 only", entry.name,
            entry.parameter.describe());
  }
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> result;
  for (const Entry& entry : entries_) result.push_back(entry.parameter);
  return result;
}

void Optimizer::check_gradients(std::span<const Tensor> gradients) const {
  require(gradients.size() == entries_.size(), ErrorCode::kInvalidArgument,
          "{} gradients are given for {} parameters", gradients.size(), entries_.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& gradient = gradients[i];
    if (!gradient.defined()) continue;
    const Tensor& parameter = entries_[i].parameter;
    if (gradient.dtype() == parameter.dtype() &&
        std::ranges::equal(gradient.sizes(), parameter.sizes())) {
      continue;
    }
    fail(ErrorCode::kInvalidArgument, "parameter '{}' is {}, but its gradient is {}",
         entries_[i].name, parameter.describe(), gradient.describe());
  }
}

// Which of the state's tensors these settings use.
std::array<bool, 3> Optimizer::has_tensors(const Settings& settings) const {
  switch (facts_.rule) {
    case kernels::StepRule::kSgd: return {settings.momentum != 0, false, false};
    case kernels::StepRule::kAdam: return {true, true, settings.amsgrad};
    case kernels::StepRule::kRmsprop: return {true, settings.centered, settings.momentum > 0};
    case kernels::StepRule::kAdagrad: return {true, false, false};
    default: return {true, true, false};
  }
}

void Optimizer::make_state(Entry& entry) const {
  const Settings& settings = groups_[entry.group].settings;
  const std::array<bool, 3> wanted = has_tensors(settings);
  const Tensor& parameter = entry.parameter;
  const bool dense = parameter.is_non_overlapping_and_dense();
  const double start =
      facts_.rule == kernels::StepRule::kAdagrad ? settings.initial_accumulator_value : 0;
  for (size_t k = 0; k < wanted.size(); ++k) {
    Tensor& tensor = entry.state.tensors[k];
    if (!wanted[k] || tensor.defined()) continue;
    tensor = dense
                 ? Tensor::empty_strided(parameter.sizes(), parameter.strides(), parameter.dtype())
                 : Tensor::empty(parameter.sizes(), parameter.dtype());
    kernels::fill(tensor, Scalar(start));
  }
  entry.state.exists = true;
}

kernels::StepNumbers Optimizer::numbers(Entry& entry, double gradient_factor) const {
  const Settings& s = groups_[entry.group].settings;
  const double step = entry.state.steps;
  kernels::StepNumbers n;
  n.gradient_factor = gradient_factor;
  n.maximize = s.maximize;
  (s.decoupled_weight_decay ? n.decay_factor : n.weight_decay) =
      s.decoupled_weight_decay ? 1 - s.lr * s.weight_decay : s.weight_decay;
  n.beta1 = s.beta1;
  n.beta2 = s.beta2;
  n.eps = s.eps;
  n.momentum = s.momentum;
  n.rate = -s.lr;
  const double correction1 = 1 - std::pow(s.beta1, step);
  const double correction2 = 1 - std::pow(s.beta2, step);
  switch (facts_.rule) {
    case kernels::StepRule::kSgd:
      n.dampening = s.dampening;
      n.nesterov = s.nesterov;
      break;
    case kernels::StepRule::kAdam:
      n.rate = -(s.lr / correction1);
      n.root_divisor = std::pow(correction2, 0.5);
      n.amsgrad = s.amsgrad;
      break;
    case kernels::StepRule::kRmsprop:
      n.beta2 = s.alpha;
      n.centered = s.centered;
      break;
    case kernels::StepRule::kAdagrad: n.rate = -(s.lr / (1 + (step - 1) * s.lr_decay)); break;
    case kernels::StepRule::kAdadelta: n.beta2 = s.rho; break;
    case kernels::StepRule::kNadam: {
      const double mu = nadam_mu(s, step);
      const double next = nadam_mu(s, step + 1);
      // A float32 number in PyTorch's state.
      entry.state.mu_product = static_cast<float>(entry.state.mu_product) * static_cast<float>(mu);
      n.rate = -s.lr * (1 - mu) / (1 - entry.state.mu_product);
      n.second_rate = (-s.lr * next) / (1 - entry.state.mu_product * next);
      n.root_divisor = correction2;
      break;
    }
    case kernels::StepRule::kRadam: set_radam_numbers(s, step, n); break;
    case kernels::StepRule::kAdamax: n.rate = -(s.lr / correction1); break;
  }
  return n;
}

void Optimizer::step(std::span<const Tensor> gradients, double gradient_factor) {
  check_gradients(gradients);
  std::vector<Work> works;
  std::vector<std::pair<Tensor, Tensor>> copies;  // Parameters that are not dense, and theirs.
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    Entry& entry = entries_[i];
    const bool had_buffer = entry.state.tensors[0].defined();
    make_state(entry);
    entry.state.steps += 1;
    Work work{numbers(entry, gradient_factor), entry.parameter, gradients[i], entry.state.tensors};
    work.numbers.first = !had_buffer;
    if (!entry.parameter.is_non_overlapping_and_dense()) {
      work.parameter = Tensor::empty(entry.parameter.sizes(), entry.parameter.dtype());
      kernels::copy_into(work.parameter, entry.parameter);
      copies.emplace_back(entry.parameter, work.parameter);
    }
    if (!same_layout(work.gradient, work.parameter)) {
      work.gradient = copy_like(work.parameter, work.gradient);
    }
    for (Tensor& state : work.state) {
      if (state.defined() && !same_layout(state, work.parameter)) {
        state = copy_like(work.parameter, state);
      }
    }
    entry.state.tensors = work.state;  // In the parameter's layout from now on.
    works.push_back(std::move(work));
  }
  run_works(facts_.rule, works);
  for (const auto& [parameter, copy] : copies) kernels::copy_into(parameter, copy);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (gradients[i].defined()) entries_[i].parameter.bump_version();
  }
}

}  // namespace tierup::training
