/* Graph passes of a user's: what include/tierup/plugin.h offers for them, in two small rewrites. */
#include <string.h>
#include <tierup/plugin.h>

/* Where the host's table ends before passes, there is nothing to do here. */
static int has_passes(const tierup_host* host) {
  return host->size >= offsetof(tierup_host, pass_fail) + sizeof(host->pass_fail);
}

/* x * x -> square(x) */
static int square_products(const tierup_host* host, tierup_pass_graph* graph, void* context) {
  size_t i, count = host->pass_node_count(graph);
  (void)context;
  for (i = 0; i < count; ++i) {
    tierup_pass_node* node = host->pass_node(graph, i);
    tierup_pass_value* factor;
    tierup_pass_node* square;
    if (strcmp(host->pass_node_name(graph, node), "aten::mul.Tensor") != 0) continue;
    factor = host->pass_input(node, 0);
    if (factor != host->pass_input(node, 1)) continue;
    square = host->pass_insert(graph, "aten::square", &factor, 1, node);
    if (square == NULL) return TIERUP_PLUGIN_FAILED;
    if (host->pass_replace(graph, host->pass_output(node, 0), host->pass_output(square, 0)) !=
        TIERUP_PLUGIN_OK) {
      return TIERUP_PLUGIN_FAILED;
    }
    if (host->pass_remove(graph, node) != TIERUP_PLUGIN_OK) return TIERUP_PLUGIN_FAILED;
    host->pass_note(graph, "a product became a square");
  }
  return TIERUP_PLUGIN_OK;
}

/* (x * 2) * 4 -> x * 8, for constants: exact for powers of two. */
static int join_factors(const tierup_host* host, tierup_pass_graph* graph, void* context) {
  size_t i, count = host->pass_node_count(graph);
  (void)context;
  for (i = 0; i < count; ++i) {
    tierup_pass_node* outer = host->pass_node(graph, i);
    tierup_pass_node* inner;
    tierup_pass_node* made;
    tierup_pass_value* inputs[2];
    tierup_plugin_call* constant;
    int64_t factor;
    if (strcmp(host->pass_node_name(graph, outer), "aten::mul.Scalar") != 0) continue;
    inner = host->pass_producer(host->pass_input(outer, 0));
    if (inner == NULL || strcmp(host->pass_node_name(graph, inner), "aten::mul.Scalar") != 0)
      continue;
    constant = host->pass_constant(graph, host->pass_input(outer, 1));
    if (constant == NULL || host->argument_kind(constant, 0) != TIERUP_PLUGIN_INT) continue;
    factor = host->argument_int(constant, 0);
    constant = host->pass_constant(graph, host->pass_input(inner, 1));
    if (constant == NULL || host->argument_kind(constant, 0) != TIERUP_PLUGIN_INT) continue;
    factor *= host->argument_int(constant, 0);
    inputs[0] = host->pass_input(inner, 0);
    inputs[1] = host->pass_make_int(graph, outer, factor);
    made =
        inputs[1] == NULL ? NULL : host->pass_insert(graph, "aten::mul.Scalar", inputs, 2, outer);
    if (made == NULL) return TIERUP_PLUGIN_FAILED;
    host->pass_replace(graph, host->pass_output(outer, 0), host->pass_output(made, 0));
    host->pass_remove(graph, outer); /* The inner one goes by itself, if nobody else uses it. */
  }
  return TIERUP_PLUGIN_OK;
}

static const tierup_plugin_pass kSquare = {sizeof(tierup_plugin_pass), "square_products",
                                           TIERUP_PASS_TIER0, NULL, square_products};
static const tierup_plugin_pass kJoin = {sizeof(tierup_plugin_pass), "join_factors",
                                         TIERUP_PASS_SPECIALIZED, NULL, join_factors};
static const tierup_plugin_pass* const kPasses[] = {&kSquare, &kJoin};

static const tierup_plugin kPlugin = {
    sizeof(tierup_plugin), TIERUP_PLUGIN_ABI, "passes", NULL, 0, NULL, 0, kPasses, 2};

__attribute__((visibility("default"))) const tierup_plugin* tierup_plugin_main(
    const tierup_host* host) {
  return has_passes(host) ? &kPlugin : NULL;
}
