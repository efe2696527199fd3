// Error: the one exception type of the library.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/export.h"

namespace tierup::v1 {

enum class ErrorCode : unsigned char {
  kInvalidArgument,   // A value, shape, rank or dtype that the method or operator does not take.
  kOutOfRange,        // An index or number outside its range.
  kTypeError,         // A value of another type than declared.
  kModelException,    // Raised by the model's own code: see Error::python_type.
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

// "invalid_argument", "model_exception"...
TIERUP_API std::string_view error_code_name(ErrorCode code);

// Thread rule: a value; copies share the texts.
class TIERUP_API Error final : public std::exception {
 public:
  Error(ErrorCode code, std::string message, std::string python_type,
        std::vector<std::string> context, std::string text);
  // A sentence alone: for callbacks (Reader, print, passes) and programs over the library.
  Error(ErrorCode code, const std::string& message);
  Error(const Error&) noexcept;
  Error& operator=(const Error&) noexcept;
  ~Error() override;

  ErrorCode code() const noexcept;
  // The sentence alone, without the context.
  const std::string& message() const noexcept;
  // The exception's type where the model raised it ("builtins.ValueError"); else empty.
  const std::string& python_type() const noexcept;
  // Where it happened, innermost first: the operator with its schema and shapes, the model's own
  // lines, the calls that led there.
  const std::vector<std::string>& context() const noexcept;
  // All of it, on several lines.
  const char* what() const noexcept override;

 private:
  struct Texts;
  std::shared_ptr<const Texts> texts_;
};

}  // namespace tierup::v1
