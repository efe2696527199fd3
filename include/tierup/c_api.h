/* The C API (C99): load, run, serve. <tierup/tierup.h> includes it, from C as from C++.
 *
 *   tierup_error* error = NULL;
 *   tierup_executor* executor = tierup_executor_open("model.pt2", NULL, NULL, &error);
 *   tierup_value* input = tierup_tensor_copy(data, shape, 2, TIERUP_FLOAT32, &error);
 *   tierup_value* output = tierup_executor_run(executor, &input, 1, NULL, &error);
 *
 * Rules. A function that can fail takes `tierup_error** error` last; on failure it returns NULL or
 * a code other than TIERUP_OK and, if `error` is not NULL, stores an error that the caller frees.
 * Handles are freed by the function of their name; NULL is allowed there. Values are references:
 * freeing one leaves what else holds it. Any thread may use any handle; two threads must not free
 * one handle. Structs begin with their size, set by their _init function, so that later versions
 * may add fields. No exception ever leaves a function.
 */
#ifndef TIERUP_C_API_H
#define TIERUP_C_API_H

#include <stddef.h>
#include <stdint.h>

#define TIERUP_C_API_VERSION 1
#define TIERUP_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* What the library was built as; a program may ask for at least its own TIERUP_C_API_VERSION. */
TIERUP_C_API int tierup_api_version(void);
/* "0.1.0" */
TIERUP_C_API const char* tierup_version(void);

/* ---- Errors ---- */

typedef enum tierup_code {
  TIERUP_OK = 0,
  TIERUP_INVALID_ARGUMENT = 1,
  TIERUP_OUT_OF_RANGE = 2,
  TIERUP_TYPE_ERROR = 3,
  TIERUP_MODEL_EXCEPTION = 4, /* Raised by the model's own code. */
  TIERUP_UNSUPPORTED = 5,
  TIERUP_NOT_FOUND = 6,
  TIERUP_CORRUPT_ARCHIVE = 7,
  TIERUP_SYNTAX = 8,
  TIERUP_CANCELLED = 9,
  TIERUP_DEADLINE_EXCEEDED = 10,
  TIERUP_OUT_OF_MEMORY = 11,
  TIERUP_RECURSION_LIMIT = 12,
  TIERUP_INTERNAL = 13,
  TIERUP_EXHAUSTED = 14 /* All frames in use, or too many runs waiting: may work later. */
} tierup_code;

typedef struct tierup_error tierup_error;
TIERUP_C_API tierup_code tierup_error_code(const tierup_error* error);
/* The sentence; the text has the context too. Both stand as long as the error. */
TIERUP_C_API const char* tierup_error_message(const tierup_error* error);
TIERUP_C_API const char* tierup_error_text(const tierup_error* error);
TIERUP_C_API void tierup_error_free(tierup_error* error);

/* ---- Values ---- */

typedef enum tierup_kind {
  TIERUP_KIND_NONE = 0,
  TIERUP_KIND_BOOL = 1,
  TIERUP_KIND_INT = 2,
  TIERUP_KIND_FLOAT = 3,
  TIERUP_KIND_COMPLEX = 4,
  TIERUP_KIND_STRING = 5,
  TIERUP_KIND_TENSOR = 6,
  TIERUP_KIND_LIST = 7,
  TIERUP_KIND_TUPLE = 8,
  TIERUP_KIND_DICT = 9,
  TIERUP_KIND_OBJECT = 10,
  TIERUP_KIND_ENUM = 11,
  TIERUP_KIND_DEVICE = 12,
  TIERUP_KIND_OTHER = 13
} tierup_kind;

/* Element types, with PyTorch's codes. */
typedef enum tierup_dtype {
  TIERUP_UINT8 = 0,
  TIERUP_INT8 = 1,
  TIERUP_INT16 = 2,
  TIERUP_INT32 = 3,
  TIERUP_INT64 = 4,
  TIERUP_FLOAT16 = 5,
  TIERUP_FLOAT32 = 6,
  TIERUP_FLOAT64 = 7,
  TIERUP_COMPLEX64 = 9,
  TIERUP_COMPLEX128 = 10,
  TIERUP_BOOL = 11,
  TIERUP_BFLOAT16 = 15,
  TIERUP_UINT16 = 27,
  TIERUP_UINT32 = 28,
  TIERUP_UINT64 = 29
} tierup_dtype;

typedef struct tierup_value tierup_value;

