// Runs of arithmetic and comparisons for AVX2.
#include "tierup/kernels/pointwise/runs_arithmetic_body.h"
