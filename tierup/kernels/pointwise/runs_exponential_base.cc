// Runs of exponentials and logarithms for the base level.
#include "tierup/kernels/pointwise/runs_exponential_body.h"
