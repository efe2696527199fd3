// The calls of case files, made through the public API.
#pragma once

#include <string>
#include <vector>

#include "tierup/cases/case_file.h"
#include "tierup/module.h"

namespace tierup::cli {

using api::CaseFile;
using api::RecordedCall;

// The result; throws what the model raises.
v1::Value make_call(const v1::Module& module, const RecordedCall& call,
                    const v1::RunOptions& options = {});
// The same with other arguments.
v1::Value make_call(const v1::Module& module, const RecordedCall& call, std::vector<v1::Value> args,
                    const v1::RunOptions& options = {});
// None where an error was expected and came.
v1::Value make_call_or_fail_as_expected(const v1::Module& module, const RecordedCall& call,
                                        const v1::RunOptions& options = {});

// All calls of some case files, in order. Throws what CaseFile throws.
std::vector<RecordedCall> calls_of(const std::vector<std::string>& paths);

}  // namespace tierup::cli
