/* Operators, delegates and graph passes from a shared object of the user's (C99).
 *
 * The shared object exports one function, tierup_plugin_main, which gets the host's table of
 * functions and returns its own. It is loaded only if the caller names it (Options::plugins,
 * `tierup run --ops libmy.so`): it is native code, and runs with the rights of the process.
 *
 * Both tables begin with their size and the ABI they follow; later versions only add at the end, so
 * a plugin must not use fields of the host beyond host->size, nor the host those of a plugin's.
 * Nothing may throw or longjmp through a call. Kernels are called from any number of threads at
 * once.
 */
#ifndef TIERUP_PLUGIN_H
#define TIERUP_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define TIERUP_PLUGIN_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* One call of an operator or delegate, and one subgraph: known to the host alone. Both are valid
 * only during the function that got them. */
typedef struct tierup_plugin_call tierup_plugin_call;
typedef struct tierup_plugin_graph tierup_plugin_graph;
/* The files of a model that stands in the archive compiled already; valid during open_package. */
typedef struct tierup_plugin_package tierup_plugin_package;

typedef enum tierup_plugin_status {
  TIERUP_PLUGIN_OK = 0,
  TIERUP_PLUGIN_FAILED = 1,  /* The run fails, with the message given to host->fail. */
  TIERUP_PLUGIN_DECLINED = 2 /* Of a delegate: the host computes this call by itself. */
} tierup_plugin_status;

typedef enum tierup_plugin_kind {
  TIERUP_PLUGIN_NONE = 0,
  TIERUP_PLUGIN_TENSOR = 1,
  TIERUP_PLUGIN_INT = 2,
  TIERUP_PLUGIN_FLOAT = 3,
  TIERUP_PLUGIN_BOOL = 4,
  TIERUP_PLUGIN_STRING = 5,
  TIERUP_PLUGIN_LIST = 6,
  TIERUP_PLUGIN_OTHER = 7
} tierup_plugin_kind;

/* Strides in elements; dtype by PyTorch's codes (float32 is 6). The arrays are the host's. */
typedef struct tierup_plugin_tensor {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  size_t rank;
  int32_t dtype;
} tierup_plugin_tensor;

/* A node of a subgraph. Values are numbered; those of `inputs` are inputs of the subgraph,
 * constants, or outputs of nodes before. The arrays are the host's. */
typedef struct tierup_plugin_node {
  const char* op; /* "aten::add.Tensor" */
  const uint32_t* inputs;
  size_t input_count;
  const uint32_t* outputs;
  size_t output_count;
} tierup_plugin_node;

/* A graph that a pass rewrites, its nodes and values: valid during the pass. */
typedef struct tierup_pass_graph tierup_pass_graph;
typedef struct tierup_pass_node tierup_pass_node;
typedef struct tierup_pass_value tierup_pass_value;

