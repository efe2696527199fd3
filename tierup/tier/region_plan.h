// RegionPlan: a part of a recorded program, compiled for inputs of one form: a plan for its
// results and captures, and one for its backward pass.
//
// It rests on the inputs' geometry, dtypes and flags, and on the values of those that are no
// tensors; never on what tensors hold. So a step of an optimiser leaves it standing.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tierup/autodiff/region_trace.h"
#include "tierup/base/recently_used.h"
#include "tierup/ops/regions/input_form.h"
#include "tierup/runtime/program.h"
#include "tierup/tier/tier_report.h"
#include "tierup/tier/tiering_options.h"

namespace tierup::tier {

// What is assumed of one input.
struct RecordedForm : ops::InputForm {
  bool requires_grad = false;
  bool wrapped_number = false;

  explicit RecordedForm(const IValue& value);
  bool holds(const IValue& value) const;
};

// Which outputs got a gradient, bit by bit.
using CotangentMask = uint64_t;
inline constexpr size_t kMostOutputs = 64;

// What to compile for. Made in the calling thread: floating-point tensors by their forms alone,
// since others may write them meanwhile; numbers of other dtypes, which are indices as a rule, as
// copies.
struct RegionRequest {
  std::vector<RecordedForm> inputs;
  std::vector<Tensor> copies;  // By input; undefined for floating-point tensors and constants.
  // Of the backward plan; all outputs that require gradients if there is none.
  std::optional<CotangentMask> mask;

  explicit RegionRequest(std::span<const IValue> args);
};

// Constant but for its counters.
struct RegionPlan final : public RefCounted, public UseMark {
  std::vector<RecordedForm> inputs;
  std::unique_ptr<runtime::Plan> forward;  // Null if the part cannot be compiled for such inputs.
  std::string refusal;                     // Why not.
  std::vector<bool> records;               // By output: whether it requires gradients.
  std::vector<CotangentMask> shares;       // By output: RegionTrace::outputs_that_share().
  std::vector<bool> written;               // By input: whether the part writes it.
  bool is_recorded = false;                // Some output requires gradients.
  // Of the backward pass.
  CotangentMask mask = 0;
  std::unique_ptr<runtime::Plan> backward;
  std::vector<autodiff::RegionTrace::Capture> captures;
  // By capture: which value of the part it is, counted in the same way for every mask.
  std::vector<autodiff::TraceId> capture_ids;
  std::vector<int64_t> gradient_of;  // By tensor input.
  // For reports.
  size_t captured_bytes = 0;
  size_t forward_calls = 0;
  size_t backward_calls = 0;
  std::vector<StepReport> steps;
  mutable std::atomic<uint64_t> runs{0};
  mutable std::atomic<uint64_t> backward_runs{0};
  // A backward pass that came for other outputs: to be compiled for as well.
  mutable std::atomic<CotangentMask> missed{0};
  // Plans for fewer outputs, whose backward passes alone are run, on captures of this one's
  // forward. Made by the pass that comes for them after inputs were written, which nothing else can
  // answer.
  mutable std::mutex narrowing;
  mutable std::vector<Ref<const RegionPlan>> narrower;

  bool suits(std::span<const IValue> args) const { return ops::all_hold(inputs, args); }
};

// Runs `body`, tier 0's plan of the part, on made-up inputs. Never throws for what cannot be
// compiled: the plan says why. Runs in compile jobs, or in the call where compile is blocking.
Ref<RegionPlan> compile_region(const RegionRequest& request, const runtime::Plan& body,
                               runtime::Program& program, const TieringOptions& options);

}  // namespace tierup::tier
