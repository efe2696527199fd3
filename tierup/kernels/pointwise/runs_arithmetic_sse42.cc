// Runs of arithmetic and comparisons for SSE4.2.
#include "tierup/kernels/pointwise/runs_arithmetic_body.h"