typedef struct tierup_host {
  size_t size;
  int32_t abi;

  /* Arguments, by position in the schema, defaults filled in. A function that does not fit the
   * argument's kind fails with TIERUP_PLUGIN_FAILED or gives zero. */
  size_t (*argument_count)(const tierup_plugin_call* call);
  tierup_plugin_kind (*argument_kind)(const tierup_plugin_call* call, size_t index);
  int (*argument_tensor)(tierup_plugin_call* call, size_t index, tierup_plugin_tensor* tensor);
  /* The same row-major without gaps, a copy if need be. */
  int (*argument_contiguous)(tierup_plugin_call* call, size_t index, tierup_plugin_tensor* tensor);
  int64_t (*argument_int)(const tierup_plugin_call* call, size_t index);
  double (*argument_float)(const tierup_plugin_call* call, size_t index);
  const char* (*argument_string)(const tierup_plugin_call* call, size_t index);
  /* Of a list: its length, and its items. */
  size_t (*argument_length)(const tierup_plugin_call* call, size_t index);
  int64_t (*argument_int_item)(const tierup_plugin_call* call, size_t index, size_t item);
  double (*argument_float_item)(const tierup_plugin_call* call, size_t index, size_t item);
  int (*argument_tensor_item)(tierup_plugin_call* call, size_t index, size_t item,
                              tierup_plugin_tensor* tensor);

  /* Results, by position. make_result allocates a row-major tensor; result_tensor gives the one
   * that the shape function made. */
  int (*make_result)(tierup_plugin_call* call, size_t index, int32_t dtype, const int64_t* sizes,
                     size_t rank, tierup_plugin_tensor* tensor);
  int (*result_tensor)(tierup_plugin_call* call, size_t index, tierup_plugin_tensor* tensor);
  int (*result_argument)(tierup_plugin_call* call, size_t index, size_t argument);
  int (*result_int)(tierup_plugin_call* call, size_t index, int64_t value);
  int (*result_float)(tierup_plugin_call* call, size_t index, double value);
  int (*result_bool)(tierup_plugin_call* call, size_t index, int value);
  /* Keeps the message for TIERUP_PLUGIN_FAILED, and returns that. */
  int (*fail)(tierup_plugin_call* call, const char* message);

  /* Subgraphs: nodes in the order of execution; inputs and outputs by value number. A constant's
   * value is an argument of `graph_constants`, at the index that graph_constant_index gives (-1:
   * the value is no constant). */
  size_t (*graph_node_count)(const tierup_plugin_graph* graph);
  void (*graph_node)(const tierup_plugin_graph* graph, size_t index, tierup_plugin_node* node);
  size_t (*graph_input_count)(const tierup_plugin_graph* graph);
  uint32_t (*graph_input)(const tierup_plugin_graph* graph, size_t index);
  size_t (*graph_output_count)(const tierup_plugin_graph* graph);
  uint32_t (*graph_output)(const tierup_plugin_graph* graph, size_t index);
  int64_t (*graph_constant_index)(const tierup_plugin_graph* graph, uint32_t value);
  tierup_plugin_call* (*graph_constants)(const tierup_plugin_graph* graph);

  /* Packages: the model's name, and its files, named from the model's folder on. */
  const char* (*package_model)(const tierup_plugin_package* package);
  size_t (*package_file_count)(const tierup_plugin_package* package);
  const char* (*package_file_name)(const tierup_plugin_package* package, size_t index);
  /* A file's bytes, which stand until open_package returns. */
  int (*package_file)(tierup_plugin_package* package, size_t index, const void** bytes,
                      size_t* size);
  /* A folder of its own with all files, which stands until the model is destroyed; NULL: it could
   * not be written, and the message is kept. */
  const char* (*package_folder)(tierup_plugin_package* package);
  /* To be told by open_package: the tree specs of (args, kwargs) and of the result, in PyTorch's
   * JSON ("[1, {...}]"). */
  int (*package_convention)(tierup_plugin_package* package, const char* arguments,
                            const char* result);
  /* Keeps the message with which open_package fails; returns NULL. */
  void* (*package_fail)(tierup_plugin_package* package, const char* message);

  /* Graphs of passes. Nodes in program order as of the last pass_node_count; one with blocks (an
   * If, a Loop) stands before what is in them. Names: "aten::add.Tensor", "prim::Constant". */
  size_t (*pass_node_count)(tierup_pass_graph* graph);
  tierup_pass_node* (*pass_node)(tierup_pass_graph* graph, size_t index);
  const char* (*pass_node_name)(tierup_pass_graph* graph, const tierup_pass_node* node);
  size_t (*pass_input_count)(const tierup_pass_node* node);
  tierup_pass_value* (*pass_input)(const tierup_pass_node* node, size_t index);
  size_t (*pass_output_count)(const tierup_pass_node* node);
  tierup_pass_value* (*pass_output)(const tierup_pass_node* node, size_t index);
  size_t (*pass_use_count)(const tierup_pass_value* value);
  /* NULL for the graph's inputs and what blocks are given. */
  tierup_pass_node* (*pass_producer)(const tierup_pass_value* value);
  /* A constant, as argument 0 of a call; NULL if the value is none. Valid until the next one. */
  tierup_plugin_call* (*pass_constant)(tierup_pass_graph* graph, const tierup_pass_value* value);
  /* Edits. They give NULL or TIERUP_PLUGIN_FAILED, with the message kept, for what cannot be. */
  tierup_pass_value* (*pass_make_none)(tierup_pass_graph* graph, tierup_pass_node* before);
  tierup_pass_value* (*pass_make_int)(tierup_pass_graph* graph, tierup_pass_node* before,
                                      int64_t value);
  tierup_pass_value* (*pass_make_float)(tierup_pass_graph* graph, tierup_pass_node* before,
                                        double value);
  tierup_pass_value* (*pass_make_bool)(tierup_pass_graph* graph, tierup_pass_node* before,
                                       int value);
  /* An operator over these inputs; arguments behind the last take their defaults. */
  tierup_pass_node* (*pass_insert)(tierup_pass_graph* graph, const char* op,
                                   tierup_pass_value* const* inputs, size_t count,
                                   tierup_pass_node* before);
  /* Whoever used `from` uses `to`. */
  int (*pass_replace)(tierup_pass_graph* graph, tierup_pass_value* from, tierup_pass_value* to);
  /* A node whose outputs nobody uses. What has no effect and no use goes by itself afterwards. */
  int (*pass_remove)(tierup_pass_graph* graph, tierup_pass_node* node);
  /* A line for explain; and the message with which the pass fails, returning
   * TIERUP_PLUGIN_FAILED. */
  void (*pass_note)(tierup_pass_graph* graph, const char* line);
  int (*pass_fail)(tierup_pass_graph* graph, const char* message);
} tierup_host;

