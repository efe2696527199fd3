// Runs of activations for AVX2.
#include "tierup/kernels/runs_activation_body.h"
