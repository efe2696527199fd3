// A MatrixSpec as an LLVM function.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "tierup/codegen/kernel_spec.h"

namespace tierup::codegen {

// A module with the one function `symbol`, a MatrixFunction. Throws std::invalid_argument for a
// spec that is not well-formed.
std::unique_ptr<llvm::Module> emit_matrix_kernel(const MatrixSpec& spec, llvm::LLVMContext& context,
                                                 const std::string& symbol, int vector_bits);

}  // namespace tierup::codegen
