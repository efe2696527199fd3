// Runs of exponentials and logarithms for SSE4.2.
#include "tierup/kernels/pointwise/runs_exponential_body.h"
