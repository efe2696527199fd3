// tierup save: writes a model again, with other weights, or its weights alone.
#include <fmt/format.h>

#include <filesystem>

#include "commands.h"
#include "json_writer.h"
#include "model_options.h"

namespace tierup::cli {
namespace {

struct SaveArguments {
  ModelArguments model;
  std::string weights;
  std::string out;
  bool partial = false;
  bool state_dict = false;
  bool json = false;
};

void report(const SaveArguments& arguments, size_t tensors) {
  const uint64_t bytes = std::filesystem::file_size(arguments.out);
  if (!arguments.json) {
    fmt::print("{}: {} tensors, {} bytes\n", arguments.out, tensors, bytes);
    return;
  }
  JsonWriter json;
  json.begin_object();
  json.key("file").string(arguments.out);
  json.key("tensors").integer(static_cast<int64_t>(tensors));
  json.key("bytes").integer(static_cast<int64_t>(bytes));
  json.end_object();
  fmt::print("{}\n", json.text());
}

int save_model(const SaveArguments& arguments) {
  const v1::Module module = arguments.model.load(arguments.json);
  if (!arguments.weights.empty()) module.load_state_dict(arguments.weights, !arguments.partial);
  if (arguments.state_dict) {
    module.save_state_dict(arguments.out);
  } else {
    module.save(arguments.out);
  }
  report(arguments, module.state_dict().size());
  return kOk;
}

}  // namespace

void add_save_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<SaveArguments>();
  CLI::App* command = app.add_subcommand(
      "save", "Write a model with other weights, or its weights alone, for PyTorch and tierup");
  arguments->model.add_to(*command);
  command->add_option("--weights", arguments->weights,
                      "Weights to put in: safetensors, or a state dict by torch.save");
  command->add_flag("--partial", arguments->partial, "Let names be missing on either side");
  command->add_option("--out", arguments->out, "The file to write")->required();
  command->add_flag("--state-dict", arguments->state_dict,
                    "Write the weights alone: .safetensors, else what torch.load reads");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return save_model(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
