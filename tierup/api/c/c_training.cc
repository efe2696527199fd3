// The C API's part of training, over training.h and optim.h.
#include "tierup/api/c/c_handles.h"
#include "tierup/optim.h"
#include "tierup/training.h"

struct tierup_optimizer {
  tierup::v1::Optimizer optimizer;
};
struct tierup_schedule {
  tierup::v1::Schedule schedule;
};

namespace tierup::v1 {
namespace {

tierup_backward_options complete(const tierup_backward_options* given) {
  tierup_backward_options full;
  tierup_backward_options_init(&full);
  if (given == nullptr) return full;
  require_argument(given->size >= sizeof(size_t), "the struct's size is not set");
  std::memcpy(&full, given, std::min(given->size, sizeof(full)));
  return full;
}

std::vector<Tensor> tensors_of(tierup_value* const* values, size_t count) {
  std::vector<Tensor> result;
  for (const Value& value : values_of(values, count)) result.push_back(value.to_tensor());
  return result;
}

std::vector<Tensor> cotangents_of(const tierup_backward_options& options, size_t count) {
  return options.gradients == nullptr ? std::vector<Tensor>()
                                      : tensors_of(options.gradients, count);
}

std::optional<bool> retains(const tierup_backward_options& options) {
  if (options.has_retain_graph == 0) return std::nullopt;
  return options.retain_graph != 0;
}

Value or_none(const Tensor& tensor) { return tensor.defined() ? Value(tensor) : Value(); }

NamedValues settings_of(const tierup_value* settings) {
  NamedValues result;
  if (settings == nullptr) return result;
  for (const auto& [key, value] : value_of(settings).entries())
    result.emplace_back(key.to_string(), value);
  return result;
}

const Optimizer& optimizer_of(const tierup_optimizer* optimizer) {
  require_argument(optimizer != nullptr, "the optimizer is null");
  return optimizer->optimizer;
}
const Schedule& schedule_of(const tierup_schedule* schedule) {
  require_argument(schedule != nullptr, "the schedule is null");
  return schedule->schedule;
}
const char* text_of(const char* text, const char* problem) {
  require_argument(text != nullptr, problem);
  return text;
}

// Runs `body`; TIERUP_OK, or the code of what it throws.
template <typename Body>
tierup_code done(tierup_error** error, Body&& body) {
  return c_guarded(error, [&] {
    body();
    return TIERUP_OK;
  });
}

}  // namespace
}  // namespace tierup::v1

using namespace tierup::v1;  // NOLINT(google-build-using-namespace): this file is its C face.

