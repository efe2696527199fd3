/* Serves the model named on the command line from C: runs, errors, bound buffers, background runs,
 * a swap of weights, counters. Exits with the line number of the first thing that is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tierup/tierup.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);       \
      if (error) fprintf(stderr, "%s\n", tierup_error_text(error)); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

static tierup_error* error = NULL;

struct answer {
  volatile int done;
  tierup_value* value;
  tierup_error* failure;
};

static void on_done(tierup_value* value, tierup_error* failure, void* context) {
  struct answer* answer = context;
  answer->value = value;
  answer->failure = failure;
  answer->done = 1;
}

static void on_release(void* context) { ++*(int*)context; }

static float first_of(const tierup_value* value) {
  tierup_tensor_view view;
  CHECK(tierup_tensor_describe(value, &view, &error) == TIERUP_OK);
  CHECK(view.dtype == TIERUP_FLOAT32 && view.rank >= 1);
  return *(const float*)view.data;
}

int main(int argc, char** argv) {
  int64_t shape[2];
  int64_t wrong_shape[2] = {2, 3};
  float *data, *result;
  size_t i, count;
  int released = 0;
  uint64_t generation = 0;
  char* text;
  tierup_value *input, *output, *bound, *wrong, *weights, *zeros, *keys[64], *tensors[64];
  tierup_tensor_view view;
  tierup_executor_config config;
  tierup_executor_stats stats;
  tierup_run_options run;
  tierup_executor *executor, *full;
  struct answer answer = {0, NULL, NULL};
  float before;

  if (argc != 4) return 2;
  CHECK(tierup_api_version() >= TIERUP_C_API_VERSION);
  shape[0] = atoll(argv[2]);
  shape[1] = atoll(argv[3]);
  data = malloc((size_t)(shape[0] * shape[1]) * sizeof(float));
  CHECK(data != NULL);
  for (i = 0; i < (size_t)(shape[0] * shape[1]); ++i) data[i] = 1.0f;

  CHECK(tierup_executor_open("/no/such/file.pt", NULL, NULL, &error) == NULL);
  CHECK(tierup_error_code(error) == TIERUP_NOT_FOUND);
  tierup_error_free(error);
  error = NULL;

  tierup_executor_config_init(&config);
  config.max_frames = 2;
  executor = tierup_executor_open(argv[1], &config, NULL, &error);
  CHECK(executor != NULL);
  input = tierup_tensor_borrow(data, shape, NULL, 2, TIERUP_FLOAT32, on_release, &released, &error);
  CHECK(input != NULL);
  output = tierup_executor_run(executor, &input, 1, NULL, &error);
  CHECK(output != NULL && tierup_value_kind(output) == TIERUP_KIND_TENSOR);
  before = first_of(output);
  text = tierup_value_describe(output, &error);
  CHECK(text != NULL && strlen(text) > 0);
  printf("%s\n", text);
  tierup_text_free(text);

  /* Results in memory of the caller's. */
  CHECK(tierup_tensor_describe(output, &view, &error) == TIERUP_OK);
  for (i = 0, count = 1; i < view.rank; ++i) count *= (size_t)view.shape[i];
  result = calloc(count, sizeof(float));
  bound = tierup_tensor_borrow(result, view.shape, NULL, view.rank, view.dtype, NULL, NULL, &error);
  CHECK(bound != NULL);
  CHECK(tierup_executor_run_into(executor, &input, 1, &bound, 1, NULL, &error) == TIERUP_OK);
  CHECK(memcmp(result, view.data, count * sizeof(float)) == 0);

  /* Bad input is an error with a text, not a crash. */
  wrong = tierup_tensor_copy(data, wrong_shape, 2, TIERUP_FLOAT32, &error);
  CHECK(wrong != NULL);
  CHECK(tierup_executor_run(executor, &wrong, 1, NULL, &error) == NULL);
  CHECK(error != NULL && strlen(tierup_error_message(error)) > 0);
  printf("error: %s\n", tierup_error_message(error));
  tierup_error_free(error);
  error = NULL;
  CHECK(tierup_executor_run(executor, NULL, 1, NULL, NULL) == NULL);

  /* In the background, and cancelled. */
  CHECK(tierup_executor_run_async(executor, &input, 1, NULL, on_done, &answer, &error) ==
        TIERUP_OK);
  while (!answer.done) {
  }
  CHECK(answer.failure == NULL && first_of(answer.value) == before);
  tierup_value_free(answer.value);
  tierup_run_options_init(&run);
  run.token = tierup_token_new();
  tierup_token_cancel(run.token);
  CHECK(tierup_executor_run(executor, &input, 1, &run, &error) == NULL);
  CHECK(tierup_error_code(error) == TIERUP_CANCELLED);
  tierup_error_free(error);
  error = NULL;
  tierup_token_free(run.token);

  /* No run may wait for a thread: a code of its own, since the same call may work later. */
  config.max_queued = 0;
  full = tierup_executor_open(argv[1], &config, NULL, &error);
  CHECK(full != NULL);
  CHECK(tierup_executor_run_async(full, &input, 1, NULL, on_done, &answer, &error) ==
        TIERUP_EXHAUSTED);
  CHECK(tierup_error_code(error) == TIERUP_EXHAUSTED);
  tierup_error_free(error);
  error = NULL;
  tierup_executor_free(full);

  /* Weights of zeros, by name, and back. */
  weights = tierup_executor_weights(executor, &error);
  CHECK(weights != NULL);
  count = tierup_value_size(weights);
  CHECK(count > 0 && count <= 64);
  for (i = 0; i < count; ++i) {
    tierup_value* tensor = tierup_value_item(weights, i, &error);
    size_t dim, bytes = sizeof(float);
    void* memory;
    CHECK(tensor != NULL && tierup_tensor_describe(tensor, &view, &error) == TIERUP_OK);
    CHECK(view.dtype == TIERUP_FLOAT32);
    for (dim = 0; dim < view.rank; ++dim) bytes *= (size_t)view.shape[dim];
    memory = calloc(1, bytes);
    tensors[i] = tierup_tensor_copy(memory, view.shape, view.rank, view.dtype, &error);
    keys[i] = tierup_value_key(weights, i, &error);
    CHECK(tensors[i] != NULL && keys[i] != NULL);
    free(memory);
    tierup_value_free(tensor);
  }
  zeros = tierup_dict(keys, tensors, count, &error);
  CHECK(zeros != NULL);
  CHECK(tierup_executor_swap_weights(executor, zeros, 1, &generation, &error) == TIERUP_OK);
  CHECK(generation == 1);
  tierup_value_free(output);
  output = tierup_executor_run(executor, &input, 1, NULL, &error);
  CHECK(output != NULL && first_of(output) == 0.0f);
  CHECK(tierup_executor_swap_weights(executor, wrong, 1, NULL, &error) == TIERUP_TYPE_ERROR);
  tierup_error_free(error);
  error = NULL;
  CHECK(tierup_executor_swap_weights_file(executor, argv[1], 1, &generation, &error) == TIERUP_OK);
  tierup_value_free(output);
  output = tierup_executor_run(executor, &input, 1, NULL, &error);
  CHECK(output != NULL && first_of(output) == before);

  memset(&stats, 0, sizeof(stats));
  stats.size = sizeof(stats);
  tierup_executor_get_stats(executor, &stats);
  CHECK(stats.generation == 2 && stats.frames_limit == 2 && stats.runs >= 5 && stats.errors >= 2);
  CHECK(tierup_live_bytes() > 0);

  for (i = 0; i < count; ++i) {
    tierup_value_free(keys[i]);
    tierup_value_free(tensors[i]);
  }
  tierup_value_free(zeros);
  tierup_value_free(weights);
  tierup_value_free(wrong);
  tierup_value_free(bound);
  tierup_value_free(output);
  tierup_executor_free(executor);
  tierup_value_free(input);
  CHECK(released == 1);
  free(result);
  free(data);
  return 0;
}
