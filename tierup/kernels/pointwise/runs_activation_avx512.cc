// Runs of activations for AVX-512.
#include "tierup/kernels/pointwise/runs_activation_body.h"
