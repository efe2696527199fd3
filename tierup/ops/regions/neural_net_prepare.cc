// What a compile job does with a net: compile for the sizes seen, and compare with tier 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tierup/base/mixed_numbers.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/ops/regions/same_program.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tensor/deviation.h"

namespace tierup::ops {

namespace net = kernels::net;
using net::NetRefusal;

namespace {

// Numbers that look like activations, the same in every process, lying as the given ones do.
IValue synthetic_input(const IValue& like, uint32_t seed) {
  const TensorImpl* given = like.tensor_impl();
  if (given == nullptr) return like;
  const Tensor original = like.to_tensor();
  const Tensor result =
      original.is_non_overlapping_and_dense()
          ? Tensor::empty_strided(original.sizes(), original.strides(), given->dtype)
          : Tensor::empty(original.sizes(), given->dtype);
  if (given->dtype == ScalarType::kFloat) {
    const std::span<float> numbers(result.data<float>(), static_cast<size_t>(result.numel()));
    MixedNumbers(seed).fill(numbers);
    for (float& number : numbers) number *= 1.7F;
  } else {
    std::fill_n(static_cast<char*>(result.raw()), result.bytes(), '\1');
  }
  return result;
}

std::vector<IValue> synthetic_inputs(std::span<const IValue> like) {
  std::vector<IValue> samples;
  for (const IValue& input : like)
    samples.push_back(synthetic_input(input, static_cast<uint32_t>(samples.size())));
  return samples;
}

// Infinite for other sizes or strides.
double relative_error(const Tensor& wanted, const Tensor& found) {
  if (!std::ranges::equal(wanted.sizes(), found.sizes())) return INFINITY;
  if (!std::ranges::equal(wanted.strides(), found.strides())) return INFINITY;
  Deviation deviation;
  // Dense in the same order: places correspond.
  const auto count = static_cast<size_t>(wanted.numel());
  deviation.note_all({found.data<float>(), count}, {wanted.data<float>(), count});
  return deviation.relative();
}

// Views that show a part of another's memory.
bool may_leave_gaps(net::OpKind kind) {
  using Kind = net::OpKind;
  static constexpr Kind kKinds[] = {Kind::kSlice,  Kind::kSelect, Kind::kSplit,   Kind::kChunk,
                                    Kind::kUnbind, Kind::kExpand, Kind::kExpandAs};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

// Every number moved by at most its last bit, up or down.
IValue last_bit_changed(const IValue& value, uint32_t seed) {
  const TensorImpl* given = value.tensor_impl();
  if (given == nullptr || given->dtype != ScalarType::kFloat) return value;
  const Tensor noise = synthetic_input(value, seed + 1000).to_tensor();
  const Tensor original = value.to_tensor();
  auto* moved = noise.data<float>();
  const auto* numbers = original.data<float>();
  const int64_t count = noise.numel();
  for (int64_t i = 0; i < count; ++i)
    moved[i] = numbers[i] * (1 + std::copysign(1.2e-7F, moved[i]));
  return noise;
}

}  // namespace

double NeuralNet::deviation(const std::vector<IValue>& expected,
                            const std::vector<Tensor>& results) {
  double most = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor wanted = expected[i].to_tensor();
    if (wanted.dtype() != ScalarType::kFloat) return INFINITY;
    most = std::max(most, relative_error(wanted, results[i]));
  }
  return most;
}

// A deep net may make much of the last bit of its inputs (ResNet-50 with untrained weights: 1e-4).
// Rounding happens in every layer, so a net may deviate by a few times what that bit makes.
bool NeuralNet::agrees(Entry& entry, std::span<const IValue> inputs,
                       const std::vector<IValue>& expected, RunContext& context) {
  constexpr double kRoundings = 8;
  const double error = deviation(expected, entry.compiled->rehearse(inputs));
  notes_.push_back(
      fmt::format("largest difference from tier 0: {:.1e} of the largest value", error));
  entry.is_close = error < kClose;
  if (entry.is_close) return true;
  if (std::isinf(error)) return false;
  std::vector<IValue> nudged;
  for (const IValue& input : inputs)
    nudged.push_back(last_bit_changed(input, static_cast<uint32_t>(nudged.size())));
  std::vector<Tensor> moved;
  for (const IValue& value : run_twin(nudged, context)) moved.push_back(value.to_tensor());
  const double sensitivity = deviation(expected, moved);
  notes_.push_back(
      fmt::format("a change of its inputs' last bit moves tier 0's result by {:.1e}", sensitivity));
  // Where a last bit makes a NaN or an infinity of a number, nothing can be told.
  return std::isfinite(sensitivity) && error < kRoundings * sensitivity;
}

bool NeuralNet::is_compilable(std::span<const IValue> inputs) {
  try {
    kernels::net::check_program(program_, inputs);
    return true;
  } catch (const Error& error) {
    note_refusal(error);
    return false;
  }
}

void NeuralNet::note_refusal(const Error& error) {
  if (const auto* refused = dynamic_cast<const net::Refused*>(&error)) {
    refuse({refused->reason(), refused->detail()}, refused->operation());
  } else if (const auto* not_compiled = dynamic_cast<const net::NotCompiled*>(&error)) {
    refuse(not_compiled->reason());
  } else {
    refuse({NetRefusal::kNotTaken, error.message()});
  }
}

void NeuralNet::refuse(RefusedNet refusal, std::optional<size_t> operation) {
  if (operation) refused_operation_ = operation;
  const auto is_same = [&](const RefusedNet& known) { return known.reason == refusal.reason; };
  if (std::ranges::none_of(refusals_, is_same)) refusals_.push_back(std::move(refusal));
}

// What tier 0 makes of the samples; nothing where it raises, or makes what no net's result can be.
std::optional<std::vector<IValue>> NeuralNet::expected_of(std::span<const IValue> samples,
                                                          RunContext& context) {
  std::vector<IValue> expected;
  try {
    expected = run_twin(samples, context);
  } catch (const Error& error) {
    refuse({NetRefusal::kTier0Raises, error.message()});
    return std::nullopt;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].tensor_impl() == nullptr) {
      refuse(NetRefusal::kNoTensor);
      return std::nullopt;
    }
    if (expected[i].to_tensor().is_non_overlapping_and_dense()) continue;
    refuse(NetRefusal::kLeavesGaps, maker_of_gaps(i));
    return std::nullopt;
  }
  return expected;
}