enum tierup_plugin_effects {
  TIERUP_PLUGIN_PURE = 0,
  TIERUP_PLUGIN_RANDOM = 1,     /* Two calls with equal arguments may differ. */
  TIERUP_PLUGIN_SIDE_EFFECT = 4 /* Never removed, never merged. */
};

typedef struct tierup_plugin_operator {
  size_t size;
  const char* schema; /* "my::scale(Tensor x, float by=2.0) -> Tensor", alias marks included. */
  uint32_t effects;
  void* context;
  /* Makes the results from the sizes of the arguments; may be NULL: then the kernel does. */
  int (*shape)(const tierup_host* host, tierup_plugin_call* call, void* context);
  int (*kernel)(const tierup_host* host, tierup_plugin_call* call, void* context);
} tierup_plugin_operator;

/* Takes over runs of neighbouring operators that it supports and that have no effects (supports and
 * compile), or models that stand in an archive compiled already (package_kind and open_package), or
 * both. Functions of what it does not take may be NULL. */
typedef struct tierup_plugin_delegate {
  size_t size;
  const char* name;
  uint32_t min_nodes; /* Smaller subgraphs are not offered. */
  void* context;
  int (*supports)(const char* op, void* context);
  /* NULL: this one is not taken, the host keeps it. */
  void* (*compile)(const tierup_host* host, const tierup_plugin_graph* graph, void* context);
  /* Arguments are the subgraph's inputs, results its outputs. */
  int (*run)(const tierup_host* host, tierup_plugin_call* call, void* compiled, void* context);
  void (*destroy)(void* compiled, void* context);
  /* "aotinductor": folders that PyTorch's AOTInductor wrote; NULL: takes no packages. */
  const char* package_kind;
  /* Loads one; NULL: it cannot, and package_fail says why. run() then gets the flattened arguments,
   * and makes the flattened result. */
  void* (*open_package)(const tierup_host* host, tierup_plugin_package* package, void* context);
} tierup_plugin_delegate;

typedef enum tierup_pass_place {
  TIERUP_PASS_TIER0 = 0,       /* Once for each function: every plan has the rewritten graph. */
  TIERUP_PASS_SPECIALIZED = 1, /* In compile jobs, before tierup's passes: weights are constants. */
  TIERUP_PASS_LAST = 2         /* In compile jobs, behind tierup's passes. */
} tierup_pass_place;

/* Rewrites a graph; called in any thread, for several graphs at once. The graph is verified
 * afterwards. A pass that fails at tier 0 fails the call; in a compile job, the graph stays at tier
 * 0, and explain says why. */
typedef struct tierup_plugin_pass {
  size_t size;
  const char* name; /* Of its own: the option disable_passes takes it. */
  tierup_pass_place place;
  void* context;
  int (*run)(const tierup_host* host, tierup_pass_graph* graph, void* context);
} tierup_plugin_pass;

typedef struct tierup_plugin {
  size_t size;
  int32_t abi;
  const char* name;
  const tierup_plugin_operator* const* operators;
  size_t operator_count;
  const tierup_plugin_delegate* const* delegates;
  size_t delegate_count;
  /* Plugins made before there were passes end here. */
  const tierup_plugin_pass* const* passes;
  size_t pass_count;
} tierup_plugin;

/* What the shared object exports; NULL: it cannot work with this host. */
typedef const tierup_plugin* (*tierup_plugin_main_fn)(const tierup_host* host);
#define TIERUP_PLUGIN_MAIN "tierup_plugin_main"

#ifdef __cplusplus
}
#endif

#endif
