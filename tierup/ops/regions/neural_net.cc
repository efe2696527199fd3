#include "tierup/ops/regions/neural_net.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/base/wait_policy.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tensor/block_owner.h"

namespace tierup::ops {

namespace net = kernels::net;

namespace {

// Sizes that a net of few steps has places for, and one of any; steps of all of them together,
// which take some tens of megabytes.
constexpr size_t kMostPlaces = 256;
constexpr size_t kFewestPlaces = 16;
constexpr size_t kMostSteps = size_t{1} << 12;

// Whether whoever calls wants no more of the call.
bool is_stopped(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  return error != nullptr &&
         (error->code() == ErrorCode::kCancelled || error->code() == ErrorCode::kDeadlineExceeded);
}

}  // namespace

NeuralNet::NeuralNet(net::Program program, std::vector<const Op*> rows, bool is_fast)
    : program_(std::move(program)),
      rows_(std::move(rows)),
      is_fast_(is_fast),
      weights_(net::make_weight_store()) {}

NeuralNet::Sizes::Sizes(std::span<const IValue> given, int thread_count)
    : inputs(given.begin(), given.end()), threads(thread_count) {}

std::vector<IValue> NeuralNet::Sizes::stand_ins() const {
  std::vector<IValue> values;
  for (const InputForm& form : inputs) values.push_back(form.stand_in());
  return values;
}

bool NeuralNet::are_taken(std::span<const IValue> inputs) {
  const auto is_int = [](const IValue& item) { return item.is_int(); };
  return std::ranges::all_of(inputs, [&](const IValue& input) {
    if (const TensorImpl* tensor = input.tensor_impl()) return is_plain(*tensor);
    if (input.is_list()) return std::ranges::all_of(input.to_list().items, is_int);
    return input.is_int() || input.is_bool() || input.is_float() || input.is_none();
  });
}

Ref<const NeuralNet::Entry> NeuralNet::find(std::span<const IValue> inputs, int threads) const {
  return entries_.find(
      [&](const Ref<const Entry>& entry) { return entry->sizes.suit(inputs, threads); });
}

size_t NeuralNet::places_of(const Entries& entries) {
  size_t steps = 0;
  for (const Ref<const Entry>& entry : entries)
    steps += entry->compiled != nullptr ? entry->compiled->step_count() : 0;
  const size_t each = steps / std::max<size_t>(entries.size(), 1);
  return std::clamp(kMostSteps / std::max<size_t>(each, 1), kFewestPlaces, kMostPlaces);
}

void NeuralNet::install(Ref<const Entry> entry) {
  replacements_ += entries_.add(
      std::move(entry), [](const Entries& entries) { return entries.size() > places_of(entries); });
}

std::vector<IValue> NeuralNet::run(std::span<IValue> inputs, RunContext& context) {
  if (const Ref<const Entry> entry = find(inputs, allowed_threads()))
    return run_entry(*entry, inputs, context);
  return are_taken(inputs) ? miss(inputs, context)
                           : run_twin_for(TwinReason::kOtherInputs, inputs, context);
}

std::vector<IValue> NeuralNet::run_entry(const Entry& entry, std::span<const IValue> inputs,
                                         RunContext& context) {
  if (entry.compiled == nullptr) return run_twin_for(TwinReason::kNotCompiled, inputs, context);
  if (entry.standing.load(std::memory_order_relaxed) != Entry::Standing::kConfirmed)
    return rehearse(entry, inputs);
  if (auto results = entry.compiled->run(inputs)) {
    compiled_calls_.fetch_add(1, std::memory_order_relaxed);
    return {std::make_move_iterator(results->begin()), std::make_move_iterator(results->end())};
  }
  return run_twin_for(TwinReason::kNans, inputs, context);
}

NeuralNet::Newcomer* NeuralNet::find_newcomer(std::span<const IValue> inputs, int threads) {
  return newcomers_.find([&](const Sizes& sizes) { return sizes.suit(inputs, threads); });
}

// The first call with sizes runs the twin; the second has them compiled for: in the background, if
// there is one, or else at once.
std::vector<IValue> NeuralNet::miss(std::span<const IValue> inputs, RunContext& context) {
  const int threads = allowed_threads();
  {
    const LastingAllocations lasting;
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    Newcomer* newcomer = lock.owns_lock() ? find_newcomer(inputs, threads) : nullptr;
    try {
      if (lock.owns_lock()) note_call(newcomer, inputs, context);
    } catch (const std::exception& error) {
      if (is_stopped(error)) {
        if (newcomer != nullptr) newcomer->is_pending = false;
        throw;
      }
      // Not the call's failure: the twin answers it, and those to come with such sizes.
      note_failure(error.what());
    }
  }
  if (const Ref<const Entry> entry = find(inputs, threads))
    return run_entry(*entry, inputs, context);
  return run_twin_for(TwinReason::kNewSizes, inputs, context);
}

void NeuralNet::note_call(Newcomer* newcomer, std::span<const IValue> inputs,
                          const RunContext& context) {
  if (newcomer == nullptr) {
    newcomers_.add(Sizes(inputs, allowed_threads()));
    return;
  }
  ++newcomer->calls;
  if (newcomer->is_pending || !is_worth_compiling(*newcomer)) return;
  newcomer->is_pending = true;
  if (context.background != nullptr) {
    compile_later(*newcomer, *context.background);
  } else {
    compile_newcomer(*newcomer, inputs);
  }
}

void NeuralNet::note_failure(const char* message) noexcept {
  try {
    refuse({net::NetRefusal::kFailed, message});
  } catch (const std::exception&) {
    return;  // No memory for the note either.
  }
}

bool NeuralNet::is_worth_compiling(const Newcomer& newcomer) const {
  const auto [count, places] = entries_.read(
      [](const Entries& entries) { return std::pair(entries.size(), places_of(entries)); });
  return count >= places ? Newcomers<Sizes>::may_replace(newcomer, places, replacements())
                         : newcomer.calls >= 2;
}

void NeuralNet::compile_newcomer(Newcomer& newcomer, std::span<const IValue> inputs) {
  install(make_entry(newcomer.key, inputs, false));
  give_back_sources();
  newcomers_.remove(newcomer);
}

// Compiling reads sizes and strides alone: tensors like the inputs stand in for them, so that the
// caller's are neither kept nor read after the call. The job makes them: memory that one thread
// takes and another gives back would be asked of the system each time, in the call.
void NeuralNet::compile_later(const Newcomer& newcomer, BackgroundWork& work) {
  work.push([self = Ref<NeuralNet>(this), sizes = newcomer.key] {
    const std::vector<IValue> alike = sizes.stand_ins();
    const std::lock_guard<std::mutex> lock(self->mutex_);
    if (Newcomer* pending = self->find_newcomer(alike, sizes.threads))
      self->compile_newcomer(*pending, alike);
  });
}

Ref<NeuralNet::Entry> NeuralNet::compile(const Sizes& sizes, std::span<const IValue> inputs,
                                         bool measures, bool is_fast,
                                         const std::vector<IntVector>& strides,
                                         const net::CompiledNet* like) {
  auto entry = make_ref<Entry>(sizes);
  entry->output_strides = strides;
  net::CompileOptions options;
  options.threads = sizes.threads;
  options.is_fast = is_fast;
  options.measures = measures;
  options.output_strides = strides;
  if (like != nullptr) {
    options.uses_workers = like->uses_workers();
    options.pieces = like->pieces();
  }
  try {
    const OutsideRunScope outside;
    const ThreadCountScope scope(sizes.threads);
    entry->compiled = net::compile_net(program_, inputs, options, weights_);
    for (const std::string& note : entry->compiled->notes()) notes_.push_back(note);
  } catch (const Error& error) {
    note_refusal(error);
  }
  release_thread_cache();  // Copies of weights, which were packed of them.
  return entry;
}

std::vector<IValue> NeuralNet::run_twin(std::span<const IValue> inputs, RunContext& context) const {
  std::vector<IValue> values(static_cast<size_t>(program_.value_count));
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(program_.inputs[i])] = inputs[i];
  std::vector<IValue> arguments;
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    const net::Op& op = program_.ops[i];
    arguments.clear();
    for (const net::Arg& arg : op.args)
      arguments.push_back(arg.is_value() ? values[static_cast<size_t>(arg.value)] : arg.constant);
    const auto drop_dead = [&] {
      for (const int dead : op.last_reads) values[static_cast<size_t>(dead)] = IValue();
    };
    drop_dead();  // The operator may write over an operand of which it has the only reference.
    if (op.kind == net::OpKind::kList || op.kind == net::OpKind::kTensors) {
      const bool holds_ints = op.kind == net::OpKind::kList;
      values[static_cast<size_t>(op.outputs[0])] = make_ref<ListValue>(
          holds_ints ? Type::simple(TypeKind::kInt) : Type::tensor(), arguments);
      continue;
    }
    std::vector<IValue> results(op.result_count);
    OpCall call{.args = arguments, .results = results, .context = context};
    rows_[i]->kernel()(call);
    if (gives_parts(op.kind)) {
      std::vector<IValue> items = results[0].to_list().items;
      results = std::move(items);
      require(results.size() == op.outputs.size(), ErrorCode::kInvalidArgument,
              "Expected {} elements in a list but found {}", op.outputs.size(), results.size());
    }
    for (size_t r = 0; r < op.outputs.size(); ++r)
      values[static_cast<size_t>(op.outputs[r])] = std::move(results[r]);
    drop_dead();  // Results that nobody reads.
  }
  std::vector<IValue> outputs;
  for (const int output : program_.outputs) outputs.push_back(values[static_cast<size_t>(output)]);
  return outputs;
}

