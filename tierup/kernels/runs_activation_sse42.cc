// Runs of activations for SSE4.2.
#include "tierup/kernels/runs_activation_body.h"
