#include "tierup/tier/tiering_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>

#include "tierup/base/error.h"

namespace tierup::tier {
namespace {

[[noreturn]] void fail_value(std::string_view key, std::string_view value,
                             std::string_view wanted) {
  fail(ErrorCode::kInvalidArgument, "tiering option {}={}: expected {}", key, value, wanted);
}

template <typename T>
T parse_number(std::string_view key, std::string_view value) {
  T result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < T{}) {
    fail_value(key, value, "a number");
  }
  return result;
}

bool parse_bool(std::string_view key, std::string_view value) {
  if (value == "1" || value == "true" || value == "on") return true;
  if (value == "0" || value == "false" || value == "off") return false;
  fail_value(key, value, "on or off");
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

// "static:2+dynamic:10"
std::vector<std::pair<bool, uint32_t>> parse_strategy(std::string_view key,
                                                      std::string_view value) {
  std::vector<std::pair<bool, uint32_t>> strategy;
  for (const std::string_view part : split(value, '+')) {
    const size_t colon = part.find(':');
    const std::string_view kind = part.substr(0, colon);
    if (colon == std::string_view::npos || (kind != "static" && kind != "dynamic")) {
      fail_value(key, value, "static:N and dynamic:N, joined by +");
    }
    strategy.emplace_back(kind == "static", parse_number<uint32_t>(key, part.substr(colon + 1)));
  }
  return strategy;
}

CompileMode parse_mode(std::string_view key, std::string_view value) {
  if (value == "background") return CompileMode::kBackground;
  if (value == "blocking") return CompileMode::kBlocking;
  if (value == "off") return CompileMode::kOff;
  fail_value(key, value, "background, blocking or off");
}

void set_option(TieringOptions& options, std::string_view key, std::string_view value) {
  if (key == "policy") {
    if (value != "adaptive" && value != "reference")
      fail_value(key, value, "adaptive or reference");
    options.policy = value == "adaptive" ? Policy::kAdaptive : Policy::kReference;
  } else if (key == "accuracy") {
    if (value != "exact" && value != "fast") fail_value(key, value, "exact or fast");
    options.accurate = value == "exact";
  } else if (key == "compile") {
    options.compile = parse_mode(key, value);
  } else if (key == "fusion_strategy") {
    options.fusion_strategy = parse_strategy(key, value);
  } else if (key == "profiled_runs") {
    options.profiled_runs = parse_number<uint32_t>(key, value);
  } else if (key == "max_plans") {
    options.max_plans = parse_number<uint32_t>(key, value);
  } else if (key == "fusion") {
    options.fusion = parse_bool(key, value);
  } else if (key == "fusion_group_min") {
    options.fusion_group_min = parse_number<uint32_t>(key, value);
  } else if (key == "compile_threads") {
    options.compile_threads = parse_number<uint32_t>(key, value);
  } else if (key == "compile_cpu_share") {
    options.compile_cpu_share = parse_number<double>(key, value);
  } else if (key == "compile_delay_ms") {
    options.compile_delay_ms = parse_number<uint32_t>(key, value);
  } else if (key == "release_delay_ms") {
    options.release_delay_ms = parse_number<uint32_t>(key, value);
  } else if (key == "verify_rate") {
    options.verify_rate = parse_number<double>(key, value);
  } else if (key == "memory_plan") {
    options.memory_plan = parse_bool(key, value);
  } else if (key == "poison") {
    options.poison = parse_bool(key, value);
  } else if (key == "guards_fail") {
    options.guards_fail = parse_bool(key, value);
  } else if (key == "verify_passes") {
    options.verify_passes = parse_bool(key, value);
  } else if (key == "disable_passes") {
    options.disabled_passes.clear();
    for (const std::string_view name : split(value, '+'))
      options.disabled_passes.emplace_back(name);
  } else {
    fail(ErrorCode::kInvalidArgument, "unknown tiering option '{}'; known: {}", key,
         TieringOptions().to_string());
  }
}

}  // namespace

void TieringOptions::apply(std::string_view text) {
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    require(equals != std::string_view::npos, ErrorCode::kInvalidArgument,
            "tiering option '{}': expected key=value", part);
    set_option(*this, part.substr(0, equals), part.substr(equals + 1));
  }
}

TieringOptions TieringOptions::from_environment() {
  static const TieringOptions defaults = [] {
    TieringOptions options;
    if (const char* text = std::getenv("TIERUP_TIERING")) options.apply(text);
    return options;
  }();
  return defaults;
}

uint32_t TieringOptions::budget() const {
  uint32_t sum = 0;
  for (const auto& [is_static, depth] : fusion_strategy) sum += depth;
  return sum;
}

std::string TieringOptions::to_string() const {
  std::string strategy;
  for (const auto& [is_static, depth] : fusion_strategy) {
    if (!strategy.empty()) strategy += '+';
    strategy += fmt::format("{}:{}", is_static ? "static" : "dynamic", depth);
  }
  const char* mode = compile == CompileMode::kBackground
                         ? "background"
                         : (compile == CompileMode::kBlocking ? "blocking" : "off");
  return fmt::format(
      "policy={},compile={},profiled_runs={},fusion_strategy={},max_plans={},fusion={},fusion_"
      "group_min={},"
      "accuracy={},compile_threads={},compile_cpu_share={},compile_delay_ms={},release_delay_ms={},"
      "verify_rate={},memory_plan={},poison={},guards_fail={},verify_passes={},disable_passes={}",
      policy == Policy::kAdaptive ? "adaptive" : "reference", mode, profiled_runs, strategy,
      max_plans, fusion ? "on" : "off", fusion_group_min, accurate ? "exact" : "fast",
      compile_threads, compile_cpu_share, compile_delay_ms, release_delay_ms, verify_rate,
      memory_plan ? "on" : "off", poison ? "on" : "off", guards_fail ? "on" : "off",
      verify_passes ? "on" : "off", fmt::join(disabled_passes, "+"));
}

}  // namespace tierup::tier
