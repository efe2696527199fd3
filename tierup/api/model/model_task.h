// ModelTask: a loaded model as something to be trained.
#pragma once

#include "tierup/api/model/losses.h"
#include "tierup/api/model/model.h"
#include "tierup/training/trainer.h"

namespace tierup::api {

// Columns of a batch: the arguments of the method in order, then the target (not for losses that
// the model gives itself).
class ModelTask final : public training::TrainingTask {
 public:
  // The model's forward, hooks included. Outlived by `model`.
  ModelTask(const Model& model, const Loss& loss) : model_(model), loss_(loss) {}

  // Runs the model on the first row, without gradients, and checks the targets against what it
  // gives. Throws kInvalidArgument for labels out of the range of the classes or of another dtype.
  void check_data(const training::DataSet& data);

  training::Score learn(const training::Batch& batch) override;
  std::vector<Tensor> gradients(const std::vector<Tensor>& parameters) override;
  training::Score evaluate(const training::Batch& batch) override;
  std::string explain_nonfinite(const training::Batch& batch) override;
  // An exported program's mode is baked in: it is left.
  void set_training(bool training) override;
  archive::NamedTensors state() override { return model_.state(); }
  kernels::Generator& generator() override { return model_.generator(); }

 private:
  struct Forward {
    Tensor output;
    Tensor loss;
  };
  Forward forward(const training::Batch& batch, bool gradients,
                  runtime::StepObserver* observer = nullptr) const;
  training::Score score(const Forward& result, const training::Batch& batch) const;
  // The operator, and its line in the model, whose backward pass first gave an infinite or NaN
  // gradient for finite ones; empty if none did.
  std::string first_nonfinite_gradient(const training::Batch& batch);

  const Model& model_;
  const Loss& loss_;
  std::vector<std::string> columns_;  // Of the data, for errors.
};

// The parameters that require gradients, by name; those whose names match one of `patterns` (as
// file names do) if there are any. Throws kInvalidArgument if none is left.
std::vector<std::pair<std::string, Tensor>> trainable_parameters(
    const Model& model, const std::vector<std::string>& patterns);

}  // namespace tierup::api
