// Models that stand in an archive as compiled libraries (AOTInductor's folders), and programs that
// a delegate computes by them.
//
// A library alone tells the calling convention and no more, so its inputs are not checked beyond
// that. Where the exported program stands beside it, its signature checks the inputs as ever, and
// only what is between inputs and outputs is the delegate's; weights then are the library's own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tierup/frontend/exported/exported_program.h"

namespace tierup::frontend::exported {

// Names of the models that have a library.
std::vector<std::string> compiled_models(const archive::ModelArchive& archive);
bool has_library(const archive::ModelArchive& archive, const std::string& model);
// The records of a model's library, and what to cut off their names.
std::string library_folder(const std::string& model);
// " for cpu (AVX512 AVX512_VNNI)": what a library was made for, as far as its archive tells.
std::string target_of_library(const archive::ModelArchive& archive);

// Throws kUnsupported if the library gives no convention.
ExportedProgram program_of_library(std::string model, const CompiledModel& compiled);
// Replaces the program's graph and its weights. Throws kUnsupported if it takes or gives anything
// but tensors.
void compute_by(const CompiledModel& compiled, ExportedProgram& program);
// Leaves of a call without anything known of them.
std::vector<IValue> unchecked_inputs(const ExportedProgram& program,
                                     const std::vector<IValue>& args,
                                     const std::vector<std::pair<std::string, IValue>>& kwargs);

}  // namespace tierup::frontend::exported
