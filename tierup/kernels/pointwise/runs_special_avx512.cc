// Runs of special functions for AVX-512.
#include "tierup/kernels/pointwise/runs_special_body.h"