extern "C" {

void tierup_backward_options_init(tierup_backward_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->size = sizeof(*options);
}

tierup_code tierup_backward(tierup_value* const* outputs, size_t count,
                            const tierup_backward_options* options, tierup_error** error) {
  return done(error, [&] {
    const tierup_backward_options c = complete(options);
    backward(tensors_of(outputs, count), {.gradients = cotangents_of(c, count),
                                          .retain_graph = retains(c),
                                          .create_graph = c.create_graph != 0});
  });
}

tierup_value* tierup_grad(tierup_value* const* outputs, size_t count, tierup_value* const* inputs,
                          size_t input_count, const tierup_backward_options* options,
                          tierup_error** error) {
  return c_guarded(error, [&] {
    const tierup_backward_options c = complete(options);
    std::vector<Value> gradients;
    for (const Tensor& gradient : grad(tensors_of(outputs, count), tensors_of(inputs, input_count),
                                       {.gradients = cotangents_of(c, count),
                                       .retain_graph = retains(c),
                                       .create_graph = c.create_graph != 0,
                                       .allow_unused = c.allow_unused != 0})) {
      gradients.push_back(or_none(gradient));
    }
    return new_value(Value::list(std::move(gradients)));
  });
}

tierup_code tierup_tensor_requires_grad(const tierup_value* tensor, int* result,
                                        tierup_error** error) {
  return done(error, [&] {
    require_argument(result != nullptr, "the place for the result is null");
    *result = requires_grad(value_of(tensor).to_tensor()) ? 1 : 0;
  });
}
tierup_code tierup_tensor_set_requires_grad(const tierup_value* tensor, int value,
                                            tierup_error** error) {
  return done(error, [&] { set_requires_grad(value_of(tensor).to_tensor(), value != 0); });
}
tierup_value* tierup_tensor_grad(const tierup_value* tensor, tierup_error** error) {
  return c_guarded(error,
                   [&] { return new_value(or_none(grad_of(value_of(tensor).to_tensor()))); });
}
tierup_code tierup_tensor_set_grad(const tierup_value* tensor, const tierup_value* gradient,
                                   tierup_error** error) {
  return done(error, [&] {
    set_grad(value_of(tensor).to_tensor(),
             gradient == nullptr ? Tensor() : value_of(gradient).to_tensor());
  });
}
tierup_value* tierup_tensor_detach(const tierup_value* tensor, tierup_error** error) {
  return c_guarded(error, [&] { return new_value(detach(value_of(tensor).to_tensor())); });
}
tierup_code tierup_tensor_retain_grad(const tierup_value* tensor, tierup_error** error) {
  return done(error, [&] { retain_grad(value_of(tensor).to_tensor()); });
}
tierup_code tierup_module_zero_grad(const tierup_module* module, tierup_error** error) {
  return done(error, [&] { zero_grad(module_of(module)); });
}
tierup_value* tierup_module_run_checkpointed(const tierup_module* module, const char* method,
                                             tierup_value* const* args, size_t count,
                                             tierup_error** error) {
  return c_guarded(error, [&] {
    CheckpointedCall call;
    if (method != nullptr) call.method = method;
    call.args = values_of(args, count);
    return new_value(call_checkpointed(module_of(module), std::move(call)));
  });
}
tierup_code tierup_module_set_training(const tierup_module* module, int training,
                                       tierup_error** error) {
  return done(error, [&] { module_of(module).train(training != 0); });
}

tierup_optimizer* tierup_optimizer_new(const char* kind, const tierup_module* module,
                                       const tierup_value* settings, tierup_error** error) {
  return c_guarded(error, [&] {
    return new tierup_optimizer{Optimizer(text_of(kind, "the optimizer's kind is null"),
                                          module_of(module), settings_of(settings))};
  });
}
tierup_code tierup_optimizer_step(const tierup_optimizer* optimizer, tierup_error** error) {
  return done(error, [&] { optimizer_of(optimizer).step(); });
}
tierup_code tierup_optimizer_zero_grad(const tierup_optimizer* optimizer, tierup_error** error) {
  return done(error, [&] { optimizer_of(optimizer).zero_grad(); });
}
tierup_code tierup_optimizer_rate(const tierup_optimizer* optimizer, double* rate,
                                  tierup_error** error) {
  return done(error, [&] {
    require_argument(rate != nullptr, "the place for the rate is null");
    *rate = optimizer_of(optimizer).rate();
  });
}
tierup_code tierup_optimizer_set_rate(const tierup_optimizer* optimizer, double rate,
                                      tierup_error** error) {
  return done(error, [&] { optimizer_of(optimizer).set_rate(rate); });
}
tierup_value* tierup_optimizer_state(const tierup_optimizer* optimizer, tierup_error** error) {
  return c_guarded(error, [&] { return new_value(optimizer_of(optimizer).state_dict()); });
}
tierup_code tierup_optimizer_load_state(const tierup_optimizer* optimizer,
                                        const tierup_value* state, tierup_error** error) {
  return done(error, [&] { optimizer_of(optimizer).load_state_dict(value_of(state)); });
}
void tierup_optimizer_free(tierup_optimizer* optimizer) { delete optimizer; }

tierup_code tierup_clip_norm(const tierup_optimizer* optimizer, double max_norm, double norm_type,
                             double* norm, tierup_error** error) {
  return done(error, [&] {
    const double before = clip_norm(optimizer_of(optimizer).parameters(), max_norm, norm_type);
    if (norm != nullptr) *norm = before;
  });
}
tierup_code tierup_clip_value(const tierup_optimizer* optimizer, double limit,
                              tierup_error** error) {
  return done(error, [&] { clip_value(optimizer_of(optimizer).parameters(), limit); });
}

tierup_schedule* tierup_schedule_new(const char* kind, const tierup_value* settings,
                                     const tierup_optimizer* optimizer, tierup_error** error) {
  return c_guarded(error, [&] {
    return new tierup_schedule{Schedule(text_of(kind, "the schedule's kind is null"),
                                        settings_of(settings), optimizer_of(optimizer))};
  });
}
tierup_code tierup_schedule_step(const tierup_schedule* schedule, tierup_error** error) {
  return done(error, [&] { schedule_of(schedule).step(); });
}
tierup_code tierup_schedule_step_metric(const tierup_schedule* schedule, double metric,
                                        tierup_error** error) {
  return done(error, [&] { schedule_of(schedule).step(metric); });
}
void tierup_schedule_free(tierup_schedule* schedule) { delete schedule; }

tierup_code tierup_checkpoint_save(const char* path, const tierup_module* module,
                                   const tierup_optimizer* optimizer,
                                   const tierup_schedule* schedule, int64_t epoch,
                                   tierup_error** error) {
  return done(error, [&] {
    save_checkpoint(text_of(path, "the path is null"), module_of(module), optimizer_of(optimizer),
                    schedule == nullptr ? nullptr : &schedule->schedule, epoch);
  });
}
tierup_code tierup_checkpoint_load(const char* path, const tierup_module* module,
                                   const tierup_optimizer* optimizer,
                                   const tierup_schedule* schedule, int64_t* epoch,
                                   tierup_error** error) {
  return done(error, [&] {
    const int64_t found = load_checkpoint(text_of(path, "the path is null"), module_of(module),
                                          optimizer_of(optimizer),
                                          schedule == nullptr ? nullptr : &schedule->schedule);
    if (epoch != nullptr) *epoch = found;
  });
}

}  // extern "C"
