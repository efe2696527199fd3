// Runs of arithmetic and comparisons for the base level.
#include "tierup/kernels/pointwise/runs_arithmetic_body.h"
