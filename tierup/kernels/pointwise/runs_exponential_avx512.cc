// Runs of exponentials and logarithms for AVX-512.
#include "tierup/kernels/pointwise/runs_exponential_body.h"
