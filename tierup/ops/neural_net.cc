#include "tierup/ops/neural_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/ops/boxing.h"
#include "tierup/ops/families.h"

namespace tierup::ops {

namespace net = kernels::net;

struct NeuralNet::Entry {
  Key key;
  std::unique_ptr<net::CompiledNet> compiled;  // Null: refused.
};

NeuralNet::NeuralNet(net::Program program, std::vector<KernelFn> kernels, bool is_fast)
    : program_(std::move(program)),
      kernels_(std::move(kernels)),
      is_fast_(is_fast),
      weights_(net::make_weight_store()) {}

NeuralNet::~NeuralNet() {
  for (auto& entry : entries_) delete entry.load();
}

// False for inputs that no net takes: other values than dense numbers, and lists of ints.
bool NeuralNet::make_key(std::span<const IValue> inputs, int threads, Key& key) {
  key.push_back(threads);
  for (const IValue& input : inputs) {
    key.push_back(static_cast<int64_t>(input.tag()));
    if (const TensorImpl* tensor = input.tensor_impl()) {
      if (tensor->conjugate || tensor->negative ||
          tensor->storage->device().type == DeviceType::kMeta) {
        return false;
      }
      key.push_back(static_cast<int64_t>(tensor->dtype));
      key.push_back(static_cast<int64_t>(tensor->sizes.size()));
      key.insert(key.end(), tensor->sizes.begin(), tensor->sizes.end());
      // How the input lies decides how tier 0's results lie.
      key.push_back(tensor->contiguous ? 1 : 0);
      if (!tensor->contiguous)
        key.insert(key.end(), tensor->strides.begin(), tensor->strides.end());
    } else if (input.is_int() || input.is_bool()) {
      key.push_back(input.is_int() ? input.to_int() : int64_t{input.to_bool()});
    } else if (input.is_list()) {
      const auto& items = input.to_list().items;
      key.push_back(static_cast<int64_t>(items.size()));
      for (const IValue& item : items) {
        if (!item.is_int()) return false;
        key.push_back(item.to_int());
      }
    } else if (!input.is_none()) {
      return false;
    }
  }
  return true;
}

const NeuralNet::Entry* NeuralNet::find(const Key& key) const {
  for (const auto& slot : entries_) {
    const Entry* entry = slot.load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->key == key) return entry;
  }
  return nullptr;
}

void NeuralNet::install(std::unique_ptr<Entry> entry) {
  for (auto& slot : entries_) {
    if (slot.load() != nullptr) continue;
    slot.store(entry.release(), std::memory_order_release);
    return;
  }
}

std::vector<IValue> NeuralNet::run(std::span<IValue> inputs, RunContext& context) {
  Key key;
  if (!make_key(inputs, intra_op_threads(), key)) {
    twin_calls_.fetch_add(1, std::memory_order_relaxed);
    return run_twin(inputs, context);
  }
  const Entry* entry = find(key);
  if (entry == nullptr) return miss(key, inputs, context);
  if (entry->compiled == nullptr) {
    twin_calls_.fetch_add(1, std::memory_order_relaxed);
    return run_twin(inputs, context);
  }
  std::vector<Tensor> results = entry->compiled->run(inputs);
  return {std::make_move_iterator(results.begin()), std::make_move_iterator(results.end())};
}

NeuralNet::Sight* NeuralNet::find_sight(const Key& key) {
  const auto found = std::find_if(seen_.begin(), seen_.end(),
                                  [&](const Sight& sight) { return sight.key == key; });
  return found == seen_.end() ? nullptr : &*found;
}

// The first sight of sizes runs the twin, whose results say how they are to lie; the second
// has them compiled for: in the background, if there is one, or else at once.
std::vector<IValue> NeuralNet::miss(const Key& key, std::span<const IValue> inputs,
                                    RunContext& context) {
  {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    Sight* sight = lock.owns_lock() ? find_sight(key) : nullptr;
    if (lock.owns_lock() && sight == nullptr) return first_sight(key, inputs, context);
    if (sight != nullptr && !sight->is_pending && entries_.back().load() == nullptr) {
      if (context.background != nullptr) {
        sight->is_pending = true;
        compile_later(*sight, inputs, *context.background);
      } else {
        compile_sight(*sight, inputs, intra_op_threads());
      }
    }
  }
  const Entry* entry = find(key);
  if (entry == nullptr || entry->compiled == nullptr) {
    twin_calls_.fetch_add(1, std::memory_order_relaxed);
    return run_twin(inputs, context);
  }
  std::vector<Tensor> results = entry->compiled->run(inputs);
  return {std::make_move_iterator(results.begin()), std::make_move_iterator(results.end())};
}

