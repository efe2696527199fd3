// tierup check: every operator case and every model with its cases below some paths.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "commands.h"
#include "failure.h"
#include "isolated_worker.h"
#include "json_writer.h"
#include "model_options.h"
#include "number_range.h"
#include "tierup/cases/lockstep_check.h"
#include "tierup/cases/model_check.h"
#include "tierup/cases/op_cases.h"
#include "tierup/cases/train_case.h"
#include "tierup/cases/training_run.h"
#include "tierup/cases/training_steps.h"

namespace tierup::cli {
namespace {

namespace fs = std::filesystem;
using api::CaseOutcome;

struct CheckOptions {
  std::vector<std::string> paths;
  std::string filter;
  bool json = false;
  bool verbose = false;
  bool in_process = false;
  bool gradients = false;  // Of operator cases that have them.
  int timeout_s = 120;
  int rounds = 0;  // Of each case against tier 0, beside the recorded results.
  std::string tiering;
  std::string known;
};

bool matches(const std::string& filter, const std::string& name) {
  return filter.empty() || fnmatch(filter.c_str(), name.c_str(), 0) == 0;
}

// The bundle of one operator overload.
class OpItem final : public CheckItem {
 public:
  OpItem(fs::path path, bool gradients) : path_(std::move(path)), gradients_(gradients) {}
  std::string name() const override { return path_.filename().string(); }
  size_t open() override {
    bundle_ = std::make_unique<api::OpCaseBundle>(path_.string(), gradients_);
    return bundle_->size();
  }
  void close() override { bundle_.reset(); }
  std::string label(size_t index) override { return bundle_->label(index); }
  CaseOutcome run(size_t index) override { return bundle_->run(index); }

 private:
  fs::path path_;
  bool gradients_;
  std::unique_ptr<api::OpCaseBundle> bundle_;
};

// A model archive with the case files beside it.
class ModelItem final : public CheckItem {
 public:
  ModelItem(fs::path path, int rounds) : path_(std::move(path)), rounds_(rounds) {}
  std::string name() const override { return path_.filename().string(); }
  size_t open() override {
    cases_ = api::case_paths_of(path_.string());
    return cases_.size();
  }
  void close() override {}
  std::string label(size_t index) override {
    return fmt::format("{} on {}", name(), fs::path(cases_[index]).filename().string());
  }
  CaseOutcome run(size_t index) override {
    CaseOutcome outcome = api::check_model_case(path_.string(), cases_[index]);
    if (rounds_ == 0 || outcome.status != CaseOutcome::Status::kPassed) return outcome;
    return api::check_in_lockstep(path_.string(), cases_[index], rounds_);
  }

 private:
  fs::path path_;
  int rounds_;
  std::vector<std::string> cases_;
};

// A module in training mode: the losses and gradients that it must have, what a few steps make of
// it, and whole runs, also from a checkpoint in their middle.
class TrainItem final : public CheckItem {
 public:
  explicit TrainItem(fs::path path) : path_(std::move(path)) {}
  std::string name() const override { return path_.filename().string(); }
  size_t open() override {
    cases_.clear();
    const std::string model = path_.string();
    for (const std::string& path : api::train_case_paths_of(model)) {
      add(path, "", [=] { return api::check_train_case(model, path); });
      add(path, ", its steps", [=] { return api::check_training_steps(model, path); });
    }
    for (const api::TrainingRunCase& run : api::training_runs_of(model)) {
      const bool is_resumed = run.kind == api::TrainingRunCase::Kind::kFromCheckpoint;
      add(run.path, is_resumed ? ", resumed" : "",
          [=] { return api::check_training_run(model, run); });
    }
    return cases_.size();
  }
  void close() override {}
  std::string label(size_t index) override { return cases_[index].label; }
  CaseOutcome run(size_t index) override { return cases_[index].run(); }

 private:
  struct Case {
    std::string label;
    std::function<CaseOutcome()> run;
  };
  void add(const fs::path& path, std::string_view what, std::function<CaseOutcome()> run) {
    cases_.push_back(
        {fmt::format("{} on {}{}", name(), path.filename().string(), what), std::move(run)});
  }

  fs::path path_;
  std::vector<Case> cases_;
};

bool is_training(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".train.pt") || name.ends_with(".train.pt2") ||
         name.ends_with(".joint.pt2");
}

bool is_model(const fs::path& path) {
  const bool is_model = path.extension() == ".pt" || path.extension() == ".pt2";
  return is_model && !is_training(path);
}

bool is_op_bundle(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".safetensors" && std::count(name.begin(), name.end(), '.') >= 3 &&
         name.find(".case") == std::string::npos && !name.ends_with(".train.safetensors");
}

std::vector<fs::path> files_below(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    require(fs::exists(path), v1::ErrorCode::kNotFound, "there is no file or folder {}", path);
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::unique_ptr<CheckItem>> collect_items(const CheckOptions& options) {
  std::vector<std::unique_ptr<CheckItem>> items;
  for (const fs::path& path : files_below(options.paths)) {
    if (!matches(options.filter, path.stem().string())) continue;
    if (is_op_bundle(path)) items.push_back(std::make_unique<OpItem>(path, options.gradients));
    if (is_training(path)) items.push_back(std::make_unique<TrainItem>(path));
    if (is_model(path)) items.push_back(std::make_unique<ModelItem>(path, options.rounds));
  }
  return items;
}

// What is known not to pass: one label or operator a line, "#" begins a comment.
std::set<std::string> read_known(const std::string& path) {
  std::set<std::string> known;
  if (path.empty()) return known;
  std::ifstream file(path);
  require(file.good(), v1::ErrorCode::kNotFound, "cannot open {}", path);
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(" \t") + 1);
    if (!line.empty()) known.insert(line);
  }
  return known;
}