std::vector<IValue> NeuralNet::run_twin_for(TwinReason reason, std::span<const IValue> inputs,
                                            RunContext& context) {
  twin_calls_.count(reason);
  return run_twin(inputs, context);
}

namespace {

// "conv2d", without namespace and overload.
std::string_view short_name(const Op* row) {
  if (row == nullptr) return "list";
  const std::string_view name = row->schema().name;
  return name.substr(name.find("::") + 2);
}

}  // namespace

StepReport NeuralNet::step_report() const {
  StepReport report{
      "net", {}, compiled_calls_.load(std::memory_order_relaxed), twin_calls_.counts(), {}};
  std::vector<std::pair<std::string_view, int>> names;
  for (const Op* row : rows_) {
    const std::string_view name = short_name(row);
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&](const auto& other) { return other.first == name; });
    if (known != names.end()) {
      ++known->second;
    } else {
      names.emplace_back(name, 1);
    }
  }
  for (const auto& [name, times] : names)
    report.what += fmt::format("{}{} {}", report.what.empty() ? "" : ", ", times, name);
  const std::vector<RefusedNet> refused = refusals();
  if (!refused.empty()) report.refusal = refused.back().text();
  return report;
}

std::optional<size_t> NeuralNet::refused_operation() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refused_operation_;
}

