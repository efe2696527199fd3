#include "tierup/tier/tiering_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>

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
  if (error != std::errc() || end != value.data() + value.size()) {
    fail_value(key, value, "a number");
  }
  return result;
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

// What a number may be: 0 if that is `least`, else at least `least_positive`.
struct Range {
  double least = 0;
  double most = 4294967295.0;
  double least_positive = 0;

  bool holds(double value) const {
    return value >= least && value <= most && (value == 0 || value >= least_positive);
  }
  std::string to_string() const {
    if (least_positive > 0) return fmt::format("0, or {} to {}", least_positive, most);
    return fmt::format("a number from {} to {}", least, most);
  }
};
constexpr Range kThreads{0, 1024};
constexpr Range kCount{0, 1e6};

// One option: its key, how it is read from a value and how it is written as one; of numbers, the
// value and what it may be.
struct Option {
  const char* key;
  void (*set)(TieringOptions& options, std::string_view key, std::string_view value);
  std::string (*get)(const TieringOptions& options);
  double (*value)(const TieringOptions& options) = nullptr;
  Range range = {};
};

template <auto kField>
Option number(const char* key, Range range = {}) {
  return {key,
          [](TieringOptions& options, std::string_view name, std::string_view value) {
            using T = std::remove_reference_t<decltype(options.*kField)>;
            options.*kField = parse_number<T>(name, value);
          },
          [](const TieringOptions& options) { return fmt::format("{}", options.*kField); },
          [](const TieringOptions& options) { return static_cast<double>(options.*kField); },
          range};
}

template <bool TieringOptions::*kField>
Option flag(const char* key) {
  return {
      key,
      [](TieringOptions& options, std::string_view name, std::string_view value) {
        const bool is_on = value == "1" || value == "true" || value == "on";
        if (!is_on && value != "0" && value != "false" && value != "off")
          fail_value(name, value, "on or off");
        options.*kField = is_on;
      },
      [](const TieringOptions& options) -> std::string { return options.*kField ? "on" : "off"; }};
}

template <std::vector<std::string> TieringOptions::*kField>
Option names(const char* key) {
  return {key,
          [](TieringOptions& options, std::string_view, std::string_view value) {
            (options.*kField).clear();
            for (const std::string_view name : split(value, '+'))
              (options.*kField).emplace_back(name);
          },
          [](const TieringOptions& options) {
            return fmt::format("{}", fmt::join(options.*kField, "+"));
          }};
}

void set_policy(TieringOptions& options, std::string_view key, std::string_view value) {
  if (value != "adaptive" && value != "reference") fail_value(key, value, "adaptive or reference");
  options.policy = value == "adaptive" ? Policy::kAdaptive : Policy::kReference;
}
std::string get_policy(const TieringOptions& options) {
  return options.policy == Policy::kAdaptive ? "adaptive" : "reference";
}

void set_mode(TieringOptions& options, std::string_view key, std::string_view value) {
  if (value == "background") {
    options.compile = CompileMode::kBackground;
  } else if (value == "blocking") {
    options.compile = CompileMode::kBlocking;
  } else if (value == "off") {
    options.compile = CompileMode::kOff;
  } else {
    fail_value(key, value, "background, blocking or off");
  }
}
std::string get_mode(const TieringOptions& options) {
  if (options.compile == CompileMode::kBackground) return "background";
  return options.compile == CompileMode::kBlocking ? "blocking" : "off";
}

void set_accuracy(TieringOptions& options, std::string_view key, std::string_view value) {
  if (value != "exact" && value != "fast") fail_value(key, value, "exact or fast");
  options.accurate = value == "exact";
}
std::string get_accuracy(const TieringOptions& options) {
  return options.accurate ? "exact" : "fast";
}

