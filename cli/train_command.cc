// tierup train: trains a model on the columns of a file, and writes it.
#include <fmt/format.h>

#include <filesystem>

#include "commands.h"
#include "json_writer.h"
#include "model_options.h"
#include "tierup/api/model/model_task.h"
#include "tierup/api/model/plain_json.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "train_options.h"

namespace tierup::cli {
namespace {

namespace fs = std::filesystem;
using training::EpochReport;
using training::Schedule;

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
  training::TrainerOptions trainer;
  bool json = false;
};

// A name of the common ones, or a kind of torch.optim.lr_scheduler with its settings:
// StepLR:{"step_size": 3}.
std::unique_ptr<Schedule> make_schedule(const TrainArguments& arguments, int64_t batches,
                                        training::Optimizer& optimizer,
                                        training::SchedulePace& pace) {
  const std::string& text = arguments.schedule;
  const int64_t steps = std::max<int64_t>(1, batches * arguments.trainer.epochs);
  pace = training::SchedulePace::kBatch;
  const auto made = [&](const char* name, const std::string& settings) {
    return std::make_unique<Schedule>(name, api::plain_json(settings).to_dict(), optimizer);
  };
  if (text == "constant") return nullptr;
  if (text == "cosine") return made("CosineAnnealingLR", fmt::format("{{\"T_max\": {}}}", steps));
  if (text == "linear") {
    return made(
        "LinearLR",
        fmt::format(R"({{"start_factor": 1.0, "end_factor": 0.0, "total_iters": {}}})", steps));
  }
  if (text == "one_cycle") {
    return made("OneCycleLR", fmt::format(R"({{"max_lr": {}, "total_steps": {}}})",
                                          optimizer.groups()[0].settings.lr, steps));
  }
  pace = training::SchedulePace::kEpoch;
  if (text == "plateau") return made("ReduceLROnPlateau", "{}");
  const size_t colon = text.find(':');
  const IValue settings =
      colon == std::string::npos ? api::plain_json("{}") : api::plain_json(text.substr(colon + 1));
  require(settings.is_dict(), ErrorCode::kInvalidArgument,
          "--schedule {}: settings are an object in JSON", text);
  return std::make_unique<Schedule>(text.substr(0, colon), settings.to_dict(), optimizer);
}

std::string percent(const std::optional<double>& part) {
  return part ? fmt::format("  right {:5.1f} %", 100 * *part) : "";
}

void print_text(const EpochReport& report, int64_t epochs) {
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

void print_json(const TrainArguments& arguments, const training::TrainingResult& result) {
  JsonWriter json;
  json.begin_object();
  json.key("out").string(arguments.out);
  json.key("stopped_early").boolean(result.stopped_early);
  json.key("best_epoch").integer(result.best_epoch);
  json.key("epochs").begin_array();
  for (const EpochReport& report : result.epochs) {
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
training::TrainerOptions trainer_options(const TrainArguments& arguments) {
  training::TrainerOptions options = arguments.trainer;
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

int train_model(const TrainArguments& arguments) {
  const api::Loss& loss = api::loss_of(arguments.choice.loss);
  const Ref<api::Model> model = arguments.model.load(arguments.json);
  const std::vector<std::string> columns = arguments.choice.columns(*model, loss);
  const training::DataSet data = training::DataSet::open(arguments.choice.data, columns);
  std::optional<training::DataSet> validation;
  if (!arguments.validate.empty()) {
    validation = training::DataSet::open(arguments.validate, columns);
  }
  const ThreadCountScope threads(arguments.model.threads);  // Of the optimiser and the loss.
  training::Optimizer optimizer = arguments.choice.make_optimizer(*model);
  training::TrainerOptions options = trainer_options(arguments);
  require(options.batch > 0 && options.batch <= data.rows(), ErrorCode::kInvalidArgument,
          "{}: a batch of {} rows does not fit the data, which has {}", data.name(), options.batch,
          data.rows());
  const int64_t batches = options.drop_last ? data.rows() / options.batch
                                            : (data.rows() + options.batch - 1) / options.batch;
  const std::unique_ptr<Schedule> schedule =
      make_schedule(arguments, batches, optimizer, options.pace);
  api::ModelTask task(*model, loss);
  task.check_data(data);
  if (validation) task.check_data(*validation);
  training::Trainer trainer(task, optimizer, schedule.get(), options);
  const training::TrainingResult result =
      trainer.run(data, validation ? &*validation : nullptr, [&](const EpochReport& report) {
        if (!arguments.json) print_text(report, options.epochs);
        return true;
      });
  if (!arguments.out.empty()) {
    task.set_training(false);
    model->save(arguments.out);
  }
  if (arguments.json) {
    print_json(arguments, result);
  } else if (result.stopped_early) {
    fmt::print("stopped: no lower validation loss since epoch {}, whose weights are kept\n",
               result.best_epoch);
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
  command.add_option("--clip-value", arguments.clip_value, "Clip gradients to this value");
  command.add_option("--early-stop", arguments.early_stop,
                     "End after so many epochs without a lower validation loss");
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
