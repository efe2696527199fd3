// How a model runs and why, and what its methods take.
#pragma once

#include <nanobind/nanobind.h>

namespace tierup::python {

void bind_explain(nanobind::module_& module);

}  // namespace tierup::python
