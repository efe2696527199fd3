// What a program asks of, or tells, its surroundings: the grad flag, warnings, devices, identity.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>

#include "tierup/kernels/random/generator.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

void give_true(OpCall& call) { call.results[0] = IValue(true); }
void give_false(OpCall& call) { call.results[0] = IValue(false); }
void ignore(OpCall& /*call*/) {}

void is_grad_enabled(OpCall& call) { call.results[0] = IValue(call.context.policy.grad_mode); }
void set_grad_enabled(OpCall& call) { call.context.policy.grad_mode = call.args[0].to_bool(); }

void warn(OpCall& call) {
  const std::string& message = call.args[0].to_str();
  if (call.context.warn) return call.context.warn(message);
  std::fprintf(stderr, "Warning: %s\n", message.c_str());
}

void print_line(OpCall& call) {
  const std::string line = call.args[0].to_str() + "\n";
  if (call.context.print) return call.context.print(line);
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void refuse_save(OpCall& /*call*/) {
  fail(ErrorCode::kUnsupported, "a model may not write files: aten::save is not supported");
}

void device(OpCall& call) {
  Device device = Device::parse(call.args[0].to_str());
  if (call.args.size() > 1) {
    const int64_t index = call.args[1].to_int();
    require(index >= 0 && index < 256, ErrorCode::kInvalidArgument,
            "Device index must be from 0 to 255, not {}", index);
    device.index = static_cast<int16_t>(index);
  }
  call.results[0] = IValue(device);
}
void device_type(OpCall& call) {
  call.results[0] = IValue(std::string(call.args[0].to_device().type_name()));
}
void device_index(OpCall& call) {
  const int16_t index = call.args[0].to_device().index;
  call.results[0] = index < 0 ? IValue() : IValue(int64_t{index});
}

// Of None 0; else stable while the object lives.
void identity_number(OpCall& call) {
  const IValue& object = call.args[0];
  const void* address = object.is_none() ? nullptr : &object.to_object();
  call.results[0] = IValue(static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)));
}

void hash_value(OpCall& call) {
  const IValue& value = call.args[0];
  size_t hash = 0;
  if (value.is_device()) {
    hash = std::hash<std::string>()(value.to_device().to_string());
  } else if (value.is_tuple()) {
    for (const IValue& item : value.to_tuple().items) {
      hash = hash * 1000003 + IValueKeyHash()(item);
    }
  } else {
    require(!value.is_list() && !value.is_dict(), ErrorCode::kTypeError, "unhashable type: '{}'",
            value.tag_name());
    hash = IValueKeyHash()(value);
  }
  call.results[0] = IValue(static_cast<int64_t>(hash));
}

void broadcast_sizes(OpCall& call) {
  const IntVector a = detail::unbox_ints(call.args[0]);
  const IntVector b = detail::unbox_ints(call.args[1]);
  call.results[0] = detail::box_ints(broadcast_shapes(a, b));
}
void same_list(OpCall& call) { call.results[0] = std::move(call.args[0]); }
void size_if_not_equal(OpCall& call) {
  const bool equal = values_equal(call.args[0], call.args[1]);
  call.results[0] = equal ? IValue() : std::move(call.args[0]);
}

void list_to_tensor(OpCall& call) {
  const IntVector values = detail::unbox_ints(call.args[0]);
  const int64_t size[] = {static_cast<int64_t>(values.size())};
  const Tensor tensor = Tensor::empty(size, ScalarType::kLong);
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  call.results[0] = IValue(tensor);
}

void assert_scalar(OpCall& call) {
  require(call.args[0].to_scalar().to_bool(), ErrorCode::kInvalidArgument, "{}",
          call.args[1].to_str());
}
void assert_tensor(OpCall& call) {
  const Tensor& condition = call.args[0].to_tensor();
  const bool has_text = call.args.size() > 1;
  require(
      kernels::item(condition).to_bool(), ErrorCode::kInvalidArgument, "{}",
      has_text ? call.args[1].to_str() : "Expected Tensor with single nonzero value, but got zero");
}
// The functional forms pass a token along, which keeps their order.
template <KernelFn kCheck>
void check_and_pass_token(OpCall& call) {
  IValue token = std::move(call.args.back());
  kCheck(call);
  call.results[0] = std::move(token);
}
void make_token(OpCall& call) {
  call.results[0] = IValue(Tensor::empty(IntVector{0}, ScalarType::kFloat));
}
void constrain_range(OpCall& call) {
  const int64_t value = call.args[0].to_scalar().to_int();
  const bool low = call.args[1].is_none() || value >= call.args[1].to_int();
  const bool high = call.args[2].is_none() || value <= call.args[2].to_int();
  if (!(low && high)) {
    fail(ErrorCode::kOutOfRange, "Invalid value range for {} between [{}, {}]", value,
         to_text(call.args[1]), to_text(call.args[2]));
  }
}
kernels::Generator& generator_of(const IValue& value) {
  auto* generator =
      value.is_capsule() ? dynamic_cast<kernels::Generator*>(value.to_capsule()) : nullptr;
  require(generator != nullptr, ErrorCode::kTypeError, "expected a Generator but got {}",
          value.tag_name());
  return *generator;
}

