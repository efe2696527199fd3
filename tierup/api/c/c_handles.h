// What the handles of the C API are, and how failures leave its functions.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tierup/c_api.h"
#include "tierup/executor.h"
#include "tierup/module.h"

struct tierup_error {
  tierup::v1::Error error;
};
struct tierup_value {
  tierup::v1::Value value;
};
struct tierup_module {
  tierup::v1::Module module;
};
struct tierup_executor {
  tierup::v1::Executor executor;
};
struct tierup_signature {
  tierup::v1::Signature signature;
};
struct tierup_explanation {
  tierup::v1::Explanation explanation;
  // "name: reason" of operators that were not fused, by graph and plan.
  std::vector<std::vector<std::vector<std::string>>> unfused;
};
struct tierup_token {
  tierup::v1::CancellationToken token;
};

namespace tierup::v1 {

// Stores the exception in flight in `error`, if that is not null, and returns its code.
tierup_code store_failure(tierup_error** error) noexcept;

// What `body` returns; null or a code if it throws.
template <typename Body>
auto c_guarded(tierup_error** error, Body&& body) noexcept -> decltype(body()) {
  using Result = decltype(body());
  try {
    return body();
  } catch (...) {
    const tierup_code code = store_failure(error);
    if constexpr (std::is_same_v<Result, tierup_code>) {
      return code;
    } else {
      return Result{};
    }
  }
}

[[noreturn]] void fail_argument(const char* what);
inline void require_argument(bool holds, const char* what) {
  if (!holds) fail_argument(what);
}

// A copy for tierup_text_free.
char* new_text(const std::string& text);
// From a dict of name to tensor.
NamedTensors named_tensors(const tierup_value* dict);
const Module& module_of(const tierup_module* module);

// Fills the caller's struct, which may be of an older version, as far as it goes.
template <typename Struct>
void fill(Struct* given, Struct full) {
  require_argument(given != nullptr, "the place for the description is null");
  require_argument(given->size >= sizeof(size_t), "the struct's size is not set");
  full.size = given->size;
  std::memcpy(given, &full, std::min(given->size, sizeof(Struct)));
}

inline tierup_value* new_value(Value value) { return new tierup_value{std::move(value)}; }
// Throws kInvalidArgument for a null handle.
const Value& value_of(const tierup_value* value);
std::vector<Value> values_of(tierup_value* const* values, size_t count);

}  // namespace tierup::v1
