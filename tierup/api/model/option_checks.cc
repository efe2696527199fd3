#include "tierup/api/model/option_checks.h"

#include <string_view>

#include "tierup/base/error.h"

namespace tierup::api {
namespace {

constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostMilliseconds = int64_t{1000} * 3600 * 24 * 365 * 100;

void check_range(std::string_view name, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, ErrorCode::kInvalidArgument,
          "option {}={}: expected a number from {} to {}", name, value, least, most);
}

// 0 and less: none.
void check_limit(std::string_view name, int64_t milliseconds) {
  check_range(name, milliseconds, INT64_MIN, kMostMilliseconds);
}

}  // namespace

void check_options(const ModelOptions& options) {
  check_range("threads", options.threads, 0, kMostThreads);
  check_range("fork_threads", options.fork_threads, -1, kMostThreads);
  check_limit("time_limit_ms", options.time_limit_ms);
  options.tiering.check();
}

void check_options(const RunOptions& options) {
  check_limit("time_limit_ms", options.time_limit_ms.value_or(0));
}

void check_config(const executor::ExecutorConfig& config) {
  check_range("async_threads", config.async_threads, 0, kMostThreads);
  check_limit("time_limit_ms", config.time_limit_ms);
  check_limit("frame_idle_ms", config.frame_idle_ms);
}

}  // namespace tierup::api
