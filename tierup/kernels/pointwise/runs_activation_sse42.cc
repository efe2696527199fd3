// Runs of activations for SSE4.2.
#include "tierup/kernels/pointwise/runs_activation_body.h"
