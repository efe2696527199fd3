// v1::Optimizer, Schedule and train over the rooms `training` and `api`.
#include <array>

#include "tierup/api/model/model_task.h"
#include "tierup/api/model/parameter_gradients.h"
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/base/parallel.h"
#include "tierup/optim.h"
#include "tierup/training/clip.h"
#include "tierup/training/trainer.h"

namespace tierup::v1 {

struct Optimizer::Impl {
  training::Optimizer optimizer;
};
struct Schedule::Impl {
  training::Schedule schedule;
  std::shared_ptr<void> optimizer;  // Kept alive.
};

namespace {

constexpr const char* kName = "main";

Ref<DictValue> dict_of(const NamedValues& values) {
  const auto dict = make_ref<DictValue>(Type::str(), Type::any());
  for (const auto& [name, value] : values) dict->set(IValue(name), Access::unwrap(value));
  return dict;
}

training::ParameterGroup group_of(training::OptimizerKind kind, const NamedValues& settings) {
  training::ParameterGroup group;
  group.settings = training::optimizer_facts(kind).defaults;
  training::apply_settings(kind, *dict_of(settings), false, group.settings);
  return group;
}

training::Optimizer make_optimizer(const std::string& name,
                                   const std::vector<Optimizer::Group>& groups) {
  const training::OptimizerKind kind = training::optimizer_kind(name);
  std::vector<training::ParameterGroup> own;
  for (const Optimizer::Group& group : groups) {
    own.push_back(group_of(kind, group.settings));
    for (const auto& [parameter, tensor] : group.parameters) {
      own.back().parameters.emplace_back(parameter, Access::unwrap(tensor));
    }
  }
  return {kind, std::move(own)};
}

training::Optimizer make_optimizer(const std::string& name, const Module& module,
                                   const NamedValues& settings) {
  const training::OptimizerKind kind = training::optimizer_kind(name);
  training::ParameterGroup group = group_of(kind, settings);
  group.parameters = api::trainable_parameters(*Access::impl(module).model, {});
  return {kind, {std::move(group)}};
}

std::vector<::tierup::Tensor> unwrap_tensors(const std::vector<Tensor>& tensors) {
  std::vector<::tierup::Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(Access::unwrap(tensor));
  return result;
}

training::TrainerOptions trainer_options(const TrainOptions& from) {
  training::TrainerOptions to;
  to.epochs = from.epochs;
  to.batch = from.batch;
  to.shuffle = from.shuffle;
  to.drop_last = from.drop_last;
  to.clip_norm = from.clip_norm;
  to.clip_value = from.clip_value;
  to.early_stop = from.early_stop;
  to.stop_at_nonfinite = from.stop_at_nonfinite;
  to.pace =
      from.step_schedule_by_batch ? training::SchedulePace::kBatch : training::SchedulePace::kEpoch;
  to.checkpoint = from.checkpoint;
  to.resume = from.resume;
  return to;
}

TrainReport public_report(const training::EpochReport& from) {
  TrainReport to;
  to.epoch = from.epoch;
  to.loss = from.loss;
  to.accuracy = from.accuracy;
  to.validation_loss = from.validation_loss;
  to.validation_accuracy = from.validation_accuracy;
  to.rate = from.rate;
  to.seconds = from.seconds;
  to.is_best = from.is_best;
  to.best_epoch = from.best_epoch;
  to.stopped_early = from.stopped_early;
  return to;
}

training::DataSet data_set(const char* name, const NamedTensors& columns) {
  archive::NamedTensors own;
  for (const auto& [column, tensor] : columns) own.emplace_back(column, Access::unwrap(tensor));
  return {name, std::move(own)};
}

training::Schedule* schedule_of(const Schedule* schedule) {
  return schedule == nullptr ? nullptr : &Access::impl(*schedule).schedule;
}

}  // namespace

Optimizer::Optimizer(const std::string& kind, const std::vector<Group>& groups)
    : impl_(guarded([&] { return std::make_shared<Impl>(Impl{make_optimizer(kind, groups)}); })) {}
Optimizer::Optimizer(const std::string& kind, const Module& module, const NamedValues& settings)
    : impl_(guarded(
          [&] { return std::make_shared<Impl>(Impl{make_optimizer(kind, module, settings)}); })) {}
Optimizer::~Optimizer() = default;
Optimizer::Optimizer(const Optimizer&) noexcept = default;
Optimizer& Optimizer::operator=(const Optimizer&) noexcept = default;

void Optimizer::step() const {
  guarded([&] { impl_->optimizer.step(api::gradients_of(impl_->optimizer.parameters())); });
}

void Optimizer::step_clipped(double norm, double max_norm) const {
  guarded([&] {
    require(max_norm >= 0, ::tierup::ErrorCode::kInvalidArgument, "a norm of at most {}", max_norm);
    const std::vector<::tierup::Tensor> parameters = impl_->optimizer.parameters();
    impl_->optimizer.step(api::gradients_of(parameters),
                          training::clip_factor(norm, max_norm, parameters[0].dtype()));
  });
}

void Optimizer::zero_grad() const {
  guarded([&] { api::clear_gradients(impl_->optimizer.parameters()); });
}

std::vector<Tensor> Optimizer::parameters() const {
  return guarded([&] {
    std::vector<Tensor> result;
    for (::tierup::Tensor& tensor : impl_->optimizer.parameters()) {
      result.push_back(Access::wrap(std::move(tensor)));
    }
    return result;
  });
}

size_t Optimizer::group_count() const { return impl_->optimizer.groups().size(); }

double Optimizer::rate(size_t group) const {
  return guarded([&] {
    require(group < group_count(), ::tierup::ErrorCode::kOutOfRange, "there is no group {}", group);
    return impl_->optimizer.groups()[group].settings.lr;
  });
}

void Optimizer::set_rate(double rate, size_t group) const {
  guarded([&] {
    require(group < group_count(), ::tierup::ErrorCode::kOutOfRange, "there is no group {}", group);
    training::Settings settings = impl_->optimizer.groups()[group].settings;
    settings.lr = rate;
    training::check_settings(impl_->optimizer.kind(), settings);
    impl_->optimizer.groups()[group].settings.lr = rate;
  });
}

Value Optimizer::state_dict() const {
  return guarded([&] { return Access::wrap(deep_copy(impl_->optimizer.state_dict())); });
}
void Optimizer::load_state_dict(const Value& state) const {
  guarded([&] { impl_->optimizer.load_state_dict(Access::unwrap(state)); });
}

Schedule::Schedule(const std::string& kind, const NamedValues& settings, const Optimizer& optimizer)
    : impl_(guarded([&] {
        auto& own = Access::impl_ref(optimizer);
        return std::make_shared<Impl>(
            Impl{training::Schedule(kind, *dict_of(settings), own->optimizer), own});
      })) {}
Schedule::Schedule(std::function<double(int64_t)> factor, const Optimizer& optimizer)
    : impl_(guarded([&] {
        auto& own = Access::impl_ref(optimizer);
        return std::make_shared<Impl>(
            Impl{training::Schedule(std::move(factor), own->optimizer), own});
      })) {}
Schedule::~Schedule() = default;
Schedule::Schedule(const Schedule&) noexcept = default;
Schedule& Schedule::operator=(const Schedule&) noexcept = default;

void Schedule::step() const {
  guarded([&] { impl_->schedule.step(); });
}
void Schedule::step(double metric) const {
  guarded([&] { impl_->schedule.step(metric); });
}
std::vector<double> Schedule::rates() const {
  return guarded([&] { return impl_->schedule.rates(); });
}
Value Schedule::state_dict() const {
  return guarded([&] { return Access::wrap(deep_copy(impl_->schedule.state_dict())); });
}
void Schedule::load_state_dict(const Value& state) const {
  guarded([&] { impl_->schedule.load_state_dict(Access::unwrap(state)); });
}

double clip_norm(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                 bool error_if_nonfinite) {
  return guarded([&] {
    return training::clip_norm(api::gradients_of(unwrap_tensors(parameters)), max_norm, norm_type,
                               error_if_nonfinite);
  });
}

double gradient_norm(const std::vector<Tensor>& parameters, double norm_type) {
  return guarded([&] {
    return training::total_norm(api::gradients_of(unwrap_tensors(parameters)), norm_type);
  });
}

void clip_value(const std::vector<Tensor>& parameters, double limit) {
  guarded([&] { training::clip_value(api::gradients_of(unwrap_tensors(parameters)), limit); });
}

void save_checkpoint(const std::string& path, const Module& module, const Optimizer& optimizer,
                     const Schedule* schedule, int64_t epoch) {
  guarded([&] {
    const api::Model& model = *Access::impl(module).model;
    training::Checkpoint checkpoint;
    checkpoint.model = model.state();
    checkpoint.optimizers.emplace_back(kName, Access::impl(optimizer).optimizer.state_dict());
    if (schedule != nullptr) {
      checkpoint.schedules.emplace_back(kName, schedule_of(schedule)->state_dict());
    }
    checkpoint.generator = model.generator().state();
    checkpoint.epoch = epoch;
    training::save_checkpoint(path, checkpoint);
  });
}

int64_t load_checkpoint(const std::string& path, const Module& module, const Optimizer& optimizer,
                        const Schedule* schedule) {
  return guarded([&] {
    const api::Model& model = *Access::impl(module).model;
    const training::Checkpoint saved = training::load_checkpoint(path);
    training::restore(saved, path,
                      {.state = model.state(),
                       .optimizer = &Access::impl(optimizer).optimizer,
                       .schedule = schedule_of(schedule),
                       .generator = &model.generator()});
    return saved.epoch;
  });
}

NamedTensors load_columns(const std::string& path, const std::vector<std::string>& names) {
  return guarded([&] {
    NamedTensors result;
    const training::DataSet data = training::DataSet::open(path, names);
    for (const auto& [name, column] : data.columns()) {
      result.emplace_back(name, Access::wrap(column));
    }
    return result;
  });
}

std::vector<TrainReport> train(const Module& module, const Optimizer& optimizer,
                               const Schedule* schedule, const NamedTensors& data,
                               const NamedTensors& validation, const TrainOptions& options,
                               const std::function<bool(const TrainReport&)>& callback) {
  return guarded([&] {
    const api::Model& model = *Access::impl(module).model;
    const ThreadCountScope threads(model.options().threads);
    api::ModelTask task(model, api::loss_of(options.loss));
    const training::DataSet rows = data_set("data", data);
    task.check_data(rows);
    std::optional<training::DataSet> unseen;
    if (!validation.empty()) unseen = data_set("validation", validation);
    if (unseen) task.check_data(*unseen);
    training::Trainer trainer(task, Access::impl(optimizer).optimizer, schedule_of(schedule),
                              trainer_options(options));
    const auto see = [&](const training::EpochReport& report) {
      return !callback || callback(public_report(report));
    };
    std::vector<TrainReport> reports;
    const training::TrainingResult result = trainer.run(rows, unseen ? &*unseen : nullptr, see);
    for (const training::EpochReport& report : result.epochs) {
      reports.push_back(public_report(report));
    }
    return reports;
  });
}

}  // namespace tierup::v1