TIERUP_C_API tierup_value* tierup_none(void);
TIERUP_C_API tierup_value* tierup_bool(int value);
TIERUP_C_API tierup_value* tierup_int(int64_t value);
TIERUP_C_API tierup_value* tierup_float(double value);
TIERUP_C_API tierup_value* tierup_string(const char* text, size_t length, tierup_error** error);
/* The items stay the caller's. */
TIERUP_C_API tierup_value* tierup_list(tierup_value* const* items, size_t count,
                                       tierup_error** error);
TIERUP_C_API tierup_value* tierup_tuple(tierup_value* const* items, size_t count,
                                        tierup_error** error);
TIERUP_C_API tierup_value* tierup_dict(tierup_value* const* keys, tierup_value* const* values,
                                       size_t count, tierup_error** error);
/* A copy of row-major data. */
TIERUP_C_API tierup_value* tierup_tensor_copy(const void* data, const int64_t* shape, size_t rank,
                                              tierup_dtype dtype, tierup_error** error);
/* The caller's memory; `release(context)` is called when nothing uses it any more (both may be
 * NULL). `strides` in elements; NULL: row-major. */
TIERUP_C_API tierup_value* tierup_tensor_borrow(void* data, const int64_t* shape,
                                                const int64_t* strides, size_t rank,
                                                tierup_dtype dtype, void (*release)(void* context),
                                                void* context, tierup_error** error);
/* DLPack (its header is not needed here). Takes `managed` over; on failure it is still the
 * caller's. The exported one must be given to its deleter. */
struct DLManagedTensorVersioned;
TIERUP_C_API tierup_value* tierup_tensor_from_dlpack(struct DLManagedTensorVersioned* managed,
                                                     tierup_error** error);
TIERUP_C_API struct DLManagedTensorVersioned* tierup_tensor_to_dlpack(const tierup_value* value,
                                                                      tierup_error** error);

TIERUP_C_API tierup_kind tierup_value_kind(const tierup_value* value);
TIERUP_C_API tierup_code tierup_value_bool(const tierup_value* value, int* result,
                                           tierup_error** error);
TIERUP_C_API tierup_code tierup_value_int(const tierup_value* value, int64_t* result,
                                          tierup_error** error);
TIERUP_C_API tierup_code tierup_value_float(const tierup_value* value, double* result,
                                            tierup_error** error);
/* A text that the caller frees with tierup_text_free: of a string, or of any value as printed. */
TIERUP_C_API char* tierup_value_string(const tierup_value* value, size_t* length,
                                       tierup_error** error);
TIERUP_C_API char* tierup_value_describe(const tierup_value* value, tierup_error** error);
TIERUP_C_API void tierup_text_free(char* text);
/* Of a list, tuple or dict; 0 for others. */
TIERUP_C_API size_t tierup_value_size(const tierup_value* value);
/* The item, or the value of the entry, and the key of the entry, each a new handle. */
TIERUP_C_API tierup_value* tierup_value_item(const tierup_value* value, size_t index,
                                             tierup_error** error);
TIERUP_C_API tierup_value* tierup_value_key(const tierup_value* value, size_t index,
                                            tierup_error** error);
TIERUP_C_API void tierup_value_free(tierup_value* value);

/* Where a tensor's elements lie; valid as long as the value. */
typedef struct tierup_tensor_view {
  void* data;
  const int64_t* shape;
  const int64_t* strides; /* In elements. */
  size_t rank;
  tierup_dtype dtype;
} tierup_tensor_view;
TIERUP_C_API tierup_code tierup_tensor_describe(const tierup_value* value, tierup_tensor_view* view,
                                                tierup_error** error);
/* The tensor itself if its elements are row-major without gaps, else such a copy. */
TIERUP_C_API tierup_value* tierup_tensor_contiguous(const tierup_value* value,
                                                    tierup_error** error);

/* ---- Options ---- */

