// Runs of arithmetic and comparisons for AVX-512.
#include "tierup/kernels/pointwise/runs_arithmetic_body.h"
