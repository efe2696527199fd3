// ComponentEmitter: a KernelSpec over components (kernel_spec.h) as an LLVM function.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "tierup/codegen/kernel_spec.h"

namespace tierup::codegen {

// As emit_kernel(), which calls it.
std::unique_ptr<llvm::Module> emit_component_kernel(const KernelSpec& spec,
                                                    llvm::LLVMContext& context,
                                                    const std::string& symbol, int vector_bits);

}  // namespace tierup::codegen
