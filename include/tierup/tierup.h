// The whole public API; names are in namespace tierup.
#pragma once

#include "tierup/error.h"
#include "tierup/executor.h"
#include "tierup/export.h"
#include "tierup/module.h"
#include "tierup/options.h"
#include "tierup/tensor.h"
#include "tierup/value.h"
