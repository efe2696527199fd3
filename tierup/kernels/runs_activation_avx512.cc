// Runs of activations for AVX-512.
#include "tierup/kernels/runs_activation_body.h"