std::vector<std::string> NeuralNet::notes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return notes_;
}

std::vector<RefusedNet> NeuralNet::refusals() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refusals_;
}

std::vector<std::string> NeuralNet::operators() const {
  std::vector<std::string> names;
  for (const Op* row : rows_)
    names.push_back(row != nullptr ? row->schema().qualified_name() : "a number or list");
  return names;
}

size_t NeuralNet::held_bytes() const { return net::held_bytes(*weights_); }

size_t NeuralNet::net_count() const {
  const Entries entries = entries_.entries();
  return static_cast<size_t>(
      std::ranges::count_if(entries, [](const auto& entry) { return entry->compiled != nullptr; }));
}

namespace {

void run_net(OpCall& call) {
  auto* object = dynamic_cast<NeuralNet*>(call.args[0].to_capsule());
  require(object != nullptr, ErrorCode::kInvalidArgument, "not a compiled net");
  std::vector<IValue> results = object->run(call.args.subspan(1), call.context);
  require(results.size() == call.results.size(), ErrorCode::kInvalidArgument,
          "a net has {} results, not {}", results.size(), call.results.size());
  std::ranges::move(results, call.results.begin());
}

constexpr auto kRows = std::to_array<OpRow>({
    // The net, then its inputs; its outputs.
    {"tierup::neural_net(Capsule net, ...) -> ...", &run_net, ir::kNoEffect, nullptr,
     facts(Role::kNeuralNet)},
});

}  // namespace

std::span<const OpRow> neural_net_rows() { return kRows; }

}  // namespace tierup::ops
