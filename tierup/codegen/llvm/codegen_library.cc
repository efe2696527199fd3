// The shared object of the code generator: KernelSpec in, machine code out, by LLVM's ORC JIT.
//
// One LLJIT serves the process; every kernel lives in a JITDylib of its own, so that releasing a
// kernel frees its code.
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>

#include "tierup/base/headroom.h"
#include "tierup/codegen/codegen_api.h"
#include "tierup/codegen/llvm/kernel_emitter.h"
#include "tierup/codegen/llvm/matrix_emitter.h"

namespace tierup::codegen {

struct CompiledObject {
  llvm::orc::LLJIT* jit;
  llvm::orc::JITDylib* library;
};

namespace {

template <typename T>
T unwrap(llvm::Expected<T> value) {
  if (!value) throw std::runtime_error(llvm::toString(value.takeError()));
  return std::move(*value);
}
void unwrap(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

// The processor that has no more than the instructions that go with registers of so many bits.
const char* processor_of(int bits) {
#if defined(__x86_64__)
  return bits < 256 ? "x86-64-v2" : bits < 512 ? "x86-64-v3" : "x86-64-v4";
#else
  static_cast<void>(bits);
  return "generic";
#endif
}

class Jit {
 public:
  // Never destroyed: kernels may be released, or still run, while the process ends.
  static Jit& instance() {
    static Jit* const jit = new Jit();
    return *jit;
  }

  // `emit` makes a module of a context, the function's symbol and the bits of a register.
  template <typename Emit>
  CompileResult compile(const char* name, const CompileOptions& options, const Emit& emit) {
    auto context = std::make_unique<llvm::LLVMContext>();
    const std::string symbol = std::string(name) + "_" + std::to_string(count_.fetch_add(1));
    const int bits = bits_of(options);
    std::unique_ptr<llvm::Module> module = emit(*context, symbol, bits);
    std::unique_ptr<llvm::TargetMachine> machine =
        unwrap(builder_of(options).createTargetMachine());
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    for (llvm::Function& function : *module) {
      function.addFnAttr("prefer-vector-width", std::to_string(bits));
      function.addFnAttr("target-cpu", machine->getTargetCPU());
      function.addFnAttr("target-features", machine->getTargetFeatureString());
    }
    optimize(*module, *machine);
    if (options.print_ir) module->print(llvm::errs(), nullptr);
    std::unique_ptr<llvm::MemoryBuffer> code = unwrap(llvm::orc::SimpleCompiler(*machine)(*module));
    auto object = std::make_unique<CompiledObject>();
    object->jit = jit_.get();
    llvm::Expected<llvm::orc::JITDylib&> library = jit_->createJITDylib(symbol);
    if (!library) throw std::runtime_error(llvm::toString(library.takeError()));
    object->library = &*library;
    const size_t size = code->getBufferSize();
    unwrap(jit_->addObjectFile(*object->library, std::move(code)));
    const auto address = unwrap(jit_->lookup(*object->library, symbol));
    if (options.perf_map) write_perf_map(address.getValue(), size, symbol);
    CompileResult result{};
    result.function = address.toPtr<KernelFunction>();
    result.matrix = address.toPtr<MatrixFunction>();
    result.object_size = size;
    result.object = object.release();
    return result;
  }

  void release(CompiledObject* object) {
    const std::lock_guard<std::mutex> lock(release_mutex_);
    llvm::consumeError(jit_->getExecutionSession().removeJITDylib(*object->library));
    delete object;
  }

  std::string target(const CompileOptions& options) const {
    const llvm::orc::JITTargetMachineBuilder builder = builder_of(options);
    return builder.getCPU() + ";" + builder.getFeatures().getString();
  }

 private:
  Jit() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    builder_ = std::make_unique<llvm::orc::JITTargetMachineBuilder>(
        unwrap(llvm::orc::JITTargetMachineBuilder::detectHost()));
    builder_->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    // No contraction but what asks for it by name: it would give other bits than tier 0.
    builder_->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
    jit_ = unwrap(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(*builder_).create());
    const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    const auto has = [&](const char* name) { return features.lookup(name); };
    host_bits_ = has("avx512f") && has("avx512vl") ? 512 : (has("avx2") && has("fma") ? 256 : 128);
  }

  int bits_of(const CompileOptions& options) const {
    return options.max_vector_bits > 0 ? std::min(options.max_vector_bits, host_bits_) : host_bits_;
  }

  // Of the host, or of the instructions that go with vectors of so many bits.
  llvm::orc::JITTargetMachineBuilder builder_of(const CompileOptions& options) const {
    llvm::orc::JITTargetMachineBuilder builder = *builder_;
    const int bits = bits_of(options);
    if (bits < host_bits_ || options.generic) {
      builder.setCPU(processor_of(bits));
      builder.getFeatures() = llvm::SubtargetFeatures();
    }
    return builder;
  }

  // What kernels need of -O1: they are loops over straight code, written from expressions of which
  // each stands once; what they call, they hardly ever call. The whole of it takes three times as
  // long, for code that is no faster.
  static void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager sccs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder analyses(&machine);
    analyses.registerModuleAnalyses(modules);
    analyses.registerCGSCCAnalyses(sccs);
    analyses.registerFunctionAnalyses(functions);
    analyses.registerLoopAnalyses(loops);
    analyses.crossRegisterProxies(loops, functions, sccs, modules);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    // Addresses, strides and operands that do not move.
    constexpr bool kWithMemory = true;
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass({}), kWithMemory));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::DCEPass());
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) passes.run(function, functions);
    }
  }

  // /tmp is anybody's: only a file of this user's own, which has no other name, is written to.
  static void write_perf_map(uint64_t address, size_t size, const std::string& symbol) {
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    const int file = open(
        path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0) return;
    struct stat status {};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_nlink == 1) {
      dprintf(file, "%lx %lx %s\n", static_cast<unsigned long>(address),
              static_cast<unsigned long>(size), symbol.c_str());
    }
    close(file);
  }

  std::unique_ptr<llvm::orc::JITTargetMachineBuilder> builder_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  int host_bits_ = 128;
  std::atomic<uint64_t> count_{0};
  std::mutex release_mutex_;
};