typedef struct tierup_options {
  size_t size;
  int32_t threads;        /* For one operator; 0: the usable cores. */
  int32_t fork_threads;   /* For torch.jit.fork; 0: one less than those; -1: none. */
  int64_t time_limit_ms;  /* Of a run; 0: none. */
  int64_t max_call_depth; /* Calls of the model's functions within each other. */
  int32_t has_seed;
  uint64_t seed;
  int32_t devices_to_cpu;
  int32_t allow_unsupported;
  int32_t run_model_code_at_load;
  void (*print)(const char* text, void* context); /* NULL: stdout. */
  void (*warn)(const char* text, void* context);  /* NULL: stderr. */
  void* context;
  const char* const* plugins; /* Shared objects with operators and delegates: tierup/plugin.h. */
  size_t plugin_count;
  uint32_t inter_op_threads; /* For independent branches of one call; 0 or 1: none. */
  const char* tiering;       /* "key=value,...": Options::tiering of options.h; NULL: none. */
  /* Rewrites of graphs: struct tierup_plugin_pass of plugin.h, which outlive the module. */
  const struct tierup_plugin_pass* const* passes;
  size_t pass_count;
  int32_t load_into_memory; /* Read files whole instead of mapping them: see options.h. */
} tierup_options;
TIERUP_C_API void tierup_options_init(tierup_options* options);

typedef struct tierup_executor_config {
  size_t size;
  uint32_t max_frames;     /* Runs at once; 0: as many as come. */
  int32_t wait_for_frame;  /* 0: a run that finds none fails. */
  uint32_t async_threads;  /* 0: the usable cores. */
  uint32_t max_queued;     /* Runs that may wait for such a thread. */
  int64_t time_limit_ms;   /* Of a run, waiting included; 0: none. */
  int64_t frame_idle_ms;   /* Idle frames are given back after so long; 0: never. */
  int32_t prepare_weights; /* A swap returns when everything made of weights is made anew. */
} tierup_executor_config;
TIERUP_C_API void tierup_executor_config_init(tierup_executor_config* config);

/* Stops runs from any thread. */
typedef struct tierup_token tierup_token;
TIERUP_C_API tierup_token* tierup_token_new(void);
TIERUP_C_API void tierup_token_cancel(tierup_token* token);
TIERUP_C_API void tierup_token_free(tierup_token* token);

typedef struct tierup_run_options {
  size_t size;
  tierup_token* token;              /* May be NULL. */
  int64_t time_limit_ms;            /* 0: as configured. */
  const char* const* keyword_names; /* The last `keyword_count` arguments are by name. */
  size_t keyword_count;
  int32_t gradients; /* Record the call of a module, for tierup_backward (c_training.h). */
} tierup_run_options;
TIERUP_C_API void tierup_run_options_init(tierup_run_options* options);

/* ---- Modules ---- */

typedef struct tierup_module tierup_module;
/* A .pt or .pt2 file, which is mapped (replace it by rename while it is in use); or its bytes,
 * which are copied. Options may be NULL. */
TIERUP_C_API tierup_module* tierup_module_load(const char* path, const tierup_options* options,
                                               tierup_error** error);
TIERUP_C_API tierup_module* tierup_module_load_bytes(const void* bytes, size_t size,
                                                     const tierup_options* options,
                                                     tierup_error** error);
/* `method` NULL: as Python's module(...), hooks included. */
TIERUP_C_API tierup_value* tierup_module_run(const tierup_module* module, const char* method,
                                             tierup_value* const* args, size_t count,
                                             const tierup_run_options* options,
                                             tierup_error** error);
/* An archive of the kind that was loaded, with the weights and attributes as they are now; it
 * appears whole or not at all. */
TIERUP_C_API tierup_code tierup_module_save(const tierup_module* module, const char* path,
                                            tierup_error** error);
/* Parameters and buffers: as safetensors if the path ends so, else as torch.save writes them. */
TIERUP_C_API tierup_code tierup_module_save_state_dict(const tierup_module* module,
                                                       const char* path, tierup_error** error);
/* Copies from such a file. With `strict`, names must match exactly; shapes always must. */
TIERUP_C_API tierup_code tierup_module_load_state_dict(const tierup_module* module,
                                                       const char* path, int strict,
                                                       tierup_error** error);
/* A dict from name to tensor: parameters and buffers, which are the module's own; and one attribute
 * by its dotted path. After writing to a tensor: tierup_tensor_mark_written. */
TIERUP_C_API tierup_value* tierup_module_state(const tierup_module* module, tierup_error** error);
TIERUP_C_API tierup_code tierup_module_load_state(const tierup_module* module,
                                                  const tierup_value* state, int strict,
                                                  tierup_error** error);
TIERUP_C_API tierup_value* tierup_module_attribute(const tierup_module* module, const char* path,
                                                   tierup_error** error);
TIERUP_C_API tierup_code tierup_module_set_attribute(const tierup_module* module, const char* path,
                                                     const tierup_value* value,
                                                     tierup_error** error);
