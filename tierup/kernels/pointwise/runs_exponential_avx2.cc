// Runs of exponentials and logarithms for AVX2.
#include "tierup/kernels/pointwise/runs_exponential_body.h"