CompileResult refused(const char* error) {
  CompileResult result{};
  result.error = error;
  return result;
}

// LLVM is built without exceptions: one that passes through it, for want of memory, leaves its
// locks taken and its work half done. What was compiled stays, released or not; nothing more is.
std::atomic<bool>& is_broken() {
  static std::atomic<bool> broken{false};
  return broken;
}

template <typename Emit>
CompileResult compiled(const char* name, const CompileOptions& options, const Emit& emit) {
  constexpr const char* kBroken = "the code generator ran out of memory";
  thread_local std::string error;
  constexpr size_t kHeadroom = size_t{64} << 20;
  if (is_broken().load()) return refused(kBroken);
  try {
    require_headroom(kHeadroom);
  } catch (const std::bad_alloc&) {
    return refused("memory is short");
  }
  try {
    return Jit::instance().compile(name, options, emit);
  } catch (const std::bad_alloc&) {
    is_broken().store(true);
    return refused(kBroken);
  } catch (const std::exception& failure) {
    error = failure.what();
  } catch (...) {
    error = "an unknown exception";
  }
  return refused(error.c_str());
}

CompileResult compile(const KernelSpec* spec, const CompileOptions* options) {
  return compiled(spec->name, *options, [&](auto& context, const std::string& symbol, int bits) {
    return emit_kernel(*spec, context, symbol, bits);
  });
}

CompileResult compile_matrix(const MatrixSpec* spec, const CompileOptions* options) {
  const char* name = spec->body.name;
  return compiled(name, *options, [&](auto& context, const std::string& symbol, int bits) {
    return emit_matrix_kernel(*spec, context, symbol, bits);
  });
}

// LLVM asks for memory to give code back.
void release(CompiledObject* object) {
  if (object == nullptr || is_broken().load()) return;
  try {
    Jit::instance().release(object);
  } catch (const std::bad_alloc&) {
    is_broken().store(true);
  }
}

const char* target(const CompileOptions* options) {
  thread_local std::string text;
  try {
    text = Jit::instance().target(*options);
  } catch (const std::exception&) {
    text.clear();
  }
  return text.c_str();
}

}  // namespace
}  // namespace tierup::codegen

extern "C" __attribute__((visibility("default"))) const tierup::codegen::CodegenApi*
tierup_codegen_api(int version) {
  static constexpr tierup::codegen::CodegenApi kApi{
      tierup::codegen::kCodegenApiVersion, tierup::codegen::compile,
      tierup::codegen::compile_matrix, tierup::codegen::release, tierup::codegen::target};
  return version == kApi.version ? &kApi : nullptr;
}
