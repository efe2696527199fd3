// The calls of case files as callers of the public API make them.
#pragma once

#include <string>
#include <vector>

#include "tierup/module.h"

namespace tierup::cli {

struct PublicCall {
  std::string method;  // "forward" goes through Module::call.
  std::vector<v1::Value> args;
  bool raises = false;  // An error of the model's is what the case expects.
};

// All calls of a case file, in order. Throws what the case reader throws.
std::vector<PublicCall> read_case_calls(const std::string& path);
// The result; None where an error was expected and came.
v1::Value make_call(const v1::Module& module, const PublicCall& call,
                    const v1::RunOptions& options = {});

}  // namespace tierup::cli
