// CaseOutcome: how one case of a check ended. For the command, too: includes nothing of the rooms.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

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
  // Refused for kUnsupported, else failed, with the whole text. Of the rooms' errors and those of
  // the public API.
  template <typename AnyError>
  static CaseOutcome of_error(const AnyError& error) {
    const auto code = error.code();
    std::string text = std::string(error_code_name(code)) + ": " + error.what();
    return code == decltype(code)::kUnsupported ? refused(std::move(text))
                                                : failed(std::move(text));
  }
};

}  // namespace tierup::api