// Counts outcomes; gathers refusals of one item with one reason into one line.
class Summary {
 public:
  explicit Summary(const CheckOptions& options)
      : options_(options), known_(read_known(options.known)) {}

  void add(const CheckItem& item, const std::string& label, const CaseOutcome& outcome) {
    ++counts_[static_cast<size_t>(outcome.status)];
    if (outcome.status != CaseOutcome::Status::kPassed && is_known(label)) {
      ++known_count_;
      if (!options_.verbose) return;
    }
    if (outcome.status == CaseOutcome::Status::kPassed && !options_.verbose) return;
    if (options_.json) {
      list_.push_back({label, outcome});
    } else if (outcome.status == CaseOutcome::Status::kRefused && !options_.verbose) {
      ++refusals_[{item.name(), outcome.reason}];
    } else {
      print(label, outcome);
    }
  }

  int finish() {
    for (const auto& [what, count] : refusals_) {
      fmt::print("refused {} ({} cases): {}\n", what.first, count, what.second);
    }
    if (options_.json) {
      print_json();
    } else {
      fmt::print("{} passed, {} failed, {} refused\n", counts_[0], counts_[1], counts_[2]);
    }
    if (counts_[0] + counts_[1] + counts_[2] == 0) {
      fmt::print(stderr, "tierup: nothing was checked: no case is for these files\n");
      return kMismatch;
    }
    return counts_[1] + counts_[2] == known_count_ ? kOk : kMismatch;
  }

 private:
  bool is_known(const std::string& label) const {
    return known_.contains(label) || known_.contains(label.substr(0, label.find(" case ")));
  }

  static const char* status_name(CaseOutcome::Status status) {
    constexpr const char* kNames[] = {"passed", "failed", "refused"};
    return kNames[static_cast<size_t>(status)];
  }

  static void print(const std::string& label, const CaseOutcome& outcome) {
    std::string reason = outcome.reason;
    std::replace(reason.begin(), reason.end(), '\n', '|');
    fmt::print("{} {}{}{}\n", status_name(outcome.status), label, reason.empty() ? "" : ": ",
               reason);
  }

  void print_json() const {
    JsonWriter json;
    json.begin_object();
    json.key("passed").number(counts_[0]);
    json.key("failed").number(counts_[1]);
    json.key("refused").number(counts_[2]);
    json.key("cases").begin_array();
    for (const auto& [label, outcome] : list_) {
      json.begin_object();
      json.key("case").string(label);
      json.key("status").string(status_name(outcome.status));
      json.key("reason").string(outcome.reason);
      json.end_object();
    }
    json.end_array();
    json.end_object();
    fmt::print("{}\n", json.text());
  }

  const CheckOptions& options_;
  const std::set<std::string> known_;
  size_t known_count_ = 0;  // Failed or refused, and known to.
  size_t counts_[3] = {0, 0, 0};
  std::map<std::pair<std::string, std::string>, size_t> refusals_;
  std::vector<std::pair<std::string, CaseOutcome>> list_;
};

// Adds to the process's own options, which the library reads once, with the first model: those of
// the environment hold where the command says nothing else.
void set_tiering(const std::string& tiering) {
  if (tiering.empty()) return;
  const char* given = std::getenv("TIERUP_TIERING");
  const std::string all = given == nullptr ? tiering : fmt::format("{},{}", given, tiering);
  setenv("TIERUP_TIERING", all.c_str(), 1);
}

int run_check(const CheckOptions& options) {
  set_tiering(options.tiering);
  const auto items = collect_items(options);
  if (items.empty()) {
    fail(v1::ErrorCode::kNotFound, "no models with cases and no operator cases below {}",
         fmt::join(options.paths, ", "));
  }
  Summary summary(options);
  run_cases(items, {options.timeout_s, !options.in_process},
            [&](const CheckItem& item, const std::string& label, const CaseOutcome& outcome) {
              summary.add(item, label, outcome);
            });
  return summary.finish();
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Run models and operators against recorded cases");
  command->add_option("paths", options->paths, "Files or folders")->required();
  command->add_option("--filter", options->filter,
                      "Only files whose name without its ending matches");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("-v,--verbose", options->verbose,
                    "Also list what passed and every refused case");
  command->add_flag("--in-process", options->in_process,
                    "Do not isolate the cases in a child process");
  command->add_flag("--gradients", options->gradients,
                    "Also run operator cases backward that have recorded gradients");
  command->add_option("--known", options->known,
                      "File with cases or operators, one a line, whose failures do not count");
  command
      ->add_option("--rounds", options->rounds,
                   "Also go so often through the calls of a case and compare with tier 0")
      ->check(count_range());
  command
      ->add_option("--tiering", options->tiering,
                   "Tiering options of all models, key=value,... (policy, compile...)")
      ->check(tiering_failure);
  command->add_option("--timeout", options->timeout_s, "Seconds that one case may take")
      ->check(number_from(1, 1e6));
  command->callback([options, &action] {
    action = {[options] { return run_check(*options); }, options->json};
  });
}

}  // namespace tierup::cli