std::vector<IValue> NeuralNet::first_sight(const Key& key, std::span<const IValue> inputs,
                                           RunContext& context) {
  twin_calls_.fetch_add(1, std::memory_order_relaxed);
  std::vector<IValue> results = run_twin(inputs, context);
  Sight sight{key, {}};
  for (const IValue& result : results) {
    const TensorImpl* tensor = result.tensor_impl();
    sight.strides.push_back(tensor != nullptr ? tensor->strides : IntVector());
  }
  if (seen_.size() >= 4 * kMostEntries) seen_.erase(seen_.begin());
  seen_.push_back(std::move(sight));
  return results;
}

void NeuralNet::compile_sight(Sight& sight, std::span<const IValue> inputs, int threads) {
  install(compile(sight.key, inputs, threads, false, is_fast_, sight.strides));
  seen_.erase(seen_.begin() + (&sight - seen_.data()));
}

// Compiling reads sizes and strides alone: tensors like the inputs stand in for them, so that the
// caller's are neither kept nor read after the call.
void NeuralNet::compile_later(const Sight& sight, std::span<const IValue> inputs,
                              BackgroundWork& work) {
  std::vector<IValue> alike;
  for (const IValue& input : inputs) {
    const TensorImpl* tensor = input.tensor_impl();
    alike.push_back(tensor == nullptr
                        ? input
                        : IValue(Tensor::empty_strided(
                              {tensor->sizes.data(), tensor->sizes.size()},
                              {tensor->strides.data(), tensor->strides.size()}, tensor->dtype)));
  }
  work.push([self = Ref<NeuralNet>(this), key = sight.key, alike = std::move(alike),
             threads = intra_op_threads()] {
    const std::lock_guard<std::mutex> lock(self->mutex_);
    Sight* pending = self->find_sight(key);
    const bool has_room = self->entries_.back().load() == nullptr;
    if (pending != nullptr && has_room) self->compile_sight(*pending, alike, threads);
  });
}

std::unique_ptr<NeuralNet::Entry> NeuralNet::compile(const Key& key, std::span<const IValue> inputs,
                                                     int threads, bool measures, bool is_fast,
                                                     const std::vector<IntVector>& strides) {
  auto entry = std::make_unique<Entry>();
  entry->key = key;
  net::CompileOptions options;
  options.threads = threads;
  options.is_fast = is_fast;
  options.measures = measures;
  options.output_strides = strides;
  try {
    const ThreadCountScope scope(threads);
    entry->compiled = net::compile_net(program_, inputs, options, weights_);
    for (const std::string& note : entry->compiled->notes()) notes_.push_back(note);
  } catch (const Error& error) {
    notes_.push_back(fmt::format("refused: {}", error.message()));
  }
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
    if (op.kind == net::OpKind::kList) {
      values[static_cast<size_t>(op.outputs[0])] =
          make_ref<ListValue>(Type::simple(TypeKind::kInt), arguments);
      continue;
    }
    std::vector<IValue> results(op.result_count);
    OpCall call{.args = arguments, .results = results, .context = context};
    kernels_[i](call);
    if (op.outputs.size() > results.size() && results[0].is_list()) {
      std::vector<IValue> items = results[0].to_list().items;
      results = std::move(items);
      require(results.size() == op.outputs.size(), ErrorCode::kInvalidArgument,
              "Expected {} elements in a list but found {}", op.outputs.size(), results.size());
    }
    for (size_t r = 0; r < op.outputs.size(); ++r)
      values[static_cast<size_t>(op.outputs[r])] = std::move(results[r]);
    for (const int dead : op.last_reads) values[static_cast<size_t>(dead)] = IValue();
  }
  std::vector<IValue> outputs;
  for (const int output : program_.outputs) outputs.push_back(values[static_cast<size_t>(output)]);
  return outputs;
}