void NeuralNet::refuse_gaps() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t at = 0; at < program_.ops.size() && !refused_operation_; ++at) {
    const net::Op& op = program_.ops[at];
    const bool is_result = std::ranges::any_of(op.outputs, [&](int value) {
      return std::ranges::find(program_.outputs, value) != program_.outputs.end();
    });
    if (is_result && may_leave_gaps(op.kind)) refuse(NetRefusal::kMayLeaveGaps, at);
  }
}

// The operator that made a view with gaps of which output `i` is, or is a view: it is better left
// outside.
std::optional<size_t> NeuralNet::maker_of_gaps(size_t i) const {
  int value = program_.outputs[i];
  for (size_t at = program_.ops.size(); at-- > 0;) {
    const kernels::net::Op& op = program_.ops[at];
    if (std::find(op.outputs.begin(), op.outputs.end(), value) == op.outputs.end()) continue;
    if (may_leave_gaps(op.kind)) return at;
    if (op.args.empty() || !op.args[0].is_value()) break;
    value = op.args[0].value;
  }
  return std::nullopt;
}

Ref<NeuralNet::Entry> NeuralNet::make_entry(const Sizes& sizes, std::span<const IValue> inputs,
                                            bool measures) {
  auto refused = make_ref<Entry>(sizes);
  if (is_distrusted_) return refused;
  const std::vector<IValue> samples = synthetic_inputs(inputs);
  if (!is_compilable(samples)) return refused;
  RunContext context;
  const auto expected = expected_of(samples, context);
  if (!expected) return refused;
  release_thread_cache();  // What tier 0 used goes before the net's own memory comes.
  std::vector<IntVector> strides;
  for (const IValue& value : *expected) strides.push_back(value.tensor_impl()->strides);
  auto entry = compile(sizes, samples, measures, is_fast_, strides);
  if (entry->compiled == nullptr || agrees(*entry, samples, *expected, context)) return entry;
  notes_.emplace_back("differs from tier 0: compiled again without Winograd");
  entry = compile(sizes, samples, false, false, strides);
  if (entry->compiled == nullptr || agrees(*entry, samples, *expected, context)) return entry;
  refuse(NetRefusal::kDiffers);
  is_distrusted_ = true;
  return refused;
}

namespace {

// A single number may decide what is compiled: it has to be the same, bit by bit.
bool is_same_or_weight(const net::Arg& a, const net::Arg& b) {
  const TensorImpl* tensor = a.constant.tensor_impl();
  if (tensor == nullptr) return is_same_constant_of(a, b);
  if (!InputForm(*tensor).holds(b.constant)) return false;
  const Tensor number = a.constant.to_tensor();
  return number.numel() != 1 ||
         std::memcmp(number.raw(), b.constant.to_tensor().raw(), number.bytes()) == 0;
}

}  // namespace

bool NeuralNet::differs_in_weights_alone(const NeuralNet& other) const {
  return rows_ == other.rows_ && is_fast_ == other.is_fast_ &&
         same_program(program_, other.program_, is_same_or_weight);
}

Ref<NeuralNet::Entry> NeuralNet::make_entry_like(const Entry& known, std::span<const IValue> inputs,
                                                 bool measures) {
  if (!known.is_close) return nullptr;
  Ref<Entry> entry =
      compile(known.sizes, inputs, measures, is_fast_, known.output_strides, known.compiled.get());
  if (entry->compiled == nullptr) return nullptr;
  entry->is_close = true;
  return entry;
}

