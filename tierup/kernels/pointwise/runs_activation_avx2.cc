// Runs of activations for AVX2.
#include "tierup/kernels/pointwise/runs_activation_body.h"
