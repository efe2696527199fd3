#include "tierup/base/error.h"

namespace tierup {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kOutOfRange: return "out_of_range";
    case ErrorCode::kTypeError: return "type_error";
    case ErrorCode::kModelException: return "model_exception";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kCorruptArchive: return "corrupt_archive";
    case ErrorCode::kSyntax: return "syntax";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kDeadlineExceeded: return "deadline_exceeded";
    case ErrorCode::kOutOfMemory: return "out_of_memory";
    case ErrorCode::kRecursionLimit: return "recursion_limit";
    case ErrorCode::kInternal: return "internal";
    case ErrorCode::kExhausted: return "exhausted";
  }
  return "internal";
}

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {
  rebuild_text();
}

Error& Error::with_python_type(std::string type) {
  python_type_ = std::move(type);
  rebuild_text();
  return *this;
}

Error& Error::add_context(std::string line) {
  context_.push_back(std::move(line));
  rebuild_text();
  return *this;
}

void Error::rebuild_text() {
  text_ = python_type_.empty() ? message_ : python_type_ + ": " + message_;
  for (const std::string& line : context_) {
    text_ += "\n  ";
    text_ += line;
  }
}

void check_failed(const char* expression, const char* file, int line) {
  throw Error(ErrorCode::kInternal,
              fmt::format("internal check failed: {} ({}:{}); this is a bug in tierup", expression,
                          file, line));
}

}  // namespace tierup
