// Runs of special functions for the base level.
#include "tierup/kernels/pointwise/runs_special_body.h"
