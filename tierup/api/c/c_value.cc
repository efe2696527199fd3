// The C API's errors and values, over v1::Error, Value and Tensor.
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tierup/api/c/c_handles.h"

namespace tierup::v1 {

static_assert(TIERUP_INTERNAL == static_cast<int>(ErrorCode::kInternal) + 1);
static_assert(TIERUP_MODEL_EXCEPTION == static_cast<int>(ErrorCode::kModelException) + 1);
static_assert(TIERUP_KIND_OTHER == static_cast<int>(Value::Kind::kOther));
static_assert(TIERUP_KIND_TENSOR == static_cast<int>(Value::Kind::kTensor));
static_assert(TIERUP_UINT64 == static_cast<int>(DType::kUInt64));

void fail_argument(const char* what) {
  throw Error(ErrorCode::kInvalidArgument, what, {}, {}, what);
}

char* new_text(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

tierup_code store_failure(tierup_error** error) noexcept {
  const auto store = [&](const Error& failure) {
    if (error != nullptr) *error = new (std::nothrow) tierup_error{failure};
    return static_cast<tierup_code>(static_cast<int>(failure.code()) + 1);
  };
  try {
    try {
      throw;
    } catch (const Error& failure) {
      return store(failure);
    } catch (const std::bad_alloc&) {
      return store(Error(ErrorCode::kOutOfMemory, "out of memory", {}, {}, "out of memory"));
    } catch (const std::exception& failure) {
      return store(Error(ErrorCode::kInternal, failure.what(), {}, {}, failure.what()));
    } catch (...) {
      return store(Error(ErrorCode::kInternal, "unknown failure", {}, {}, "unknown failure"));
    }
  } catch (...) {
    return TIERUP_OUT_OF_MEMORY;  // Not even the error could be made.
  }
}

const Value& value_of(const tierup_value* value) {
  require_argument(value != nullptr, "a value handle is null");
  return value->value;
}

std::vector<Value> values_of(tierup_value* const* values, size_t count) {
  require_argument(values != nullptr || count == 0, "an array of values is null");
  std::vector<Value> result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) result.push_back(value_of(values[i]));
  return result;
}

namespace {

std::span<const int64_t> dims(const int64_t* shape, size_t rank) {
  require_argument(shape != nullptr || rank == 0, "a tensor's shape is null");
  return {shape, rank};
}

// A C program may pass any number: it is looked at before it counts as one of the enumeration.
DType dtype_of(const tierup_dtype& dtype) {
  std::underlying_type_t<tierup_dtype> number;
  std::memcpy(&number, &dtype, sizeof(number));
  const auto result = static_cast<DType>(number);
  static_cast<void>(dtype_size(result));  // Throws for what is none.
  return result;
}

}  // namespace
}  // namespace tierup::v1

using namespace tierup::v1;  // NOLINT(google-build-using-namespace): this file is its C face.

extern "C" {

tierup_code tierup_error_code(const tierup_error* error) {
  if (error == nullptr) return TIERUP_OK;
  return static_cast<tierup_code>(static_cast<int>(error->error.code()) + 1);
}
const char* tierup_error_message(const tierup_error* error) {
  return error == nullptr ? "" : error->error.message().c_str();
}
const char* tierup_error_text(const tierup_error* error) {
  return error == nullptr ? "" : error->error.what();
}
void tierup_error_free(tierup_error* error) { delete error; }

tierup_value* tierup_none(void) { return new (std::nothrow) tierup_value{Value()}; }
tierup_value* tierup_bool(int value) { return new (std::nothrow) tierup_value{Value(value != 0)}; }
tierup_value* tierup_int(int64_t value) { return new (std::nothrow) tierup_value{Value(value)}; }
tierup_value* tierup_float(double value) { return new (std::nothrow) tierup_value{Value(value)}; }

tierup_value* tierup_string(const char* text, size_t length, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(text != nullptr || length == 0, "a text is null");
    return new_value(Value(std::string_view(length == 0 ? "" : text, length)));
  });
}

tierup_value* tierup_list(tierup_value* const* items, size_t count, tierup_error** error) {
  return c_guarded(error, [&] { return new_value(Value::list(values_of(items, count))); });
}
tierup_value* tierup_tuple(tierup_value* const* items, size_t count, tierup_error** error) {
  return c_guarded(error, [&] { return new_value(Value::tuple(values_of(items, count))); });
}
tierup_value* tierup_dict(tierup_value* const* keys, tierup_value* const* values, size_t count,
                          tierup_error** error) {
  return c_guarded(error, [&] {
    std::vector<Value> key_list = values_of(keys, count);
    std::vector<Value> value_list = values_of(values, count);
    std::vector<std::pair<Value, Value>> entries;
    for (size_t i = 0; i < count; ++i) {
      entries.emplace_back(std::move(key_list[i]), std::move(value_list[i]));
    }
    return new_value(Value::dict(std::move(entries)));
  });
}

