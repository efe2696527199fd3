// Runs of activations for the base level.
#include "tierup/kernels/pointwise/runs_activation_body.h"
