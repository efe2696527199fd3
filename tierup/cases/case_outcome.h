// CaseOutcome: how one case of a check ended.
#pragma once

#include <cstdint>
#include <string>

#include "tierup/base/error.h"

namespace tierup::api {

struct CaseOutcome {
  enum class Status : uint8_t {
    kPassed,
    kFailed,   // A wrong answer, or an error.
    kRefused,  // Something that tierup says it does not support.
  };
  Status status = Status::kPassed;
  std::string reason;  // Empty if passed.

  static CaseOutcome passed() { return {}; }
  static CaseOutcome failed(std::string reason) { return {Status::kFailed, std::move(reason)}; }
  static CaseOutcome refused(std::string reason) { return {Status::kRefused, std::move(reason)}; }
  // Refused for kUnsupported, else failed, with the whole text.
  static CaseOutcome of_error(const Error& error) {
    std::string text = std::string(error_code_name(error.code())) + ": " + error.what();
    return error.code() == ErrorCode::kUnsupported ? refused(std::move(text))
                                                   : failed(std::move(text));
  }
};

}  // namespace tierup::api
