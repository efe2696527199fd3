/* The part of the C API that tells about models: signatures and explanations. c_api.h includes it,
 * and has the rules.
 */
#ifndef TIERUP_C_EXPLAIN_H
#define TIERUP_C_EXPLAIN_H

#include "tierup/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Signatures ---- */

/* What a method takes and gives, as signature.h says it. Texts and arrays stand as long as the
 * handle. */
typedef struct tierup_signature tierup_signature;
typedef struct tierup_size_spec {
  const char* text;  /* "3", "s77". */
  int32_t is_static; /* Then `value` counts. */
  int64_t value;
  int32_t has_least;
  int64_t least;
  int32_t has_most;
  int64_t most;
} tierup_size_spec;
typedef struct tierup_value_spec {
  size_t size; /* Set by the caller. */
  const char* name;
  const char* type;
  int32_t has_dtype;
  tierup_dtype dtype;
  int32_t has_sizes;
  size_t rank;
  int32_t is_constant;
  int32_t is_used;
  int32_t is_keyword_only;
  int32_t has_default;
} tierup_value_spec;
/* `method` NULL: "forward". */
TIERUP_C_API tierup_signature* tierup_module_signature(const tierup_module* module,
                                                       const char* method, tierup_error** error);
/* Of `forward`. */
TIERUP_C_API tierup_signature* tierup_executor_signature(const tierup_executor* executor,
                                                         tierup_error** error);
TIERUP_C_API void tierup_signature_free(tierup_signature* signature);
TIERUP_C_API const char* tierup_signature_text(const tierup_signature* signature);
TIERUP_C_API size_t tierup_signature_input_count(const tierup_signature* signature);
TIERUP_C_API size_t tierup_signature_output_count(const tierup_signature* signature);
TIERUP_C_API tierup_code tierup_signature_input(const tierup_signature* signature, size_t index,
                                                tierup_value_spec* spec, tierup_error** error);
TIERUP_C_API tierup_code tierup_signature_output(const tierup_signature* signature, size_t index,
                                                 tierup_value_spec* spec, tierup_error** error);
/* Of an input that has dimension `dim`, or of an output. */
TIERUP_C_API tierup_code tierup_signature_input_size(const tierup_signature* signature,
                                                     size_t index, size_t dim,
                                                     tierup_size_spec* spec, tierup_error** error);
TIERUP_C_API tierup_code tierup_signature_output_size(const tierup_signature* signature,
                                                      size_t index, size_t dim,
                                                      tierup_size_spec* spec, tierup_error** error);
/* The default of an input that has one: a new handle. */
TIERUP_C_API tierup_value* tierup_signature_default(const tierup_signature* signature, size_t index,
                                                    tierup_error** error);

/* ---- Explanations ---- */

/* How each graph of a module runs, as explain.h says it, read at one moment. Texts stand as long as
 * the handle; indices count from 0. */
typedef struct tierup_explanation tierup_explanation;
typedef enum tierup_graph_state {
  TIERUP_GRAPH_SPECIALIZED = 0,
  TIERUP_GRAPH_COMPILE_OFF = 1,
  TIERUP_GRAPH_PROFILING = 2,
  TIERUP_GRAPH_JOB_QUEUED = 3,
  TIERUP_GRAPH_BUDGET_SPENT = 4,
  TIERUP_GRAPH_COMPILE_FAILED = 5,
  TIERUP_GRAPH_DEMOTED = 6,
  TIERUP_GRAPH_NOT_FASTER = 7
} tierup_graph_state;
typedef enum tierup_miss_reason {
  TIERUP_MISS_POLICY = 1,
  TIERUP_MISS_ARGUMENT_KIND = 2,
  TIERUP_MISS_DTYPE = 3,
  TIERUP_MISS_RANK = 4,
  TIERUP_MISS_ORDER = 5,
  TIERUP_MISS_SIZES = 6,
  TIERUP_MISS_REQUIRES_GRAD = 7,
  TIERUP_MISS_WEIGHTS_CHANGED = 8
} tierup_miss_reason;
typedef struct tierup_graph_info {
  size_t size;      /* Set by the caller. */
  const char* name; /* "__torch__.M.forward" */
  const char* method;
  uint64_t calls;
  uint64_t tier0_calls;
  uint64_t checked_calls;
  uint32_t plans_made;
  uint32_t budget_left;
  uint32_t evictions;
  uint32_t invalidations;
  tierup_graph_state state;
  const char* detail;
  const char* profile_text;
  size_t plan_count;
  uint32_t failed_jobs; /* Compile jobs that failed; calls went on at the tier there was. */
} tierup_graph_info;
typedef struct tierup_plan_info {
  size_t size; /* Set by the caller. */
  uint32_t serial;
  int32_t is_static;
  double compile_ms;
  uint64_t hits;
  uint64_t held_bytes;
  const char* guard_text;
  const char* profile_text;
  const char* graph_text;
  const char* plan_text;
  size_t note_count; /* Lines on what was done and what was refused. */
  size_t region_count;
  size_t unfused_count;
} tierup_plan_info;
typedef struct tierup_region_info {
  size_t size;    /* Set by the caller. */
  int32_t is_net; /* 0: a fusion group. */
  uint64_t compiled;
  uint64_t twin_calls;
  uint64_t held_bytes;
  size_t operator_count;
  size_t note_count;
  const char* text;
  const char* place;
} tierup_region_info;
TIERUP_C_API tierup_explanation* tierup_module_explain(const tierup_module* module,
                                                       tierup_error** error);
TIERUP_C_API void tierup_explanation_free(tierup_explanation* explanation);
TIERUP_C_API const char* tierup_explanation_options(const tierup_explanation* explanation);
TIERUP_C_API size_t tierup_explanation_graph_count(const tierup_explanation* explanation);
TIERUP_C_API tierup_code tierup_explanation_graph(const tierup_explanation* explanation,
                                                  size_t graph, tierup_graph_info* info,
                                                  tierup_error** error);
/* Calls that no plan covered for this reason; 0 for what is not there. */
TIERUP_C_API uint64_t tierup_explanation_misses(const tierup_explanation* explanation, size_t graph,
                                                tierup_miss_reason reason);
TIERUP_C_API tierup_code tierup_explanation_plan(const tierup_explanation* explanation,
                                                 size_t graph, size_t plan, tierup_plan_info* info,
                                                 tierup_error** error);
TIERUP_C_API tierup_code tierup_explanation_region(const tierup_explanation* explanation,
                                                   size_t graph, size_t plan, size_t region,
                                                   tierup_region_info* info, tierup_error** error);
/* Lines: a plan's notes, a region's operators and notes, and "name: reason" of an operator that was
 * not fused; NULL beyond the end. */
TIERUP_C_API const char* tierup_explanation_note(const tierup_explanation* explanation,
                                                 size_t graph, size_t plan, size_t note);
TIERUP_C_API const char* tierup_explanation_region_operator(const tierup_explanation* explanation,
                                                            size_t graph, size_t plan,
                                                            size_t region, size_t index);
TIERUP_C_API const char* tierup_explanation_region_note(const tierup_explanation* explanation,
                                                        size_t graph, size_t plan, size_t region,
                                                        size_t note);
TIERUP_C_API const char* tierup_explanation_unfused(const tierup_explanation* explanation,
                                                    size_t graph, size_t plan, size_t index);

#ifdef __cplusplus
}
#endif

#endif
