// Runs of special functions for AVX2.
#include "tierup/kernels/pointwise/runs_special_body.h"
