/* The part of the C API that trains: gradients, optimisers, schedules, checkpoints. c_api.h
 * includes it, and has the rules; training.h and optim.h say what each function does.
 *
 *   tierup_optimizer* optimizer = tierup_optimizer_new("AdamW", module, NULL, &error);
 *   tierup_run_options run;
 *   tierup_run_options_init(&run);
 *   run.gradients = 1;
 *   tierup_value* loss = tierup_module_run(module, NULL, batch, 2, &run, &error);
 *   tierup_backward(&loss, 1, NULL, &error);
 *   tierup_clip_norm(optimizer, 1.0, 2.0, NULL, &error);
 *   tierup_optimizer_step(optimizer, &error);
 *   tierup_optimizer_zero_grad(optimizer, &error);
 */
#ifndef TIERUP_C_TRAINING_H
#define TIERUP_C_TRAINING_H

#include "tierup/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Gradients of recorded calls (tierup_run_options.gradients) ---- */

typedef struct tierup_backward_options {
  size_t size;
  /* One for each output, of its sizes; NULL: for outputs of a single element. */
  tierup_value* const* gradients;
  int32_t has_retain_graph; /* Else as create_graph. */
  int32_t retain_graph;
  int32_t create_graph;
  int32_t allow_unused; /* Of tierup_grad: none for inputs that were not used. */
} tierup_backward_options;
TIERUP_C_API void tierup_backward_options_init(tierup_backward_options* options);

/* Adds the gradients of `outputs` to those of the leaves behind them. Options may be NULL. */
TIERUP_C_API tierup_code tierup_backward(tierup_value* const* outputs, size_t count,
                                         const tierup_backward_options* options,
                                         tierup_error** error);
/* A list with the gradient of each input, or none; no leaf is touched. */
TIERUP_C_API tierup_value* tierup_grad(tierup_value* const* outputs, size_t count,
                                       tierup_value* const* inputs, size_t input_count,
                                       const tierup_backward_options* options,
                                       tierup_error** error);
TIERUP_C_API tierup_code tierup_tensor_requires_grad(const tierup_value* tensor, int* result,
                                                     tierup_error** error);
TIERUP_C_API tierup_code tierup_tensor_set_requires_grad(const tierup_value* tensor, int value,
                                                         tierup_error** error);
/* The accumulated gradient, shared; a value of kind none if there is none. */
TIERUP_C_API tierup_value* tierup_tensor_grad(const tierup_value* tensor, tierup_error** error);
/* `gradient` NULL: takes it away. */
TIERUP_C_API tierup_code tierup_tensor_set_grad(const tierup_value* tensor,
                                                const tierup_value* gradient, tierup_error** error);
/* The same memory without a record. */
TIERUP_C_API tierup_value* tierup_tensor_detach(const tierup_value* tensor, tierup_error** error);
TIERUP_C_API tierup_code tierup_tensor_retain_grad(const tierup_value* tensor,
                                                   tierup_error** error);
/* Takes the gradients of all parameters away. */
TIERUP_C_API tierup_code tierup_module_zero_grad(const tierup_module* module, tierup_error** error);
/* A call of which only the arguments are kept: training.h, call_checkpointed. `method` NULL:
 * "forward". */
TIERUP_C_API tierup_value* tierup_module_run_checkpointed(const tierup_module* module,
                                                          const char* method,
                                                          tierup_value* const* args, size_t count,
                                                          tierup_error** error);
/* Training mode (1) or evaluation (0). */
TIERUP_C_API tierup_code tierup_module_set_training(const tierup_module* module, int training,
                                                    tierup_error** error);

/* ---- Optimisers and schedules ---- */

typedef struct tierup_optimizer tierup_optimizer;
/* Over the parameters of a module that require gradients. `kind` and settings, a dict of names (or
 * NULL), are torch.optim's. */
TIERUP_C_API tierup_optimizer* tierup_optimizer_new(const char* kind, const tierup_module* module,
                                                    const tierup_value* settings,
                                                    tierup_error** error);
TIERUP_C_API tierup_code tierup_optimizer_step(const tierup_optimizer* optimizer,
                                               tierup_error** error);
TIERUP_C_API tierup_code tierup_optimizer_zero_grad(const tierup_optimizer* optimizer,
                                                    tierup_error** error);
TIERUP_C_API tierup_code tierup_optimizer_rate(const tierup_optimizer* optimizer, double* rate,
                                               tierup_error** error);
TIERUP_C_API tierup_code tierup_optimizer_set_rate(const tierup_optimizer* optimizer, double rate,
                                                   tierup_error** error);
/* The state dict of torch.optim. */
TIERUP_C_API tierup_value* tierup_optimizer_state(const tierup_optimizer* optimizer,
                                                  tierup_error** error);
TIERUP_C_API tierup_code tierup_optimizer_load_state(const tierup_optimizer* optimizer,
                                                     const tierup_value* state,
                                                     tierup_error** error);
TIERUP_C_API void tierup_optimizer_free(tierup_optimizer* optimizer);

/* Scale, or clamp, the gradients of the optimiser's parameters. `norm` takes what it was before;
 * it may be NULL. */
TIERUP_C_API tierup_code tierup_clip_norm(const tierup_optimizer* optimizer, double max_norm,
                                          double norm_type, double* norm, tierup_error** error);
TIERUP_C_API tierup_code tierup_clip_value(const tierup_optimizer* optimizer, double limit,
                                           tierup_error** error);

typedef struct tierup_schedule tierup_schedule;
TIERUP_C_API tierup_schedule* tierup_schedule_new(const char* kind, const tierup_value* settings,
                                                  const tierup_optimizer* optimizer,
                                                  tierup_error** error);
TIERUP_C_API tierup_code tierup_schedule_step(const tierup_schedule* schedule,
                                              tierup_error** error);
/* Of ReduceLROnPlateau. */
TIERUP_C_API tierup_code tierup_schedule_step_metric(const tierup_schedule* schedule, double metric,
                                                     tierup_error** error);
TIERUP_C_API void tierup_schedule_free(tierup_schedule* schedule);

/* Weights, optimiser, schedule (may be NULL), random stream and epoch: optim.h. */
TIERUP_C_API tierup_code tierup_checkpoint_save(const char* path, const tierup_module* module,
                                                const tierup_optimizer* optimizer,
                                                const tierup_schedule* schedule, int64_t epoch,
                                                tierup_error** error);
/* `epoch` may be NULL. */
TIERUP_C_API tierup_code tierup_checkpoint_load(const char* path, const tierup_module* module,
                                                const tierup_optimizer* optimizer,
                                                const tierup_schedule* schedule, int64_t* epoch,
                                                tierup_error** error);

#ifdef __cplusplus
}
#endif

#endif