std::optional<NeuralNet::Sizes> NeuralNet::prepared_sizes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return prepared_;
}

bool NeuralNet::serves_other_weights() const {
  const std::optional<Sizes> sizes = prepared_sizes();
  if (!sizes) return true;
  const Ref<const Entry> entry = find(sizes->stand_ins(), sizes->threads);
  return entry != nullptr && entry->is_close;
}

Ref<NeuralNet> NeuralNet::over(const SuccessorOf& successor_of) const {
  net::Program program = program_;
  for (net::Op& op : program.ops) {
    for (net::Arg& arg : op.args) {
      if (arg.is_value()) continue;
      std::optional<IValue> successor = successor_of(arg.constant);
      if (!successor) return nullptr;
      arg.constant = std::move(*successor);
    }
  }
  auto net = make_ref<NeuralNet>(std::move(program), rows_, is_fast_);
  if (!net->differs_in_weights_alone(*this)) return nullptr;
  net->prepared_ = prepared_sizes();
  const std::lock_guard<std::mutex> lock(net->mutex_);
  if (!net->take_sizes_of(*this)) return nullptr;
  net->give_back_sources();
  return net;
}

// Those that calls came with as well: each would need a job of its own, beside calls, once more.
bool NeuralNet::take_sizes_of(const NeuralNet& older) {
  Ref<const Entry> needed;
  if (prepared_) needed = older.find(prepared_->stand_ins(), prepared_->threads);
  for (const Ref<const Entry>& known : older.entries_.entries()) {
    const bool is_needed = known == needed;
    if (const Ref<Entry> entry = make_entry_like(*known, known->sizes.stand_ins(), is_needed)) {
      install(entry);
    } else if (is_needed) {
      return false;
    }
  }
  return true;
}

void NeuralNet::give_back_sources() const {
  for (const net::Op& op : program_.ops) {
    for (const net::Arg& arg : op.args) {
      if (!arg.is_value() && arg.constant.is_tensor())
        kernels::give_back_left_pages(arg.constant.to_tensor());
    }
  }
}

bool NeuralNet::prepare(std::span<const IValue> inputs, int threads, const NeuralNet* older) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!are_taken(inputs)) {
    refuse(NetRefusal::kOtherInputs);
    return false;
  }
  Ref<const Entry> entry = find(inputs, threads);
  if (!prepared_) prepared_.emplace(inputs, threads);
  if (entry == nullptr) {
    const Sizes sizes(inputs, threads);
    const Ref<const Entry> known = older != nullptr ? older->find(inputs, threads) : nullptr;
    if (known != nullptr) entry = make_entry_like(*known, inputs, true);
    if (entry == nullptr) entry = make_entry(sizes, inputs, true);
    install(entry);
    give_back_sources();
  }
  return entry->compiled != nullptr;
}

bool NeuralNet::prepare_unconfirmed(std::span<const IValue> inputs, int threads,
                                    std::vector<IntVector> strides) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!are_taken(inputs)) {
    refuse(NetRefusal::kOtherInputs);
    return false;
  }
  if (!prepared_) prepared_.emplace(inputs, threads);
  const Sizes sizes(inputs, threads);
  Ref<Entry> entry = is_compilable(inputs) ? compile(sizes, inputs, true, is_fast_, strides)
                                           : make_ref<Entry>(sizes);
  if (entry->compiled != nullptr) {
    entry->standing.store(Entry::Standing::kUntried);
    unconfirmed_ = entry;
  }
  install(entry);
  give_back_sources();
  return entry->compiled != nullptr;
}

// The call's own numbers, in the place of made-up ones.
std::vector<IValue> NeuralNet::rehearse(const Entry& entry, std::span<const IValue> inputs) {
  std::vector<IValue> results;
  for (Tensor& result : entry.compiled->rehearse(inputs)) results.emplace_back(std::move(result));
  entry.standing.store(Entry::Standing::kTried, std::memory_order_relaxed);
  return results;
}

bool NeuralNet::confirm(bool agreed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Ref<Entry> entry = std::exchange(unconfirmed_, nullptr);
  if (entry == nullptr) return true;
  if (agreed && entry->standing.load() == Entry::Standing::kTried) {
    entry->is_close = true;
  } else if (!agrees_with_twin(*entry)) {
    return false;
  }
  entry->standing.store(Entry::Standing::kConfirmed);
  return true;
}

bool NeuralNet::agrees_with_twin(Entry& entry) {
  const std::vector<IValue> samples = synthetic_inputs(entry.sizes.stand_ins());
  RunContext context;
  const ThreadCountScope scope(entry.sizes.threads);
  const auto expected = expected_of(samples, context);
  return expected && agrees(entry, samples, *expected, context);
}

}  // namespace tierup::ops
