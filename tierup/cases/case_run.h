// What each check of a model does around its work.
#pragma once

#include <fmt/format.h>

#include <type_traits>

#include "tierup/api/model/model.h"
#include "tierup/base/error.h"
#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// What the model prints and warns is nobody's.
inline ModelOptions silent_options() {
  ModelOptions options;
  options.print = [](const std::string&) {};
  options.warn = [](const std::string&) {};
  return options;
}
inline Ref<Model> load_silently(const std::string& path, ModelOptions options = silent_options()) {
  return Model::load(archive::map_file(path), std::move(options));
}

// The outcome that `run` gives, or that follows from the difference that it tells of, if any; that
// of an error where it throws.
template <typename Run>
CaseOutcome outcome_of(const Run& run) {
  try {
    if constexpr (std::is_same_v<decltype(run()), CaseOutcome>) {
      return run();
    } else {
      const std::string difference = run();
      return difference.empty() ? CaseOutcome::passed() : CaseOutcome::failed(difference);
    }
  } catch (const Error& error) {
    return CaseOutcome::of_error(error);
  } catch (const std::exception& error) {
    return CaseOutcome::failed(fmt::format("unexpected exception: {}", error.what()));
  }
}

}  // namespace tierup::api