namespace {

// Numbers that look like activations, the same in every process.
IValue made_up(const IValue& like, uint32_t seed) {
  const TensorImpl* given = like.tensor_impl();
  if (given == nullptr) return like;
  const Tensor result = Tensor::empty({given->sizes.data(), given->sizes.size()}, given->dtype);
  uint32_t state = seed * 2654435761U + 1;
  const auto next = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  };
  if (given->dtype == ScalarType::kFloat) {
    for (int64_t i = 0; i < result.numel(); ++i) result.data<float>()[i] = 1.7F * next();
  } else {
    std::fill_n(static_cast<char*>(result.raw()), result.bytes(), '\1');
  }
  return result;
}

// The largest difference, relative to the largest value; infinite for other sizes or NaN.
double relative_error(const Tensor& a, const Tensor& b) {
  if (a.numel() != b.numel() || !std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin()))
    return INFINITY;
  if (!std::equal(a.strides().begin(), a.strides().end(), b.strides().begin())) return INFINITY;
  double most = 0;
  double top = 1e-30;
  for (int64_t i = 0; i < a.numel(); ++i) {
    // Dense in the same order: places correspond.
    const double x = a.data<float>()[i];
    const double y = b.data<float>()[i];
    const double difference = std::abs(x - y);
    if (std::isnan(difference) && !(std::isnan(x) && std::isnan(y)) && x != y) return INFINITY;
    if (difference > most) most = difference;
    top = std::max(top, std::abs(x));
  }
  return most / top;
}

}  // namespace

bool NeuralNet::agrees(const Entry& entry, std::span<const IValue> inputs,
                       const std::vector<IValue>& expected) {
  constexpr double kBound = 1e-4;  // Rounding of a deep net, on numbers without structure.
  const std::vector<Tensor> results = entry.compiled->run(inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor wanted = expected[i].to_tensor();
    if (wanted.dtype() != ScalarType::kFloat) return false;
    const double error = relative_error(wanted, results[i]);
    notes_.push_back(
        fmt::format("largest difference from tier 0: {:.1e} of the largest value", error));
    if (!(error < kBound)) return false;
  }
  return true;
}

bool NeuralNet::prepare(std::span<const IValue> inputs, int threads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Key key;
  if (!make_key(inputs, threads, key)) return false;
  if (const Entry* entry = find(key)) return entry->compiled != nullptr;
  std::vector<IValue> samples;
  for (const IValue& input : inputs)
    samples.push_back(made_up(input, static_cast<uint32_t>(samples.size())));
  RunContext context;
  std::vector<IValue> expected;
  try {
    expected = run_twin(samples, context);
  } catch (const Error& error) {
    notes_.push_back(fmt::format("tier 0 raises on such inputs: {}", error.message()));
    return false;
  }
  std::vector<IntVector> strides;
  for (const IValue& value : expected) {
    const TensorImpl* tensor = value.tensor_impl();
    if (tensor == nullptr || !value.to_tensor().is_non_overlapping_and_dense()) return false;
    strides.push_back(tensor->strides);
  }
  auto entry = compile(key, samples, threads, true, is_fast_, strides);
  if (entry->compiled != nullptr && !agrees(*entry, samples, expected)) {
    notes_.emplace_back("differs from tier 0: compiled again without Winograd");
    entry = compile(key, samples, threads, false, false, strides);
    if (entry->compiled != nullptr && !agrees(*entry, samples, expected)) entry->compiled = nullptr;
  }
  const bool is_compiled = entry->compiled != nullptr;
  install(std::move(entry));
  return is_compiled;
}

std::vector<std::string> NeuralNet::notes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return notes_;
}

size_t NeuralNet::net_count() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& slot) {
    const Entry* entry = slot.load();
    return entry != nullptr && entry->compiled != nullptr;
  }));
}

namespace {

std::vector<IValue> run_net(OpCall& call) {
  auto* object = dynamic_cast<NeuralNet*>(call.args[0].to_capsule());
  require(object != nullptr, ErrorCode::kInvalidArgument, "not a compiled net");
  return object->run(call.args.subspan(1), call.context);
}

void run_one(OpCall& call) {
  std::vector<IValue> results = run_net(call);
  call.results[0] = std::move(results.at(0));
}

void run_many(OpCall& call) {
  call.results[0] = make_ref<ListValue>(Type::tensor(), run_net(call));
}

constexpr auto kRows = std::to_array<OpRow>({
    {"tierup::neural_net(Capsule net, ...) -> Tensor", &run_one},
    {"tierup::neural_nets(Capsule net, ...) -> Tensor[]", &run_many},
});

}  // namespace

std::span<const OpRow> neural_net_rows() { return kRows; }

}  // namespace tierup::ops
