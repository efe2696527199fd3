// tierup train: trains a model on the columns of a file, and writes it.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "commands.h"
#include "failure.h"
#include "json_writer.h"
#include "model_options.h"
#include "number_range.h"
#include "tierup/optim.h"
#include "train_options.h"

namespace tierup::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  ModelArguments model;
  TrainingChoice choice;
  std::string validate;
  std::string schedule = "constant";
  std::string out;
  std::string checkpoint;
  double clip_value = -1;
  int64_t early_stop = 0;
  bool keep_nonfinite = false;
  v1::TrainOptions trainer;
  bool json = false;
};

// A name of the common ones, or a kind of torch.optim.lr_scheduler with its settings:
// StepLR:{"step_size": 3}. Says in `options` when it steps.
std::optional<v1::Schedule> make_schedule(const std::string& text, int64_t steps,
                                          const v1::Optimizer& optimizer,
                                          v1::TrainOptions& options) {
  options.step_schedule_by_batch = true;
  if (text == "constant") return std::nullopt;
  if (text == "cosine") {
    return v1::Schedule("CosineAnnealingLR", {{"T_max", steps}}, optimizer);
  }
  if (text == "linear") {
    return v1::Schedule("LinearLR",
                        {{"start_factor", 1.0}, {"end_factor", 0.0}, {"total_iters", steps}},
                        optimizer);
  }
  if (text == "one_cycle") {
    return v1::Schedule("OneCycleLR", {{"max_lr", optimizer.rate()}, {"total_steps", steps}},
                        optimizer);
  }
  options.step_schedule_by_batch = false;
  if (text == "plateau") return v1::Schedule("ReduceLROnPlateau", {}, optimizer);
  const size_t colon = text.find(':');
  v1::NamedValues settings;
  if (colon != std::string::npos) {
    settings = read_settings("--schedule " + text, text.substr(colon + 1));
  }
  return v1::Schedule(text.substr(0, colon), settings, optimizer);
}

std::string percent(const std::optional<double>& part) {
  return part ? fmt::format("  right {:5.1f} %", 100 * *part) : "";
}

void print_text(const v1::TrainReport& report, int64_t epochs) {
  std::string line =
      fmt::format("epoch {:>{}}/{}  loss {:<9.5g}{}", report.epoch, std::to_string(epochs).size(),
                  epochs, report.loss, percent(report.accuracy));
  if (report.validation_loss) {
    line += fmt::format("  validation loss {:<9.5g}{}{}", *report.validation_loss,
                        percent(report.validation_accuracy), report.is_best ? " *" : "  ");
  }
  fmt::print("{}  rate {:.3g}  {:.2f} s\n", line, report.rate, report.seconds);
  std::fflush(stdout);
}

void optional_number(JsonWriter& json, const char* key, const std::optional<double>& value) {
  if (value) json.key(key).number(*value);
}

void print_json(const TrainArguments& arguments, const std::vector<v1::TrainReport>& reports) {
  JsonWriter json;
  json.begin_object();
  json.key("out").string(arguments.out);
  json.key("stopped_early").boolean(!reports.empty() && reports.back().stopped_early);
  json.key("best_epoch").integer(reports.empty() ? 0 : reports.back().best_epoch);
  json.key("epochs").begin_array();
  for (const v1::TrainReport& report : reports) {
    json.begin_object();
    json.key("epoch").integer(report.epoch);
    json.key("loss").number(report.loss);
    optional_number(json, "accuracy", report.accuracy);
    optional_number(json, "validation_loss", report.validation_loss);
    optional_number(json, "validation_accuracy", report.validation_accuracy);
    json.key("rate").number(report.rate);
    json.key("seconds").number(report.seconds);
    json.end_object();
  }
  json.end_array().end_object();
  fmt::print("{}\n", json.text());
}

// What a run's options say, and what is best known before the first step.
v1::TrainOptions trainer_options(const TrainArguments& arguments) {
  v1::TrainOptions options = arguments.trainer;
  options.loss = arguments.choice.loss;
  if (arguments.choice.clip_norm >= 0) options.clip_norm = arguments.choice.clip_norm;
  if (arguments.clip_value >= 0) options.clip_value = arguments.clip_value;
  if (arguments.early_stop > 0) options.early_stop = arguments.early_stop;
  options.stop_at_nonfinite = !arguments.keep_nonfinite;
  if (!arguments.checkpoint.empty()) {
    fs::create_directories(arguments.checkpoint);
    options.checkpoint = (fs::path(arguments.checkpoint) / "checkpoint.pt").string();
  }
  return options;
}

