/* The whole public API: for C++, names in namespace tierup; for C and C++, those of c_api.h. */
#pragma once

#include "tierup/c_api.h"

#ifdef __cplusplus
#include "tierup/error.h"
#include "tierup/executor.h"
#include "tierup/explain.h"
#include "tierup/export.h"
#include "tierup/machine.h"
#include "tierup/module.h"
#include "tierup/node_times.h"
#include "tierup/optim.h"
#include "tierup/options.h"
#include "tierup/parallel.h"
#include "tierup/pass.h"
#include "tierup/signature.h"
#include "tierup/tensor.h"
#include "tierup/tensor_file.h"
#include "tierup/training.h"
#include "tierup/value.h"
#endif
