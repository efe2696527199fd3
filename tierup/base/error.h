// Error: the one exception type of tierup.
//
// Kernels, readers and the API throw it alike. It carries a code (what kind of thing
// went wrong), a sentence that says what to do, and, added on the way out, where it
// happened: the operator with its schema and shapes, and the model's own source lines.
// A violated internal invariant is a bug and goes through TIERUP_CHECK instead.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tierup {

enum class ErrorCode : unsigned char {
  kInvalidArgument,   // A value, shape, rank or dtype that the operator or method does not take.
  kOutOfRange,        // An index or number outside its range.
  kTypeError,         // A value of another type than declared.
  kModelException,    // Raised by the model's own code (ops.prim.RaiseException).
  kUnsupported,       // Known to PyTorch, not done by tierup: the message names it.
  kNotFound,          // A file, record, attribute or method that is not there.
  kCorruptArchive,    // Bytes that break the archive format.
  kSyntax,            // TorchScript that does not parse or type-check.
  kCancelled,         // The caller cancelled the run.
  kDeadlineExceeded,  // The time limit of the run passed.
  kOutOfMemory,       // An allocation failed or passed its limit.
  kRecursionLimit,    // Call depth or nesting above the limit.
  kInternal,          // A bug in tierup.
  kExhausted,         // All frames in use, or too many runs waiting: the same call may work later.
};

// The code's name as printed by the command line and in JSON: "invalid_argument".
std::string_view error_code_name(ErrorCode code);

// Thread rule: a value; copy it freely.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  ErrorCode code() const { return code_; }
  // The sentence alone, without the context lines.
  const std::string& message() const { return message_; }
  // Exception type named by the model ("builtins.ValueError"); empty if not raised by a model.
  const std::string& python_type() const { return python_type_; }
  // Where it happened, innermost first: operator, source lines, call chain.
  const std::vector<std::string>& context() const { return context_; }

  Error& with_python_type(std::string type);
  // Adds one line of context outside of those already there.
  Error& add_context(std::string line);

  // Message and context lines, each on its own line.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void rebuild_text();

  ErrorCode code_;
  std::string message_;
  std::string python_type_;
  std::vector<std::string> context_;
  std::string text_;
};

// Throws Error(code, formatted message).
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::vformat(format, fmt::make_format_args(args...)));
}

// Throws unless `condition`; for what a user can get wrong.
template <typename... Args>
inline void require(bool condition, ErrorCode code, fmt::format_string<Args...> format,
                    Args&&... args) {
  if (!condition) [[unlikely]] {
    throw Error(code, fmt::vformat(format, fmt::make_format_args(args...)));
  }
}

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace tierup

// For invariants that no input can violate. Throws an Error of kind kInternal.
#define TIERUP_CHECK(expression) \
  ((expression) ? (void)0 : ::tierup::check_failed(#expression, __FILE__, __LINE__))
