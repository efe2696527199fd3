// Runs of trigonometric, hyperbolic and error functions for AVX-512.
#include "tierup/kernels/pointwise/runs_trigonometric_body.h"
