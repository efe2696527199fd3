// KernelEmitter: a KernelSpec as an LLVM function: a vector loop, then the same body for the rest.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "tierup/codegen/kernel_spec.h"

namespace tierup::codegen {

// A module with the one function `symbol`. `vector_bits` is the width of a register. Fast-math
// flags are off and nothing is contracted, so the lanes have the bits that tier 0 gives. Throws
// std::invalid_argument for a spec that is not well-formed.
std::unique_ptr<llvm::Module> emit_kernel(const KernelSpec& spec, llvm::LLVMContext& context,
                                          const std::string& symbol, int vector_bits);

}  // namespace tierup::codegen