// Negative seeds are taken modulo 2^64.
void manual_seed(OpCall& call) {
  TIERUP_CHECK(call.context.generator != nullptr);
  const auto guard = call.context.generator->lock();
  call.context.generator->set_seed(static_cast<uint64_t>(call.args[0].to_int()));
}
void seed_generator(OpCall& call) {
  kernels::Generator& generator = generator_of(call.args[0]);
  {
    const auto guard = generator.lock();
    generator.set_seed(static_cast<uint64_t>(call.args[1].to_int()));
  }
  call.results[0] = std::move(call.args[0]);
}
void seed_from_entropy(OpCall& call) {
  kernels::Generator& generator = generator_of(call.args[0]);
  std::random_device entropy;
  const uint64_t seed = (uint64_t{entropy()} << 32) | entropy();
  const auto guard = generator.lock();
  generator.set_seed(seed);
  call.results[0] = IValue(static_cast<int64_t>(seed));
}
void initial_seed(OpCall& call) {
  call.results[0] = IValue(static_cast<int64_t>(generator_of(call.args[0]).seed()));
}
void new_generator(OpCall& call) {
  auto generator = make_ref<kernels::Generator>();
  if (!call.args[1].is_none()) {
    generator->set_seed(static_cast<uint64_t>(call.args[1].to_int()));
  }
  call.results[0] = IValue::capsule(std::move(generator));
}

// The default of each device: nobody sets another one here.
void autocast_dtype(OpCall& call) {
  const bool is_cpu = call.args[0].to_str() == "cpu";
  const ScalarType dtype = is_cpu ? ScalarType::kBFloat16 : ScalarType::kHalf;
  call.results[0] = IValue(static_cast<int64_t>(dtype));
}

void time_point(OpCall& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  call.results[0] = IValue(
      static_cast<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
}

void mark_of_profile(OpCall& call) {
  call.results[0] = IValue(Tensor::empty(IntVector{0}, ScalarType::kFloat));
}

constexpr OpRow kRows[] = {
    {"aten::is_grad_enabled() -> bool", &is_grad_enabled, ir::kReadsPolicy},
    {"aten::set_grad_enabled(bool val) -> ()", &set_grad_enabled, ir::kSideEffect},
    {"aten::is_scripting() -> bool", &give_true},
    {"aten::_get_tracing_state() -> bool", &give_false},
    {"aten::_is_tracing() -> bool", &give_false},
    {"aten::has_torch_function(...) -> bool", &give_false},
    {"aten::is_autocast_enabled() -> bool", &give_false},
    {"aten::is_autocast_cpu_enabled() -> bool", &give_false},
    {"aten::get_autocast_dtype(str device_type) -> ScalarType", &autocast_dtype},
    {"aten::is_vulkan_available() -> bool", &give_false},
    {"aten::_nnpack_available() -> bool", &give_false},
    {"aten::_use_cudnn_rnn_flatten_weight() -> bool", &give_false},
    {"aten::warn(str message, int stacklevel=2) -> ()", &warn, ir::kSideEffect},
    {"aten::_print(str s) -> ()", &print_line, ir::kSideEffect},
    {"aten::save(t item, str filename) -> ()", &refuse_save, ir::kSideEffect},
    {"aten::device(str a) -> Device", &device, ir::kMayRaise},
    {"aten::device.with_index(str type, int index) -> Device", &device, ir::kMayRaise},
    {"prim::type(Device self) -> str", &device_type},
    {"prim::index(Device self) -> int?", &device_index},
    {"prim::id(AnyClassType? x) -> int", &identity_number},
    {"aten::hash.generic(t value) -> int", &hash_value, ir::kMayRaise},
    {"aten::_infer_size(int[] a, int[] b) -> int[]", &broadcast_sizes, ir::kMayRaise},
    {"aten::broadcast_shapes(int[] a, int[] b) -> int[]", &broadcast_sizes, ir::kMayRaise},
    {"aten::Size(int[] sizes) -> int[]", &same_list},
    {"aten::_list_to_tensor(int[] self) -> Tensor", &list_to_tensor},
    {"aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?", &size_if_not_equal},
    {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", &assert_scalar, ir::kMayRaise},
    {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
     &constrain_range, ir::kMayRaise},
    {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
     &constrain_range, ir::kMayRaise},
    {"aten::_assert_async(Tensor self) -> ()", &assert_tensor, ir::kMayRaise},
    {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", &assert_tensor, ir::kMayRaise},
    {"aten::_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     &make_token},
    {"aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
     &check_and_pass_token<&assert_tensor>, ir::kMayRaise},
    {"aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
     &check_and_pass_token<&assert_scalar>, ir::kMayRaise},
    {"aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> "
     "Tensor",
     &check_and_pass_token<&constrain_range>, ir::kMayRaise},
    {"aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor "
     "dep_token) -> Tensor",
     &check_and_pass_token<&constrain_range>, ir::kMayRaise},
    {"aten::manual_seed(int seed) -> ()", &manual_seed, ir::kSideEffect},
    {"aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)", &seed_generator},
    {"aten::seed(Generator(a!) self) -> int", &seed_from_entropy, ir::kNondeterministic},
    {"aten::initial_seed(Generator self) -> int", &initial_seed},
    {"aten::Generator(*, Device? device=None, int? seed=None) -> Generator", &new_generator,
     ir::kNondeterministic},
    {"prim::TimePoint() -> int", &time_point, ir::kNondeterministic},
    {"prim::AddStatValue(str key, int val) -> ()", &ignore, ir::kSideEffect},
    // Marks for profilers. The emitter makes what `_record_function_enter_new` gives.
    {"profiler::_record_function_enter(str name, str? args=None) -> Tensor", &mark_of_profile},
    {"profiler::_record_function_exit(Tensor _0) -> ()", &ignore},
    {"profiler::_record_function_exit._RecordFunction(AnyClassType? _0) -> ()", &ignore},
};

}  // namespace

std::span<const OpRow> environment_rows() { return kRows; }

}  // namespace tierup::ops