tierup_value* tierup_tensor_copy(const void* data, const int64_t* shape, size_t rank,
                                 tierup_dtype dtype, tierup_error** error) {
  return c_guarded(error, [&] {
    const Tensor tensor = Tensor::empty(dims(shape, rank), dtype_of(dtype));
    const size_t bytes = static_cast<size_t>(tensor.element_count()) * dtype_size(tensor.dtype());
    require_argument(data != nullptr || bytes == 0, "a tensor's data is null");
    if (bytes > 0) std::memcpy(tensor.data(), data, bytes);
    return new_value(tensor);
  });
}

tierup_value* tierup_tensor_borrow(void* data, const int64_t* shape, const int64_t* strides,
                                   size_t rank, tierup_dtype dtype, void (*release)(void*),
                                   void* context, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(data != nullptr, "a tensor's data is null");
    std::function<void()> on_release;
    if (release != nullptr) on_release = [release, context] { release(context); };
    const auto given = strides == nullptr ? std::span<const int64_t>() : dims(strides, rank);
    return new_value(
        Tensor::borrow(data, dims(shape, rank), dtype_of(dtype), std::move(on_release), given));
  });
}

tierup_value* tierup_tensor_from_dlpack(struct DLManagedTensorVersioned* managed,
                                        tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(managed != nullptr, "the DLPack tensor is null");
    return new_value(Tensor::from_dlpack(managed));
  });
}

struct DLManagedTensorVersioned* tierup_tensor_to_dlpack(const tierup_value* value,
                                                         tierup_error** error) {
  return c_guarded(error, [&] { return value_of(value).to_tensor().to_dlpack_versioned(); });
}

tierup_kind tierup_value_kind(const tierup_value* value) {
  return value == nullptr ? TIERUP_KIND_NONE : static_cast<tierup_kind>(value->value.kind());
}

tierup_code tierup_value_bool(const tierup_value* value, int* result, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(result != nullptr, "the place for the result is null");
    *result = value_of(value).to_bool() ? 1 : 0;
    return TIERUP_OK;
  });
}
tierup_code tierup_value_int(const tierup_value* value, int64_t* result, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(result != nullptr, "the place for the result is null");
    *result = value_of(value).to_int();
    return TIERUP_OK;
  });
}
tierup_code tierup_value_float(const tierup_value* value, double* result, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(result != nullptr, "the place for the result is null");
    *result = value_of(value).to_float();
    return TIERUP_OK;
  });
}

char* tierup_value_string(const tierup_value* value, size_t* length, tierup_error** error) {
  return c_guarded(error, [&] {
    const std::string text = value_of(value).to_string();
    if (length != nullptr) *length = text.size();
    return new_text(text);
  });
}
char* tierup_value_describe(const tierup_value* value, tierup_error** error) {
  return c_guarded(error, [&] { return new_text(value_of(value).describe()); });
}
void tierup_text_free(char* text) { std::free(text); }

size_t tierup_value_size(const tierup_value* value) {
  return c_guarded(nullptr, [&]() -> size_t {
    switch (tierup_value_kind(value)) {
      case TIERUP_KIND_LIST:
      case TIERUP_KIND_TUPLE: return value->value.items().size();
      case TIERUP_KIND_DICT: return value->value.entries().size();
      default: return 0;
    }
  });
}

tierup_value* tierup_value_item(const tierup_value* value, size_t index, tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(index < tierup_value_size(value), "the index is outside of the container");
    if (tierup_value_kind(value) == TIERUP_KIND_DICT) {
      return new_value(value_of(value).entries()[index].second);
    }
    return new_value(value_of(value).items()[index]);
  });
}

tierup_value* tierup_value_key(const tierup_value* value, size_t index, tierup_error** error) {
  return c_guarded(error, [&] {
    const auto entries = value_of(value).entries();
    require_argument(index < entries.size(), "the index is outside of the dict");
    return new_value(entries[index].first);
  });
}

void tierup_value_free(tierup_value* value) { delete value; }

tierup_code tierup_tensor_describe(const tierup_value* value, tierup_tensor_view* view,
                                   tierup_error** error) {
  return c_guarded(error, [&] {
    require_argument(view != nullptr, "the place for the description is null");
    const Tensor tensor = value_of(value).to_tensor();
    view->data = tensor.data();
    view->shape = tensor.shape().data();
    view->strides = tensor.strides().data();
    view->rank = tensor.shape().size();
    view->dtype = static_cast<tierup_dtype>(tensor.dtype());
    return TIERUP_OK;
  });
}

tierup_value* tierup_tensor_contiguous(const tierup_value* value, tierup_error** error) {
  return c_guarded(error, [&] { return new_value(value_of(value).to_tensor().contiguous()); });
}

}  // extern "C"
