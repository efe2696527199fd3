// tierup::Error as Python's exceptions: the classes of tierup._errors.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/error.h>

#include <string>

namespace tierup::python {

namespace nb = nanobind;

// The exception object for an error.
nb::object make_exception(const Error& error);
[[noreturn]] void raise_error(ErrorCode code, const std::string& message);
// Inside a catch: the exception as Python's, for functions that Python calls without nanobind.
void set_python_error();
// What leaves a bound function as tierup::Error arrives as an exception of the tree.
void register_errors();

}  // namespace tierup::python
