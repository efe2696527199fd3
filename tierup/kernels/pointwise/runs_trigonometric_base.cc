// Runs of trigonometric, hyperbolic and error functions for the base level.
#include "tierup/kernels/pointwise/runs_trigonometric_body.h"