TIERUP_C_API tierup_code tierup_tensor_mark_written(const tierup_value* value,
                                                    tierup_error** error);
TIERUP_C_API void tierup_module_free(tierup_module* module);

/* Drops plans and profiles: the next calls begin anew at tier 0. */
TIERUP_C_API tierup_code tierup_module_flush(const tierup_module* module, tierup_error** error);
/* Returns when no compile job waits or runs, or after `timeout_ms` (negative: no limit); `done`
 * says whether none does. `done` may be NULL. */
TIERUP_C_API tierup_code tierup_module_wait_for_compilation(const tierup_module* module,
                                                            int64_t timeout_ms, int* done,
                                                            tierup_error** error);
/* A method's graph as loaded, and its steps at tier 0: texts for tierup_text_free. */
TIERUP_C_API char* tierup_module_graph_text(const tierup_module* module, const char* method,
                                            tierup_error** error);
TIERUP_C_API char* tierup_module_plan_text(const tierup_module* module, const char* method,
                                           tierup_error** error);

/* ---- The Executor ---- */

typedef struct tierup_executor tierup_executor;
TIERUP_C_API tierup_executor* tierup_executor_open(const char* path,
                                                   const tierup_executor_config* config,
                                                   const tierup_options* options,
                                                   tierup_error** error);
TIERUP_C_API tierup_executor* tierup_executor_of(const tierup_module* module,
                                                 const tierup_executor_config* config,
                                                 tierup_error** error);
TIERUP_C_API tierup_value* tierup_executor_run(const tierup_executor* executor,
                                               tierup_value* const* args, size_t count,
                                               const tierup_run_options* options,
                                               tierup_error** error);
/* IO binding: flattened arguments, and tensors that take the flattened results. */
TIERUP_C_API tierup_code tierup_executor_run_into(const tierup_executor* executor,
                                                  tierup_value* const* leaves, size_t count,
                                                  tierup_value* const* outputs, size_t output_count,
                                                  const tierup_run_options* options,
                                                  tierup_error** error);
/* Calls `done` once, in a thread of the executor's, with a value or an error, either of which is
 * then its own to free. */
typedef void (*tierup_done)(tierup_value* value, tierup_error* error, void* context);
TIERUP_C_API tierup_code tierup_executor_run_async(const tierup_executor* executor,
                                                   tierup_value* const* args, size_t count,
                                                   const tierup_run_options* options,
                                                   tierup_done done, void* context,
                                                   tierup_error** error);
/* A dict from name to tensor: the weights of the current generation. */
TIERUP_C_API tierup_value* tierup_executor_weights(const tierup_executor* executor,
                                                   tierup_error** error);
/* Replaces weights under load, whole or not at all; each run sees one generation. From a dict of
 * name to tensor, or from a file (.safetensors, a state dict, .pt, .pt2). `generation` may be
 * NULL. */
TIERUP_C_API tierup_code tierup_executor_swap_weights(const tierup_executor* executor,
                                                      const tierup_value* weights, int strict,
                                                      uint64_t* generation, tierup_error** error);
TIERUP_C_API tierup_code tierup_executor_swap_weights_file(const tierup_executor* executor,
                                                           const char* path, int strict,
                                                           uint64_t* generation,
                                                           tierup_error** error);

typedef struct tierup_executor_stats {
  size_t size; /* Set by the caller. */
  uint64_t runs;
  uint64_t errors;
  uint64_t frames_in_use;
  uint64_t frames_peak;
  uint64_t frames_limit;
  uint64_t frames_idle;
  uint64_t frames_trimmed;
  uint64_t runs_waiting;
  uint64_t runs_waited;
  uint64_t runs_refused;
  uint64_t runs_queued;
  uint64_t generation;
  uint64_t generations_old;
  uint64_t outputs_copied; /* By run_into, since they could not be computed where they go. */
} tierup_executor_stats;
TIERUP_C_API void tierup_executor_get_stats(const tierup_executor* executor,
                                            tierup_executor_stats* stats);
/* Waits for the runs of tierup_executor_run_async. */
TIERUP_C_API void tierup_executor_free(tierup_executor* executor);

/* Bytes that tensors of all modules take now, and at most did. */
TIERUP_C_API int64_t tierup_live_bytes(void);
TIERUP_C_API int64_t tierup_peak_bytes(void);

#ifdef __cplusplus
}
#endif

#include "tierup/c_explain.h"
#include "tierup/c_training.h"

#endif
