// The functions of tierup_host over IValues. None throws: a plugin may be plain C.
#include "tierup/executor/plugin_call.h"

#include "tierup/base/error.h"
#include "tierup/executor/plugin_graph.h"
#include "tierup/executor/plugin_package.h"
#include "tierup/executor/plugin_pass.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::executor {
namespace {

using Call = tierup_plugin_call;

// What `body` returns; FAILED, with the message kept, if it throws.
template <typename Body>
int guarded(Call* call, Body&& body) noexcept {
  try {
    body();
    return TIERUP_PLUGIN_OK;
  } catch (const std::exception& error) {
    if (call->message.empty()) call->message = error.what();
    return TIERUP_PLUGIN_FAILED;
  }
}

const IValue* argument(const Call* call, size_t index) {
  return index < call->args.size() ? &call->args[index] : nullptr;
}

const IValue& argument_or_throw(const Call* call, size_t index) {
  require(index < call->args.size(), ErrorCode::kOutOfRange, "there is no argument {}", index);
  return call->args[index];
}

void show(Call* call, const Tensor& tensor, tierup_plugin_tensor* view) {
  const Tensor& kept = call->kept.emplace_back(tensor);
  const TensorImpl& impl = *IValue(kept).tensor_impl();
  view->data = static_cast<char*>(kept.storage()->data()) +
               kept.offset() * static_cast<int64_t>(item_size(kept.dtype()));
  view->sizes = impl.sizes.data();
  view->strides = impl.strides.data();
  view->rank = impl.sizes.size();
  view->dtype = static_cast<int32_t>(kept.dtype());
}

size_t argument_count(const Call* call) { return call->args.size(); }

tierup_plugin_kind argument_kind(const Call* call, size_t index) {
  const IValue* value = argument(call, index);
  if (value == nullptr) return TIERUP_PLUGIN_NONE;
  switch (value->tag()) {
    case IValue::Tag::kNone: return TIERUP_PLUGIN_NONE;
    case IValue::Tag::kTensor: return TIERUP_PLUGIN_TENSOR;
    case IValue::Tag::kInt: return TIERUP_PLUGIN_INT;
    case IValue::Tag::kFloat: return TIERUP_PLUGIN_FLOAT;
    case IValue::Tag::kBool: return TIERUP_PLUGIN_BOOL;
    case IValue::Tag::kStr: return TIERUP_PLUGIN_STRING;
    case IValue::Tag::kList: return TIERUP_PLUGIN_LIST;
    default: return TIERUP_PLUGIN_OTHER;
  }
}

int argument_tensor(Call* call, size_t index, tierup_plugin_tensor* view) {
  return guarded(call, [&] {
    show(call, kernels::resolve_lazy_bits(argument_or_throw(call, index).to_tensor()), view);
  });
}

int argument_contiguous(Call* call, size_t index, tierup_plugin_tensor* view) {
  return guarded(call, [&] {
    show(call, kernels::contiguous(argument_or_throw(call, index).to_tensor()), view);
  });
}

double number_of(const IValue* value) {
  if (value == nullptr) return 0;
  if (value->is_int()) return static_cast<double>(value->to_int());
  if (value->is_bool()) return value->to_bool() ? 1 : 0;
  return value->is_float() ? value->to_float() : 0;
}

int64_t integer_of(const IValue* value) {
  if (value == nullptr) return 0;
  if (value->is_int()) return value->to_int();
  return value->is_bool() && value->to_bool() ? 1 : 0;
}

int64_t argument_int(const Call* call, size_t index) { return integer_of(argument(call, index)); }
double argument_float(const Call* call, size_t index) { return number_of(argument(call, index)); }

const char* argument_string(const Call* call, size_t index) {
  const IValue* value = argument(call, index);
  return value != nullptr && value->is_str() ? value->to_str().c_str() : nullptr;
}

const IValue* item_of(const Call* call, size_t index, size_t item) {
  const IValue* value = argument(call, index);
  if (value == nullptr || !value->is_list()) return nullptr;
  const auto& items = value->to_list().items;
  return item < items.size() ? &items[item] : nullptr;
}

size_t argument_length(const Call* call, size_t index) {
  const IValue* value = argument(call, index);
  return value != nullptr && value->is_list() ? value->to_list().items.size() : 0;
}
int64_t argument_int_item(const Call* call, size_t index, size_t item) {
  return integer_of(item_of(call, index, item));
}
double argument_float_item(const Call* call, size_t index, size_t item) {
  return number_of(item_of(call, index, item));
}
int argument_tensor_item(Call* call, size_t index, size_t item, tierup_plugin_tensor* view) {
  return guarded(call, [&] {
    const IValue* value = item_of(call, index, item);
    require(value != nullptr && value->is_tensor(), ErrorCode::kTypeError,
            "item {} of argument {} is no tensor", item, index);
    show(call, kernels::resolve_lazy_bits(value->to_tensor()), view);
  });
}

IValue& result_or_throw(Call* call, size_t index) {
  require(index < call->results.size(), ErrorCode::kOutOfRange, "there is no result {}", index);
  return call->results[index];
}

int make_result(Call* call, size_t index, int32_t dtype, const int64_t* sizes, size_t rank,
                tierup_plugin_tensor* view) {
  return guarded(call, [&] {
    const auto type = static_cast<ScalarType>(dtype);
    require(dtype == static_cast<int32_t>(static_cast<signed char>(dtype)) && item_size(type) > 0,
            ErrorCode::kInvalidArgument, "{} is no dtype", dtype);
    for (size_t i = 0; i < rank; ++i) {
      require(sizes[i] >= 0, ErrorCode::kInvalidArgument, "a result's dimension {} is {}", i,
              sizes[i]);
    }
    const Tensor tensor = Tensor::empty(IntSpan(sizes, rank), type);
    result_or_throw(call, index) = tensor;
    show(call, tensor, view);
  });
}

int result_tensor(Call* call, size_t index, tierup_plugin_tensor* view) {
  return guarded(call, [&] {
    const IValue& result = result_or_throw(call, index);
    require(result.is_tensor(), ErrorCode::kInvalidArgument, "result {} was not made", index);
    show(call, result.to_tensor(), view);
  });
}

int result_argument(Call* call, size_t index, size_t from) {
  return guarded(call, [&] { result_or_throw(call, index) = argument_or_throw(call, from); });
}
int result_int(Call* call, size_t index, int64_t value) {
  return guarded(call, [&] { result_or_throw(call, index) = IValue(value); });
}
int result_float(Call* call, size_t index, double value) {
  return guarded(call, [&] { result_or_throw(call, index) = IValue(value); });
}
int result_bool(Call* call, size_t index, int value) {
  return guarded(call, [&] { result_or_throw(call, index) = IValue(value != 0); });
}

int fail_call(Call* call, const char* message) {
  static_cast<void>(guarded(call, [&] { call->message = message == nullptr ? "" : message; }));
  return TIERUP_PLUGIN_FAILED;
}

constexpr tierup_host kHost = {
    sizeof(tierup_host),
    TIERUP_PLUGIN_ABI,
    argument_count,
    argument_kind,
    argument_tensor,
    argument_contiguous,
    argument_int,
    argument_float,
    argument_string,
    argument_length,
    argument_int_item,
    argument_float_item,
    argument_tensor_item,
    make_result,
    result_tensor,
    result_argument,
    result_int,
    result_float,
    result_bool,
    fail_call,
    graph_node_count,
    graph_node,
    graph_input_count,
    graph_input,
    graph_output_count,
    graph_output,
    graph_constant_index,
    graph_constants,
    package_model,
    package_file_count,
    package_file_name,
    package_file,
    package_folder,
    package_convention,
    package_fail,
    pass_node_count,
    pass_node,
    pass_node_name,
    pass_input_count,
    pass_input,
    pass_output_count,
    pass_output,
    pass_use_count,
    pass_producer,
    pass_constant,
    pass_make_none,
    pass_make_int,
    pass_make_float,
    pass_make_bool,
    pass_insert,
    pass_replace,
    pass_remove,
    pass_note,
    pass_fail,
};

}  // namespace

const tierup_host& plugin_host() { return kHost; }

void check_status(int status, const tierup_plugin_call& call, std::string_view name) {
  if (status == TIERUP_PLUGIN_OK) return;
  fail(ErrorCode::kInvalidArgument, "{}: {}", name,
       call.message.empty() ? "failed without a message" : call.message);
}

}  // namespace tierup::executor
