// Runs of trigonometric, hyperbolic and error functions for SSE4.2.
#include "tierup/kernels/pointwise/runs_trigonometric_body.h"
