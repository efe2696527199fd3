/* Operators and a delegate for plugin_test.cc: what a user's shared object looks like. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <tierup/plugin.h>

static size_t count_of(const tierup_plugin_tensor* tensor) {
  size_t count = 1, i;
  for (i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->sizes[i];
  return count;
}

/* my::scale(Tensor x, float by=2.0) -> Tensor */
static int scale_shape(const tierup_host* host, tierup_plugin_call* call, void* context) {
  tierup_plugin_tensor x, result;
  (void)context;
  if (host->argument_tensor(call, 0, &x) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  if (x.dtype != 6) return host->fail(call, "x must be float32");
  return host->make_result(call, 0, x.dtype, x.sizes, x.rank, &result);
}

static int scale_kernel(const tierup_host* host, tierup_plugin_call* call, void* context) {
  tierup_plugin_tensor x, result;
  const double by = host->argument_float(call, 1);
  size_t i;
  (void)context;
  if (host->argument_contiguous(call, 0, &x) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  if (host->result_tensor(call, 0, &result) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  for (i = 0; i < count_of(&x); ++i) {
    ((float*)result.data)[i] = (float)(((const float*)x.data)[i] * by);
  }
  return TIERUP_PLUGIN_OK;
}

/* my::sum_and_count(Tensor x, int[] weights) -> (float, int): numbers in and out. */
static int sum_kernel(const tierup_host* host, tierup_plugin_call* call, void* context) {
  tierup_plugin_tensor x;
  double sum = 0;
  size_t i;
  const size_t weights = host->argument_length(call, 1);
  (void)context;
  if (host->argument_contiguous(call, 0, &x) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  if (weights == 0) return host->fail(call, "weights must not be empty");
  for (i = 0; i < count_of(&x); ++i) {
    sum += ((const float*)x.data)[i] * (double)host->argument_int_item(call, 1, i % weights);
  }
  host->result_float(call, 0, sum);
  return host->result_int(call, 1, (int64_t)count_of(&x));
}

/* my::fill_(Tensor(a!) x, float value) -> Tensor(a!): writes its argument. */
static int fill_kernel(const tierup_host* host, tierup_plugin_call* call, void* context) {
  tierup_plugin_tensor x;
  size_t i;
  (void)context;
  if (host->argument_tensor(call, 0, &x) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  for (i = 0; i < count_of(&x); ++i) ((float*)x.data)[i] = (float)host->argument_float(call, 1);
  return host->result_argument(call, 0, 0);
}

/* my::set_(Tensor(a!) x, float value) -> (): writes its argument, gives nothing. */
static int set_kernel(const tierup_host* host, tierup_plugin_call* call, void* context) {
  tierup_plugin_tensor x;
  size_t i;
  (void)context;
  if (host->argument_tensor(call, 0, &x) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  for (i = 0; i < count_of(&x); ++i) ((float*)x.data)[i] = (float)host->argument_float(call, 1);
  return TIERUP_PLUGIN_OK;
}

static const tierup_plugin_operator kScale = {sizeof(tierup_plugin_operator),
                                              "my::scale(Tensor x, float by=2.0) -> Tensor",
                                              TIERUP_PLUGIN_PURE,
                                              NULL,
                                              scale_shape,
                                              scale_kernel};
static const tierup_plugin_operator kSum = {
    sizeof(tierup_plugin_operator),
    "my::sum_and_count(Tensor x, int[] weights) -> (float, int)",
    TIERUP_PLUGIN_PURE,
    NULL,
    NULL,
    sum_kernel};
static const tierup_plugin_operator kFill = {sizeof(tierup_plugin_operator),
                                             "my::fill_(Tensor(a!) x, float value) -> Tensor(a!)",
                                             TIERUP_PLUGIN_PURE,
                                             NULL,
                                             NULL,
                                             fill_kernel};
static const tierup_plugin_operator kSet = {sizeof(tierup_plugin_operator),
                                            "my::set_(Tensor(a!) x, float value) -> ()",
                                            TIERUP_PLUGIN_PURE,
                                            NULL,
                                            NULL,
                                            set_kernel};
static const tierup_plugin_operator* const kOperators[] = {&kScale, &kSum, &kFill, &kSet};

/* The delegate "chain": relu and additions of tensors of one shape, node by node. It declines
 * anything but contiguous float32 of equal sizes, and counts what it ran in my::delegated. */
static int64_t runs = 0;

static int chain_supports(const char* op, void* context) {
  (void)context;
  return strcmp(op, "aten::relu") == 0 || strcmp(op, "aten::add.Tensor") == 0;
}

struct chain {
  size_t nodes;
  struct {
    int adds;
    uint32_t inputs[2];
    uint32_t output;
  } node[16];
  size_t input_count;
  uint32_t inputs[16];
  uint32_t output;
};

static struct chain the_chain;

static void* chain_compile(const tierup_host* host, const tierup_plugin_graph* graph,
                           void* context) {
  tierup_plugin_node node;
  size_t i;
  (void)context;
  the_chain.nodes = host->graph_node_count(graph);
  the_chain.input_count = host->graph_input_count(graph);
  if (the_chain.nodes > 16 || the_chain.input_count > 16) return NULL;
  if (host->graph_output_count(graph) != 1) return NULL;
  for (i = 0; i < the_chain.input_count; ++i) the_chain.inputs[i] = host->graph_input(graph, i);
  for (i = 0; i < the_chain.nodes; ++i) {
    host->graph_node(graph, i, &node);
    the_chain.node[i].adds = strcmp(node.op, "aten::add.Tensor") == 0;
    the_chain.node[i].inputs[0] = node.inputs[0];
    the_chain.node[i].inputs[1] = node.inputs[the_chain.node[i].adds ? 1 : 0];
    the_chain.node[i].output = node.outputs[0];
    if (the_chain.node[i].adds) { /* alpha must be one, and known. */
      const int64_t alpha = host->graph_constant_index(graph, node.inputs[2]);
      if (alpha < 0) return NULL;
      if (host->argument_float(host->graph_constants(graph), (size_t)alpha) != 1.0) return NULL;
    }
  }
  the_chain.output = host->graph_output(graph, 0);
  return &the_chain;
}

static int chain_run(const tierup_host* host, tierup_plugin_call* call, void* compiled,
                     void* context) {
  const struct chain* chain = compiled;
  tierup_plugin_tensor inputs[16], result;
  float values[32];
  size_t i, k, n;
  (void)context;
  for (i = 0; i < chain->input_count; ++i) {
    if (host->argument_kind(call, i) != TIERUP_PLUGIN_TENSOR) return TIERUP_PLUGIN_DECLINED;
    host->argument_contiguous(call, i, &inputs[i]);
    if (inputs[i].dtype != 6 || inputs[i].rank != inputs[0].rank) return TIERUP_PLUGIN_DECLINED;
    for (k = 0; k < inputs[i].rank; ++k) {
      if (inputs[i].sizes[k] != inputs[0].sizes[k]) return TIERUP_PLUGIN_DECLINED;
    }
  }
  if (host->make_result(call, 0, 6, inputs[0].sizes, inputs[0].rank, &result) != TIERUP_PLUGIN_OK) {
    return TIERUP_PLUGIN_FAILED;
  }
  n = count_of(&result);
  for (k = 0; k < n; ++k) {
    for (i = 0; i < chain->input_count; ++i) {
      values[chain->inputs[i]] = ((const float*)inputs[i].data)[k];
    }
    for (i = 0; i < chain->nodes; ++i) {
      const float a = values[chain->node[i].inputs[0]];
      const float b = values[chain->node[i].inputs[1]];
      values[chain->node[i].output] = chain->node[i].adds ? a + b : (a > 0 ? a : 0);
    }
    ((float*)result.data)[k] = values[chain->output];
  }
  ++runs;
  return TIERUP_PLUGIN_OK;
}

/* my::delegated() -> int: how often the delegate ran. */
static int delegated_kernel(const tierup_host* host, tierup_plugin_call* call, void* context) {
  (void)context;
  return host->result_int(call, 0, runs);
}

static const tierup_plugin_operator kDelegated = {sizeof(tierup_plugin_operator),
                                                  "my::delegated() -> int",
                                                  TIERUP_PLUGIN_SIDE_EFFECT,
                                                  NULL,
                                                  NULL,
                                                  delegated_kernel};
/* The delegate "negated": models whose one file says "negate"; the result is -x for each input. */
static void* negated_open(const tierup_host* host, tierup_plugin_package* package, void* context) {
  static char folder[4096];
  const void* bytes = NULL;
  const char* leaves = "{\"type\": null, \"context\": null, \"children_spec\": []}";
  char arguments[1024];
  size_t size = 0, i, program = host->package_file_count(package);
  (void)context;
  for (i = 0; i < host->package_file_count(package); ++i) {
    if (strcmp(host->package_file_name(package, i), "program.so") == 0) program = i;
  }
  if (host->package_file(package, program, &bytes, &size) != TIERUP_PLUGIN_OK) return NULL;
  if (size != 6 || memcmp(bytes, "negate", 6) != 0) {
    return host->package_fail(package, "the program is not 'negate'");
  }
  if (host->package_folder(package) == NULL) return NULL;
  strncpy(folder, host->package_folder(package), sizeof(folder) - 1);
  snprintf(arguments, sizeof(arguments),
           "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": ["
           "{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [%s]}, "
           "{\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
           leaves);
  {
    char result[256];
    snprintf(result, sizeof(result), "[1, %s]", leaves);
    host->package_convention(package, arguments, result);
  }
  return folder;
}

static int negated_run(const tierup_host* host, tierup_plugin_call* call, void* compiled,
                       void* context) {
  tierup_plugin_tensor x, result;
  char path[4200];
  FILE* file;
  size_t i;
  (void)context;
  /* The folder must stand as long as the model does. */
  snprintf(path, sizeof(path), "%s/program.so", (const char*)compiled);
  file = fopen(path, "rb");
  if (file == NULL) return host->fail(call, "the package's folder is gone");
  fclose(file);
  if (host->argument_contiguous(call, 0, &x) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
  if (x.dtype != 6) return host->fail(call, "only float32 is negated");
  host->make_result(call, 0, x.dtype, x.sizes, x.rank, &result);
  for (i = 0; i < count_of(&x); ++i) ((float*)result.data)[i] = -((const float*)x.data)[i];
  return TIERUP_PLUGIN_OK;
}

#ifdef WITH_DELEGATE
static const tierup_plugin_operator* const kDelegateOperators[] = {&kDelegated};
/* As a plugin that was made for a host without packages: the structure ends before them. */
static const tierup_plugin_delegate kChain = {offsetof(tierup_plugin_delegate, package_kind),
                                              "chain",
                                              2,
                                              NULL,
                                              chain_supports,
                                              chain_compile,
                                              chain_run,
                                              NULL,
                                              "aotinductor",
                                              NULL};
static const tierup_plugin_delegate kNegated = {sizeof(tierup_plugin_delegate),
                                                "negated",
                                                1,
                                                NULL,
                                                NULL,
                                                NULL,
                                                negated_run,
                                                NULL,
                                                "aotinductor",
                                                negated_open};
static const tierup_plugin_delegate* const kDelegates[] = {&kChain, &kNegated};
#endif

__attribute__((visibility("default"))) const tierup_plugin* tierup_plugin_main(
    const tierup_host* host) {
#ifdef WITH_DELEGATE
  static const tierup_plugin plugin = {sizeof(tierup_plugin),
                                       TIERUP_PLUGIN_ABI,
                                       "test delegate",
                                       kDelegateOperators,
                                       1,
                                       kDelegates,
                                       2};
  (void)kOperators;
#else
  static const tierup_plugin plugin = {
      sizeof(tierup_plugin), TIERUP_PLUGIN_ABI, "test operators", kOperators, 4, NULL, 0};
  (void)kDelegated;
  (void)chain_supports;
  (void)chain_compile;
  (void)chain_run;
  (void)negated_open;
  (void)negated_run;
#endif
#ifdef OTHER_ABI
  static tierup_plugin other;
  other = plugin;
  other.abi = 99;
  return &other;
#endif
  return host->abi >= TIERUP_PLUGIN_ABI ? &plugin : NULL;
}