// Of the whole training. A batch that does not fit is refused here, before it counts anything.
int64_t steps_of(const v1::TrainOptions& options, int64_t rows) {
  require(options.batch > 0 && options.batch <= rows, v1::ErrorCode::kInvalidArgument,
          "a batch of {} rows does not fit the data, which has {}", options.batch, rows);
  const int64_t batches =
      options.drop_last ? rows / options.batch : (rows + options.batch - 1) / options.batch;
  return std::max<int64_t>(1, batches * options.epochs);
}

// Hours of training are not to end with a name that cannot be written: a file beside it is made,
// and taken away, as saving will.
void require_writable(const std::string& path) {
  const std::string probe = path + ".partial";
  const bool was_there = fs::exists(probe);
  const bool is_writable = !fs::is_directory(path) && std::ofstream(probe, std::ios::app).good();
  std::error_code ignored;
  if (!was_there) fs::remove(probe, ignored);
  require(is_writable, v1::ErrorCode::kNotFound,
          "--out: cannot write {}: is it a folder, or in one that is not there or read-only?",
          path);
}

int train_model(const TrainArguments& arguments) {
  if (!arguments.out.empty()) require_writable(arguments.out);
  const v1::Module module = arguments.model.load(arguments.json);
  const std::vector<std::string> columns = arguments.choice.columns(module);
  const v1::NamedTensors data = v1::load_columns(arguments.choice.data, columns);
  v1::NamedTensors validation;
  if (!arguments.validate.empty()) validation = v1::load_columns(arguments.validate, columns);
  const v1::Optimizer optimizer = arguments.choice.make_optimizer(module);
  v1::TrainOptions options = trainer_options(arguments);
  const std::optional<v1::Schedule> schedule = make_schedule(
      arguments.schedule, steps_of(options, data[0].second.size(0)), optimizer, options);
  const std::vector<v1::TrainReport> reports =
      v1::train(module, optimizer, schedule ? &*schedule : nullptr, data, validation, options,
                [&](const v1::TrainReport& report) {
                  if (!arguments.json) print_text(report, options.epochs);
                  return true;
                });
  if (!arguments.out.empty()) {
    if (!module.info().is_exported) module.eval();  // An exported program's mode is baked in.
    module.save(arguments.out);
  }
  if (arguments.json) {
    print_json(arguments, reports);
  } else if (!reports.empty() && reports.back().stopped_early) {
    fmt::print("stopped: no lower validation loss since epoch {}, whose weights are kept\n",
               reports.back().best_epoch);
  }
  return kOk;
}

void add_options(CLI::App& command, TrainArguments& arguments) {
  arguments.model.add_to(command);
  arguments.choice.add_to(command, "--inputs");
  command.get_option("--data")->required();
  command.add_option("--validate", arguments.validate, "Columns to validate on after each epoch");
  command.add_option("--schedule", arguments.schedule,
                     "constant, cosine, linear, one_cycle, plateau, or a kind of torch.optim with "
                     "settings, by epoch: 'StepLR:{\"step_size\": 3}'");
  command.add_option("--epochs", arguments.trainer.epochs, "Epochs (default: 1)");
  command.add_option("--batch", arguments.trainer.batch, "Rows of a batch (default: 32)");
  command.add_flag("--drop-last", arguments.trainer.drop_last,
                   "Leave out the rows that do not fill the last batch");
  command.add_option("--clip-value", arguments.clip_value, "Clip gradients to this value")
      ->check(factor_range());
  command
      .add_option("--early-stop", arguments.early_stop,
                  "End after so many epochs without a lower validation loss")
      ->check(count_range(1));
  command.add_flag("--keep-nonfinite", arguments.keep_nonfinite,
                   "Go on after losses and gradients that are infinite or NaN");
  command.add_option("--checkpoint", arguments.checkpoint,
                     "Folder for a checkpoint, written after each epoch");
  command.add_flag("--resume", arguments.trainer.resume,
                   "Go on from the checkpoint, if it is there");
  command.add_option("--out", arguments.out, "Write the trained model here");
  command.add_flag("--json", arguments.json, "Print JSON");
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model on the columns of a file");
  add_options(*command, *arguments);
  command->callback([arguments, &action] {
    action = {[arguments] { return train_model(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
