// v1::Error and the way errors leave the library.
#include <new>

#include "tierup/api/public/facade.h"

namespace tierup::v1 {

// The two lists of codes are one list; a new code must come to both.
static_assert(static_cast<int>(ErrorCode::kInternal) ==
              static_cast<int>(::tierup::ErrorCode::kInternal));
static_assert(static_cast<int>(ErrorCode::kModelException) ==
              static_cast<int>(::tierup::ErrorCode::kModelException));
static_assert(static_cast<int>(ErrorCode::kExhausted) ==
              static_cast<int>(::tierup::ErrorCode::kExhausted));

struct Error::Texts {
  ErrorCode code;
  std::string message;
  std::string python_type;
  std::vector<std::string> context;
  std::string text;
};

std::string_view error_code_name(ErrorCode code) {
  return ::tierup::error_code_name(static_cast<::tierup::ErrorCode>(code));
}

Error::Error(ErrorCode code, std::string message, std::string python_type,
             std::vector<std::string> context, std::string text)
    : texts_(std::make_shared<const Texts>(Texts{code, std::move(message), std::move(python_type),
                                                 std::move(context), std::move(text)})) {}
Error::Error(ErrorCode code, const std::string& message) : Error(code, message, {}, {}, message) {}
Error::Error(const Error&) noexcept = default;
Error& Error::operator=(const Error&) noexcept = default;
Error::~Error() = default;

ErrorCode Error::code() const noexcept { return texts_->code; }
const std::string& Error::message() const noexcept { return texts_->message; }
const std::string& Error::python_type() const noexcept { return texts_->python_type; }
const std::vector<std::string>& Error::context() const noexcept { return texts_->context; }
const char* Error::what() const noexcept { return texts_->text.c_str(); }

void rethrow(const ::tierup::Error& error) {
  throw Error(static_cast<ErrorCode>(error.code()), error.message(), error.python_type(),
              error.context(), error.what());
}

void rethrow_other(const std::exception& error) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  const std::string text = is_memory ? "out of memory" : error.what();
  throw Error(is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kInternal, text, {}, {}, text);
}

}  // namespace tierup::v1