// "static:2+dynamic:10"
void set_strategy(TieringOptions& options, std::string_view key, std::string_view value) {
  std::vector<std::pair<bool, uint32_t>> strategy;
  for (const std::string_view part : split(value, '+')) {
    const size_t colon = part.find(':');
    const std::string_view kind = part.substr(0, colon);
    if (colon == std::string_view::npos || (kind != "static" && kind != "dynamic")) {
      fail_value(key, value, "static:N and dynamic:N, joined by +");
    }
    const auto depth = parse_number<uint32_t>(key, part.substr(colon + 1));
    if (!kCount.holds(depth)) fail_value(key, value, "depths of " + kCount.to_string());
    strategy.emplace_back(kind == "static", depth);
  }
  options.fusion_strategy = std::move(strategy);
}
std::string get_strategy(const TieringOptions& options) {
  std::string text;
  for (const auto& [is_static, depth] : options.fusion_strategy) {
    if (!text.empty()) text += '+';
    text += fmt::format("{}:{}", is_static ? "static" : "dynamic", depth);
  }
  return text;
}

std::span<const Option> all_options() {
  using T = TieringOptions;
  static const std::array kOptions = std::to_array<Option>({
      {"policy", &set_policy, &get_policy},
      {"compile", &set_mode, &get_mode},
      number<&T::profiled_runs>("profiled_runs", kCount),
      {"fusion_strategy", &set_strategy, &get_strategy},
      number<&T::max_plans>("max_plans", kCount),
      number<&T::max_plan_mib>("max_plan_mib"),
      flag<&T::fusion>("fusion"),
      number<&T::fusion_group_min>("fusion_group_min", kCount),
      {"accuracy", &set_accuracy, &get_accuracy},
      number<&T::inter_op_threads>("inter_op_threads", kThreads),
      number<&T::inter_op_grain_us>("inter_op_grain_us"),
      number<&T::compile_threads>("compile_threads", kThreads),
      number<&T::compile_cpu_share>("compile_cpu_share", {0.01, 1}),
      number<&T::compile_delay_ms>("compile_delay_ms"),
      number<&T::release_delay_ms>("release_delay_ms"),
      number<&T::verify_rate>("verify_rate", {0, 1, 1e-9}),
      flag<&T::plan_trial>("plan_trial"),
      flag<&T::memory_plan>("memory_plan"),
      flag<&T::log>("log"),
      flag<&T::poison>("poison"),
      number<&T::compile_failures>("compile_failures"),
      flag<&T::guards_fail>("guards_fail"),
      flag<&T::verify_passes>("verify_passes"),
      names<&T::disabled_passes>("disable_passes"),
      names<&T::print_after>("print_after"),
      flag<&T::print_ir>("print_ir"),
      flag<&T::perf_map>("perf_map"),
  });
  return kOptions;
}

void check_option(const Option& option, const TieringOptions& options) {
  if (option.value == nullptr || option.range.holds(option.value(options))) return;
  fail_value(option.key, option.get(options), option.range.to_string());
}

void set_option(TieringOptions& options, std::string_view key, std::string_view value) {
  for (const Option& option : all_options()) {
    if (key != option.key) continue;
    option.set(options, key, value);
    return check_option(option, options);
  }
  fail(ErrorCode::kInvalidArgument, "unknown tiering option '{}'; known: {}", key,
       TieringOptions().to_string());
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
    const char* log = std::getenv("TIERUP_LOG");
    if (log != nullptr && *log != '\0') options.apply(std::string("log=") + log);
    return options;
  }();
  return defaults;
}

void TieringOptions::check() const {
  for (const Option& option : all_options()) check_option(option, *this);
}

uint32_t TieringOptions::budget() const {
  uint32_t sum = 0;
  for (const auto& [is_static, depth] : fusion_strategy) sum += depth;
  return sum;
}

std::string TieringOptions::to_string() const {
  std::string text;
  for (const Option& option : all_options()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", option.key, option.get(*this));
  }
  return text;
}

}  // namespace tierup::tier
