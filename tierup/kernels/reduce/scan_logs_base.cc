// Running logarithms of sums of exponentials for the base level.
#include "tierup/kernels/reduce/scan_logs_body.h"
